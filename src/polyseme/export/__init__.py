"""A model for other programs: word vectors for word2vec's readers and gensim, and the network as an ONNX graph."""
