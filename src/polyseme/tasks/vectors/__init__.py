"""Static word vectors from a package or a file; only the rows that are needed are kept."""
