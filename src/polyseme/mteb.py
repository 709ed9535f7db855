"""A model for the Massive Text Embedding Benchmark: ``mteb.evaluate(ElmoEncoder("en"), tasks)``."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyseme.elmo import Elmo
from polyseme.encoding import Floats
from polyseme.extras import needing
from polyseme.formats.card import parameter_count
from polyseme.pooling import Pool

with needing("polyseme.mteb", "mteb"):
    from mteb.models import ModelMeta
    from mteb.models.abs_encoder import AbsEncoder


class ElmoEncoder(AbsEncoder):  # type: ignore[misc]
    """The mean of a text's token vectors, compared by cosine."""

    def __init__(
        self, model_name: str = "en", revision: str | None = None, *, device: str | None = None, pool: Pool = "mean"
    ) -> None:
        self.model, self.pool = Elmo.from_pretrained(model_name, device=device or "auto"), pool
        self.mteb_model_meta = _meta(self.model, model_name, revision)

    def encode(self, inputs: Any, **_: Any) -> Floats:
        """Batches with a list under "text" → [texts, W]"""
        batches = [self.model.vectors(batch["text"], self.pool) for batch in inputs]
        return np.concatenate([np.zeros((0, self.model.config.width), np.float32), *batches])


def _meta(elmo: Elmo, name: str, revision: str | None) -> Any:
    parameters = parameter_count(elmo.config)
    return ModelMeta(
        loader=None,
        name=f"polyseme/{name.replace('/', '--')}",
        revision=revision or elmo.fingerprint[:12],
        release_date=None,
        languages=None,
        n_parameters=parameters,
        memory_usage_mb=round(parameters * 4 / 2**20),
        max_tokens=None,
        embed_dim=elmo.config.width,
        license=None,
        open_weights=True,
        public_training_code=None,
        public_training_data=None,
        framework=[],
        similarity_fn_name="cosine",
        use_instructions=False,
        training_datasets=set(),
    )
