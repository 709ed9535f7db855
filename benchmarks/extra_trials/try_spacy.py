"""spaCy finds the component by its entry point (polyseme is not imported), and saves and loads the pipeline."""

import tempfile

import spacy

nlp = spacy.blank("en")
nlp.add_pipe("polyseme")
doc = nlp("Here is your birthday present.")
assert doc[4].vector.any() and doc._.elmo_layers.shape[1] == len(doc)
with tempfile.TemporaryDirectory() as folder:
    nlp.to_disk(folder)
    again = spacy.load(folder)
assert (again("Here is your birthday present.").tensor == doc.tensor).all()
assert [len(one.tensor) for one in again.pipe(["One.", "Two words."], batch_size=2)] == [2, 3]
