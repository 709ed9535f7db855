"""ElmoVectorizer as scikit-learn's own checks and pipelines use it."""

from __future__ import annotations

import io

import numpy as np
import pytest

from helpers.command_line import toy_model

pytest.importorskip("sklearn", reason="scikit-learn is not installed")

import joblib
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from polyseme import Elmo
from polyseme.sklearn import ElmoVectorizer

TEXTS = ["the dog sat", "the cat sat", "a bird sang", "a dog ran"] * 4
LABELS = [0, 0, 1, 1] * 4


@pytest.fixture(scope="module")
def toy() -> str:
    return str(toy_model())


def test_it_gives_the_vectors_of_the_model(toy: str) -> None:
    found = ElmoVectorizer(toy, pool="max", normalize=True).fit_transform(TEXTS)
    np.testing.assert_array_equal(found, Elmo.from_pretrained(toy).vectors(TEXTS, "max", normalize=True))


def test_names_of_features(toy: str) -> None:
    vectorizer = ElmoVectorizer(toy).fit(TEXTS)
    names = vectorizer.get_feature_names_out()
    assert names[:2].tolist() == ["elmo0", "elmo1"] and len(names) == vectorizer.transform(TEXTS[:1]).shape[1]


def test_a_clone_and_a_pickle_hold_settings_and_no_weights(toy: str) -> None:
    vectorizer = ElmoVectorizer(toy, pool="first").fit(TEXTS)
    assert clone(vectorizer).get_params() == vectorizer.get_params()
    kept = io.BytesIO()
    joblib.dump(vectorizer, kept)
    assert len(kept.getvalue()) < 2000
    kept.seek(0)
    np.testing.assert_array_equal(joblib.load(kept).transform(TEXTS), vectorizer.transform(TEXTS))


def test_a_pipeline_searches_over_its_settings(toy: str) -> None:
    search = GridSearchCV(
        make_pipeline(ElmoVectorizer(toy), LogisticRegression()), {"elmovectorizer__pool": ["mean", "max"]}, cv=2
    )
    assert search.fit(TEXTS, LABELS).score(TEXTS, LABELS) == 1.0


def test_before_fit(toy: str) -> None:
    with pytest.raises(NotFittedError):
        ElmoVectorizer(toy).transform(TEXTS)


CHECKS = (
    "check_parameters_default_constructible",
    "check_no_attributes_set_in_init",
    "check_get_params_invariance",
    "check_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
)


@pytest.mark.parametrize("check", CHECKS)
def test_the_checks_of_scikit_learn_that_need_no_numbers(toy: str, check: str) -> None:
    """check_estimator itself runs one of them: it cannot make texts, and says so."""
    getattr(estimator_checks, check)("ElmoVectorizer", ElmoVectorizer(toy))
