"""Documents become sentences that know their place, so that a share or a resumed job begins where it should."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.embed.description import Passage, Shard, read_passages
from polyseme.errors import ConfigError
from polyseme.text.readers import Document
from polyseme.text.tokenization import Sentence, split_text

TOKENS = st.lists(st.text("abc é", min_size=1), max_size=4)
DOCUMENTS = st.lists(
    st.one_of(
        st.text("ab \n").map(lambda text: Document("x", text, None, "f")),
        st.lists(TOKENS, max_size=3).map(lambda sentences: Document("x", None, sentences, "f")),
    ),
    max_size=8,
)


def split(text: str) -> list[Sentence]:
    return split_text(text, "whitespace")


def passages(documents: list[Document], shard: Shard | None = None, start: tuple[int, int] = (0, 0)) -> list[Passage]:
    return list(read_passages(documents, split, shard=shard or Shard(), start=start))


@given(DOCUMENTS)
def test_a_token_stands_where_its_offsets_say(documents: list[Document]) -> None:
    for passage in passages(documents):
        assert [passage.whole[a:b] for a, b in passage.offsets] == passage.tokens


@given(DOCUMENTS)
def test_every_document_leaves_a_trace_and_an_end(documents: list[Document]) -> None:
    found = passages(documents)
    assert [p.number for p in found if p.is_last] == list(range(len(documents)))
    assert [p.number for p in found if p.sentence == 0] == list(range(len(documents)))


@given(DOCUMENTS)
def test_a_job_can_go_on_after_any_sentence(documents: list[Document]) -> None:
    whole = passages(documents)
    for index, passage in enumerate(whole):
        assert passages(documents, start=passage.next) == whole[index + 1 :]


@given(DOCUMENTS, st.integers(1, 4))
def test_shares_are_disjoint_and_complete(documents: list[Document], count: int) -> None:
    shares = [passages(documents, Shard(index, count)) for index in range(count)]
    together = sorted((p for share in shares for p in share), key=lambda p: (p.number, p.sentence))
    assert together == passages(documents)


def test_tokens_keep_their_own_spaces() -> None:
    (passage,) = passages([Document("x", None, [["New York", "is"]], "f")])
    assert (passage.whole, passage.offsets.tolist()) == ("New York is", [[0, 8], [9, 11]])


def test_a_share_is_written_i_of_n() -> None:
    assert (Shard.parse("2/8"), Shard.parse("2/8").name) == (Shard(1, 8), "2-of-8")
    for wrong in ("0/4", "5/4", "1", "a/b", "1/", "-1/4"):
        with pytest.raises(ConfigError, match="expected i/n"):
            Shard.parse(wrong)
