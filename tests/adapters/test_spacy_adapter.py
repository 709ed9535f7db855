"""The spaCy component on spaCy's own tokens: vectors, batches, and a pipeline that is saved and loaded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.command_line import toy_model

spacy = pytest.importorskip("spacy", reason="spaCy is not installed")

import polyseme.spacy  # noqa: E402
from polyseme import Elmo  # noqa: E402

TEXTS = ["Here is your birthday present.  Live in the present!", "don't", "", "The bank."]


@pytest.fixture
def nlp() -> spacy.Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("polyseme", config={"model": str(toy_model())})
    return nlp


def test_vectors_are_those_of_spacys_tokens(nlp: spacy.Language) -> None:
    doc = nlp(TEXTS[0])
    elmo = Elmo.from_pretrained(toy_model())
    for span in doc.sents:
        tokens = [token for token in span if not token.is_space]
        expected = elmo.encode_tokens([[token.text for token in tokens]])[0]
        for position, token in enumerate(tokens):
            np.testing.assert_array_equal(token.vector, expected.vectors[position])
            np.testing.assert_array_equal(doc._.elmo_layers[:, token.i], expected.layers[:, position])
    assert doc.tensor.shape == (len(doc), elmo.config.width)
    rows = [token.i for token in doc if not token.is_space]
    np.testing.assert_allclose(doc.vector, doc.tensor[rows].mean(axis=0))
    np.testing.assert_allclose(doc[0:2].vector, doc.tensor[0:2].mean(axis=0))
    assert doc.has_vector and doc[0].has_vector and doc.similarity(doc) == pytest.approx(1)


def test_a_batch_gives_what_single_documents_give(nlp: spacy.Language) -> None:
    for together, text in zip(nlp.pipe(TEXTS, batch_size=3), TEXTS, strict=True):
        np.testing.assert_array_equal(together.tensor, nlp(text).tensor)
        assert together.text == text


def test_a_pipeline_is_saved_and_loaded(nlp: spacy.Language, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "pipeline")
    np.testing.assert_array_equal(spacy.load(tmp_path / "pipeline")(TEXTS[0]).tensor, nlp(TEXTS[0]).tensor)


def test_the_entry_point_names_the_factory() -> None:
    assert polyseme.spacy.make_component.__name__ == "make_component"
    assert spacy.Language.has_factory("polyseme")
