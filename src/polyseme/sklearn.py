"""Texts → vectors as a step of a scikit-learn pipeline.

make_pipeline(ElmoVectorizer(), LogisticRegression()).fit(texts, labels)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyseme.elmo import Elmo
from polyseme.encoding import Floats
from polyseme.extras import needing
from polyseme.pooling import Pool, find_pooling, text_vectors
from polyseme.prepared_text import checked_list, checked_text

with needing("polyseme.sklearn", "sklearn"):
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.utils.validation import check_is_fitted


class ElmoVectorizer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer: n texts → float32 [n, W]. There is nothing to learn; ``fit`` loads the model.

    ``model``, ``lang`` and ``device`` are those of ``Elmo.from_pretrained``, ``pool`` and ``normalize`` those of
    ``elmo.vectors``. Pickles and clones do not contain the model: they load it again by its name.
    """

    def __init__(
        self,
        model: str = "en",
        *,
        pool: Pool = "mean",
        normalize: bool = False,
        lang: str | None = None,
        device: str = "auto",
    ) -> None:
        self.model, self.pool, self.normalize, self.lang, self.device = model, pool, normalize, lang, device

    def fit(self, texts: Any, y: Any = None) -> ElmoVectorizer:
        """Load the model, and check that these are texts."""
        find_pooling(self.pool)
        for text in checked_list(texts, "texts"):
            checked_text(text)
        self.n_features_out_ = self._elmo().config.width
        return self

    def transform(self, texts: Any) -> Floats:
        """[n] texts → [n, W]"""
        check_is_fitted(self)
        return text_vectors(self._elmo(), texts, self.pool, normalize=self.normalize)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray[Any, np.dtype[np.object_]]:
        """elmo0, elmo1, …"""
        check_is_fitted(self)
        return np.array([f"elmo{number}" for number in range(self.n_features_out_)], dtype=object)

    def _elmo(self) -> Elmo:
        loaded: tuple[tuple[Any, ...], Elmo] | None = self.__dict__.get("_loaded")
        wanted = (self.model, self.lang, self.device)
        if loaded is None or loaded[0] != wanted:
            loaded = (wanted, Elmo.from_pretrained(self.model, lang=self.lang, device=self.device))
            self._loaded = loaded
        return loaded[1]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_loaded"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array, tags.input_tags.string = False, True
        tags.requires_fit = True
        return tags
