"""Parts of speech: a tag for every word."""
