"""One thread asks the models; what has come meanwhile is asked together.

Nobody waits for a batch to fill: while one runs the next gathers, so a lone request is answered at once and a crowd
shares the cost of the recurrence.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from polyseme.serve.limits import Limits, Refusal
from polyseme.serve.metrics import Metrics

#: Tokens that are asked together; more would make the first of them wait for the last.
BATCH_TOKENS = 4096

#: What a model is asked: the model and several items → as many answers, in the same order.
Question = Callable[[Any, list[Any]], list[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    question: Question
    model: Any
    item: Any
    tokens: int
    deadline: float
    answer: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop


class Worker:
    """The thread and its queue."""

    def __init__(self, limits: Limits, metrics: Metrics) -> None:
        self._limits, self._metrics = limits, metrics
        self._waiting: deque[Job] = deque()
        self._tokens = 0  # of the waiting jobs
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="polyseme-model", daemon=True)
        self._thread.start()

    async def ask(self, question: Question, model: Any, item: Any, tokens: int) -> Any:
        """The answer to one item; a refusal where the queue is full or the answer takes too long."""
        loop = asyncio.get_running_loop()
        deadline = time.monotonic() + self._limits.answer_seconds
        job = Job(question, model, item, tokens, deadline, loop.create_future(), loop)
        self._enqueue(job)
        try:
            async with asyncio.timeout_at(loop.time() + self._limits.answer_seconds):
                return await job.answer
        except TimeoutError:
            late = f"there was no answer within {self._limits.answer_seconds:g} seconds; ask for less, or later"
            raise Refusal(504, late, {"Retry-After": "5"}) from None

    def close(self) -> None:
        """Answer what waits, take nothing more, and end."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _enqueue(self, job: Job) -> None:
        with self._changed:
            if self._closed:
                raise _busy("the server is closing")
            if len(self._waiting) >= self._limits.waiting:
                raise _busy(f"{len(self._waiting)} requests wait already")
            if self._waiting and self._tokens + job.tokens > self._limits.waiting_tokens:
                raise _busy(f"requests with {self._tokens} tokens wait already")
            self._waiting.append(job)
            self._note_queue(job.tokens)
            self._changed.notify()

    def _work(self) -> None:
        while batch := self._take():
            for group in _groups(batch):
                _settle(group, _answers(group))
                self._metrics.count_batch(len(group), sum(job.tokens for job in group))

    def _take(self) -> list[Job]:
        """What is asked next; nothing when the server has closed and nobody waits."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            batch, tokens = list[Job](), 0
            while self._waiting and (not batch or tokens + self._waiting[0].tokens <= BATCH_TOKENS):
                job = self._waiting.popleft()
                self._note_queue(-job.tokens)
                tokens += job.tokens
                batch.append(job)
            return batch

    def _note_queue(self, tokens: int) -> None:
        self._tokens += tokens
        self._metrics.queue = (len(self._waiting), self._tokens)


def _groups(batch: list[Job]) -> Iterator[list[Job]]:
    """Jobs that can be asked in one call; those whose clients no longer wait are left out."""
    groups: dict[tuple[Question, int], list[Job]] = {}
    for job in batch:
        if job.deadline > time.monotonic() and not job.answer.cancelled():
            groups.setdefault((job.question, id(job.model)), []).append(job)
    yield from groups.values()


def _answers(group: list[Job]) -> list[Any]:
    """An answer or an exception for each; where a batch fails, each is asked alone, so that only the guilty fail."""
    try:
        return group[0].question(group[0].model, [job.item for job in group])
    except Exception as error:
        if len(group) == 1:
            return [error]
        return [answer for job in group for answer in _answers([job])]


def _settle(group: list[Job], answers: list[Any]) -> None:
    def hand_over() -> None:
        for job, answer in zip(group, answers, strict=True):
            if job.answer.done():
                continue
            if isinstance(answer, Exception):
                job.answer.set_exception(answer)
            else:
                job.answer.set_result(answer)

    with suppress(RuntimeError):  # the loop has ended, and with it everybody who waited
        group[0].loop.call_soon_threadsafe(hand_over)  # once for all: waking the loop costs more than an answer


def _busy(why: str) -> Refusal:
    return Refusal(503, f"the server is busy: {why}; try again later", {"Retry-After": "1"})
