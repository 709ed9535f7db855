"""The classes of earlier ELMo packages, on top of polyseme: change the import, keep the program.

    allennlp            Elmo, batch_to_ids, ScalarMix, ElmoTokenEmbedder, ElmoEmbedder
    simple_elmo         ElmoModel
    elmoformanylangs    Embedder
    bilm                Batcher, TokenBatcher, dump_bilm_embeddings, dump_token_embeddings
    tensorflow_hub      Module
    flair               ELMoEmbeddings

A name, an argument and a result are what they are in the original, and so is the state that it carries from call to
call. docs/migrating.md has each beside what it becomes in polyseme itself.
"""
