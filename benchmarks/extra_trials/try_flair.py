"""flair embeds a sentence with the bundled model, in a stack."""

from flair.data import Sentence
from flair.embeddings import StackedEmbeddings

from polyseme.compat.flair import ELMoEmbeddings

sentence = Sentence("Here is your birthday present .", use_tokenizer=False)
embeddings = StackedEmbeddings([ELMoEmbeddings("en")])
embeddings.embed(sentence)
assert all(len(token.embedding) == embeddings.embedding_length and token.embedding.any() for token in sentence)
