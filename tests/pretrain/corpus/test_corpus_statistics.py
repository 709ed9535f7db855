"""describe: percentiles and coverage are those that numpy computes from the whole corpus."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyseme.pretrain.corpus import corpus
from polyseme.pretrain.corpus.corpus import describe, open_corpus
from polyseme.pretrain.corpus.preparation import prepare


@given(lengths=st.lists(st.integers(1, 20), min_size=1, max_size=60))
@settings(max_examples=30)
def test_percentiles_of_lengths(lengths: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpus, "_BLOCK", 7)
        path = Path(folder) / "a.txt"
        path.write_text("\n".join("w " * length for length in lengths))
        prepare([path], Path(folder) / "corpus", lang="whitespace")
        found = describe(open_corpus(Path(folder) / "corpus"))
    expected = np.percentile(lengths, list(found.lengths), method="inverted_cdf")
    assert list(found.lengths.values()) == expected.tolist()
    assert found.mean_length == pytest.approx(np.mean(lengths))


def test_coverage_counts_the_specials_as_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "SIZES", (4, 5, 100))
    (tmp_path / "a.txt").write_text("a a a a a b b b c d")
    prepare([tmp_path / "a.txt"], tmp_path / "corpus", lang="whitespace")
    assert describe(open_corpus(tmp_path / "corpus")).coverage == {4: 0.5, 5: 0.8, 100: 1.0}
