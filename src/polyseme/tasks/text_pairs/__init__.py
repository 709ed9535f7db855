"""Classification of pairs of texts, with any labels."""
