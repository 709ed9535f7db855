"""The classes of earlier ELMo packages, on top of polyseme: change the import, keep the program.

    allennlp            Elmo, batch_to_ids, ScalarMix, ElmoTokenEmbedder, ElmoEmbedder
    simple_elmo         ElmoModel
    elmoformanylangs    Embedder
    bilm                Batcher, TokenBatcher, dump_bilm_embeddings, dump_token_embeddings
    tensorflow_hub      Module
    flair               ELMoEmbeddings

Names, arguments and results are those of the original, and so is the state carried from call to call. docs/migrating.md
shows each beside its equivalent in polyseme itself.
"""
