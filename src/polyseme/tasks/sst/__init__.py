"""Sentiment of a sentence (Stanford Sentiment Treebank)."""
