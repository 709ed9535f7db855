"""The senses of a word: its occurrences in groups and in a plane, the nearest ones, and words that test a model."""
