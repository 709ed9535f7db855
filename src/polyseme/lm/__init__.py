"""The biLM as a language model: how likely a text is, and what could replace a word."""
