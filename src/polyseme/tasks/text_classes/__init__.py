"""Classification of texts, with any labels."""
