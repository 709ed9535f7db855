"""Static word vectors, from a package or a file, with only the rows that are needed."""
