"""What a model knows: neighbours of a word in a text, and the words whose senses it tells apart."""
