"""The biLM as a language model: how likely a text is, and what else could stand in a word's place."""
