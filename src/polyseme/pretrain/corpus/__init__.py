"""A corpus on disk: text files → tokens as numbers, their counts, the words of the softmax, held-out text."""
