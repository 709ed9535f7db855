"""Named entities: character CNN, BiLSTM and a CRF over BIOUL tags (Peters et al., 2018, after Lample et al., 2016)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from polyseme.tasks.data_files import FileReading
from polyseme.tasks.definition import Preset, Split, TrainingChoices, Vocabularies
from polyseme.tasks.inputs import InputChoices, TokenInputs
from polyseme.tasks.parts.crf import CRF
from polyseme.tasks.parts.tagger import Tagger, TaggerBatch, TaggerSizes, Tagging
from polyseme.tasks.scores import Floats, Scores, f1_of, span_tally
from polyseme.tasks.spans import FoundSpan, Scheme, Span, is_tag, span_scores, spans_of, sure, tags_of
from polyseme.tasks.tagged import one_sentence, read_tagged

SCHEME: Scheme = "BIOUL"  # used by the network; files may follow another scheme


@dataclass(frozen=True, slots=True)
class NerSentence:
    """A sentence and its entities, None if they are to be predicted."""

    tokens: tuple[str, ...]
    spans: tuple[Span, ...] | None = None


class NerNetwork(Tagger):
    """A tagger with a CRF over its scores."""

    def __init__(self, sizes: TaggerSizes, tags: list[str], tokens: TokenInputs) -> None:
        super().__init__(sizes, tags, tokens)
        self.crf = CRF.of(tags, SCHEME)

    def forward(self, batch: TaggerBatch) -> Tensor:
        assert batch.tags is not None
        loss: Tensor = self.crf(self.scores(batch.tokens), batch.tags, batch.tokens.mask)  # [B]
        return loss.mean()

    def predict(self, batch: TaggerBatch) -> list[list[Span]]:
        scores, mask = self.scores(batch.tokens), batch.tokens.mask
        paths = self.crf.best(scores, mask)
        found: list[list[Span]] = []
        for path, likely in zip(paths, self.crf.marginals(scores, mask), strict=True):  # [N, K]
            certain = [float(likely[place, tag]) for place, tag in enumerate(path)]
            spans = spans_of([self.tags[tag] for tag in path])
            found.append([FoundSpan.of(span, certain) for span in spans])
        return found


PRESETS = {
    "paper": Preset(
        TaggerSizes(),
        TrainingChoices(epochs=75, batch=64, patience=25, halve_after=10),
        # As the authors published it: the tagger already drops half of its input, the mix is kept nearly uniform, and
        # the word vectors are trained.
        InputChoices(elmo_dropout=0.0, mix_penalty=0.1, word_vectors="trained"),
    ),
    "cpu": Preset(
        TaggerSizes(hidden=100, depth=1),
        TrainingChoices(epochs=15, batch=32, rate=0.002, patience=4, halve_after=2),
        InputChoices(elmo_dropout=0.5, characters=50),
    ),
}


class Ner(Tagging[NerSentence]):
    """Span F1 on columns of words and tags: CoNLL-2003, UNER, KLUE."""

    name = "ner"
    title = "named entities"
    metric = "f1"
    kind = NerNetwork
    no_tag = 0  # O, because a CRF needs a tag everywhere
    presets = PRESETS

    def read(self, path: Path, split: Split) -> list[NerSentence]:
        rows = read_tagged(path, is_tag, FileReading.of(split))
        return [NerSentence(tokens, tuple(spans_of(tags))) for tokens, tags in rows]

    def examples(self, item: Any, split: Split) -> list[NerSentence]:
        return [NerSentence(tokens) for tokens in one_sentence(item, split)]

    def gold_tags(self, example: NerSentence) -> Sequence[str] | None:
        return None if example.spans is None else tags_of(example.spans, len(example.tokens), SCHEME)

    def vocabularies(self, examples: Sequence[NerSentence]) -> Vocabularies:
        labels = sorted({span.label for example in examples for span in example.spans or ()})
        return {"tags": ["O", *(f"{letter}-{label}" for label in labels for letter in "BILU")]}

    def score(self, predictions: Sequence[Any], examples: Sequence[NerSentence]) -> Scores:
        return span_scores([example.spans or () for example in examples], predictions)

    def tally(self, prediction: Any, example: NerSentence) -> tuple[float, ...]:
        return span_tally(prediction, example.spans or ())

    def from_tallies(self, sums: Floats) -> Floats:
        return f1_of(sums)

    def record(self, example: NerSentence, prediction: Any) -> dict[str, Any]:
        entities = [
            {"label": span[0], "start": span[1], "end": span[2], "text": " ".join(example.tokens[span[1] : span[2]])}
            | sure(span)
            for span in prediction
        ]
        return {"tokens": list(example.tokens), "entities": entities}

    def write(self, pairs: Iterable[tuple[NerSentence, Any]]) -> Iterator[str]:
        for example, spans in pairs:
            tags = tags_of(spans, len(example.tokens), "IOB2")
            rows = [f"{token}\t{tag}\n" for token, tag in zip(example.tokens, tags, strict=True)]
            yield "".join([*rows, "\n"])


TASK = Ner()
