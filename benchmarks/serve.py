"""polyseme serve under load: many clients compared with one, and ten thousand broken requests.

python benchmarks/serve.py [--quick] [--model MODEL]      → benchmarks/results/serve.json, unless --quick
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import random
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pages import fill_in, table

RESULTS = Path(__file__).parent / "results/serve.json"
CLIENTS = 64
TOKENS = 20
#: The page opens within this many seconds after the model is loaded.
PROMISED_OPENING = 3.0
#: By how much memory may grow over 10,000 broken requests; Python does not return all memory to the system.
FLAT_MB = 32
WORDS = ("the", "a", "river", "bank", "money", "house", "present", "time", "old", "little", "gave", "took", "of", "in")

Address = tuple[str, int]


@contextmanager
def server(model: str) -> Iterator[tuple[Address, int]]:
    """A server in a separate process: its address and its process id."""
    command = [sys.executable, "-m", "polyseme", "serve", "--model", model, "--port", "0", "--quiet"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    found = re.fullmatch(r"http://(.*):(\d+)\n", process.stdout.readline())
    if found is None:
        raise SystemExit("the server did not start")
    try:
        yield (found[1], int(found[2])), process.pid
    finally:
        process.terminate()
        if process.wait(timeout=60) != 0:
            raise SystemExit("the server did not end well")


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def request(path: str, body: bytes, *, more: str = "") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{more}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    body = await reader.readexactly(int(length[1])) if length else b""
    return int(head.split(b" ", 2)[1]), body


async def get(where: Address, path: str) -> str:
    reader, writer = await asyncio.open_connection(*where)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    _, body = await read_answer(reader)
    writer.close()
    return body.decode()


Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def ask_again_and_again(connection: Connection, body: bytes, duration: float, seconds: list[float]) -> None:
    """One client: it sends the next request when the last one is answered, and at least one."""
    reader, writer = connection
    until = time.perf_counter() + duration
    while not seconds or time.perf_counter() < until:
        began = time.perf_counter()
        writer.write(request("/encode", body))
        status, _ = await read_answer(reader)
        if status != 200:
            raise SystemExit(f"a good request was answered with {status}")
        seconds.append(time.perf_counter() - began)
    writer.close()


async def crowd(where: Address, pid: int, clients: int, form: str, duration: float) -> dict[str, float]:
    """Requests per second, by wall time and by the server's CPU time, and how long one takes.

    All clients connect before the first request.
    """
    drawn = random.Random(0)
    bodies = [json.dumps({"tokens": [drawn.choices(WORDS, k=TOKENS)], "format": form}).encode() for _ in range(clients)]
    connections = [await asyncio.open_connection(*where, limit=2**22) for _ in bodies]
    seconds: list[float] = []
    began, used = time.perf_counter(), cpu_seconds(pid)
    jobs = (ask_again_and_again(*pair, duration, seconds) for pair in zip(connections, bodies, strict=True))
    await asyncio.gather(*jobs)
    total, used = time.perf_counter() - began, cpu_seconds(pid) - used
    p50, p99 = np.percentile(seconds, [50, 99]) * 1000
    return {
        "clients": clients,
        "requests_per_second": len(seconds) / total,
        "requests_per_cpu_second": len(seconds) / used,
        "p50_ms": p50,
        "p99_ms": p99,
    }


def measure_crowd(where: Address, pid: int, form: str, duration: float, repeats: int) -> dict[str, Any]:
    """Alternate both, so that other work on the machine affects them equally."""
    turns = []
    for _ in range(repeats):
        for clients in (1, CLIENTS):
            turn = asyncio.run(crowd(where, pid, clients, form, duration))
            turns.append(turn)
            print(
                f"{form:5} {clients:3} clients {turn['requests_per_second']:8.1f} requests/s   "
                f"p50 {turn['p50_ms']:7.1f} ms   p99 {turn['p99_ms']:7.1f} ms",
                file=sys.stderr,
            )
    ratios = {}
    for key in ("requests_per_second", "requests_per_cpu_second"):
        one, many = (np.median([turn[key] for turn in turns if turn["clients"] == n]) for n in (1, CLIENTS))
        ratios[key] = float(many / one)
    print(f"{form:5} {CLIENTS} clients at once beside one: {ratios}", file=sys.stderr)
    return {"format": form, "over_one_client": ratios, "turns": turns}


def broken_requests() -> list[bytes]:
    """One request of each kind; none of them should be answered with 200."""
    good = json.dumps({"texts": ["a bank"]}).encode()
    return [
        request("/encode", b"{"),
        request("/encode", b"\xff\xfe\x00"),
        request("/encode", b"[" * 100_000),
        request("/encode", b'{"a":' * 20_000),
        request("/encode", b'{"texts": ["' + b"a" * 3_000_000 + b'"]}'),
        request("/encode", b'{"texts": ["' + b"a b " * 20_000 + b'"]}'),
        request("/encode", b'{"texts": 5}'),
        request("/encode", b'{"texts": [[["a"]]]}'),
        request("/encode", b'{"texts": ["\\ud800"]}'),
        request("/encode", b'{"texts": ["a"], "layers": 99}'),
        request("/encode", b'{"texts": ["a"], "mix": [1e308, 1e308, NaN]}'),
        request("/encode", b'{"texts": ["a"], "model": "' + b"x" * 10_000 + b'"}'),
        request("/score", b'{"tokens": [[1, 2]]}'),
        request("/substitutes", b'{"text": "no mark"}'),
        request("/substitutes", b'{"tokens": ["a"], "position": -1}'),
        request("/neighbours", b'{"text": "a [b]", "k": 99999999999999999999}'),
        request("/similarity", b'{"first": "", "second": ""}'),
        request("/nowhere", good),
        request("/health", good),
        request("/encode", good).replace(b"application/json", b"text/plain"),
        request("/encode", good).replace(b"localhost", b"evil.example"),
        request("/encode", good).replace(b"HTTP/1.1", b"HTTP/x"),
        b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\r\n\r\n",
        b"GET " + b"/a" * 50_000 + b" HTTP/1.1\r\n\r\n",
        b"POST /encode HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
    ]


async def send_broken(where: Address, content: bytes, statuses: Counter[str], turn: asyncio.Semaphore) -> None:
    async with turn:
        reader, writer = await asyncio.open_connection(*where)
        try:
            writer.write(content)
            await writer.drain()
            status, body = await asyncio.wait_for(read_answer(reader), 60)
            statuses[str(status)] += 1
            if 400 <= status < 500 and "error" not in json.loads(body):
                statuses["without a sentence"] += 1
        except (ConnectionError, asyncio.IncompleteReadError):
            statuses["closed without an answer"] += 1
        finally:
            writer.close()


async def drip(where: Address, statuses: Counter[str]) -> None:
    """Send a request byte by byte, which would take minutes."""
    reader, writer = await asyncio.open_connection(*where)
    answer = asyncio.ensure_future(read_answer(reader))
    content = request("/encode", b" " * 200)
    half = content[: random.randrange(20, len(content) - 20)]
    try:
        writer.write(half)
        while not answer.done():
            writer.write(b" ")
            await asyncio.sleep(1)
        statuses[f"slow {(await answer)[0]}"] += 1
    except (ConnectionError, asyncio.IncompleteReadError):
        statuses["slow, closed without an answer"] += 1
    finally:
        answer.cancel()
        writer.close()


async def resident_mb(where: Address) -> float:
    found = re.search(r"^process_resident_memory_bytes (\d+)$", await get(where, "/metrics"), flags=re.MULTILINE)
    return int(found[1]) / 2**20 if found else 0.0


async def attack(where: Address, count: int) -> dict[str, Any]:
    """Send broken requests of all kinds at once, slow ones among them, while good ones must still be answered."""
    kinds = broken_requests()
    statuses: Counter[str] = Counter()
    turn = asyncio.Semaphore(32)
    await asyncio.gather(*(send_broken(where, kinds[n % len(kinds)], Counter(), turn) for n in range(len(kinds) * 4)))
    before = await resident_mb(where)
    slow = [asyncio.ensure_future(drip(where, statuses)) for _ in range(min(100, count // 100))]
    memory, served = [before], 0
    for begin in range(0, count, 500):
        numbers = range(begin, min(begin + 500, count))
        jobs = (send_broken(where, kinds[number % len(kinds)], statuses, turn) for number in numbers)
        good: list[float] = []
        connection = await asyncio.open_connection(*where, limit=2**22)
        await asyncio.gather(*jobs, ask_again_and_again(connection, b'{"texts": ["a bank"]}', 0.1, good))
        served += len(good)
        memory.append(await resident_mb(where))
    await asyncio.gather(*slow)
    memory.append(await resident_mb(where))
    return {"requests": count, "slow": len(slow), "answers": dict(statuses), "good_ones_meanwhile": served,
            "memory_mb": [round(value, 1) for value in memory]}  # fmt: skip


def judge(found: dict[str, Any]) -> list[str]:
    """The promises that do not hold."""
    wrong = []
    if found["opening"]["page_seconds"] > PROMISED_OPENING:
        wrong.append(f"the page took {found['opening']['page_seconds']:.1f} s")
    attacked = found["attack"]
    odd = {said: n for said, n in attacked["answers"].items() if not re.fullmatch(r"(slow )?4\d\d", said)}
    if odd:
        wrong.append(f"answers that are no 4xx: {odd}")
    memory = attacked["memory_mb"]
    if memory[-1] - memory[0] > FLAT_MB:
        wrong.append(f"memory went from {memory[0]} to {memory[-1]} MB")
    return wrong


async def opening(where: Address) -> dict[str, float]:
    """Seconds from when the model is loaded until the page opens, and until the bundled text is indexed."""
    began = time.perf_counter()
    if "<title>" not in await get(where, "/"):
        raise SystemExit("the page is not there")
    page = time.perf_counter() - began
    while '"building"' in await get(where, "/models"):
        await asyncio.sleep(0.05)
    return {"page_seconds": page, "index_seconds": time.perf_counter() - began}


def write_table(found: dict[str, Any]) -> None:
    """The figures as docs/serve.md shows them."""
    rows: list[list[object]] = []
    for part in found["crowds"]:
        for clients in (1, CLIENTS):
            turns = [turn for turn in part["turns"] if turn["clients"] == clients]
            rates = [
                f"{np.median([turn[key] for turn in turns]):,.0f}"
                + (f" ({part['over_one_client'][key]:.1f}×)" if clients == CLIENTS else "")
                for key in ("requests_per_second", "requests_per_cpu_second")
            ]
            waits = [f"{np.median([turn[key] for turn in turns]):.1f} ms" for key in ("p50_ms", "p99_ms")]
            rows.append([part["format"], clients, *rates, *waits])
    head = ["answers", "clients", "requests/s", "requests per CPU second", "p50", "p99"]
    opened, attacked = found["opening"], found["attack"]
    memory, machine = attacked["memory_mb"], found["machine"]
    answers = ", ".join(f"{count:,} × {said}" for said, count in sorted(attacked["answers"].items()))
    parts = [
        f"One sentence of {TOKENS} tokens a request, model {found['model']}, {machine['cores']} cores; medians.",
        table(head, rows),
        f"The page opens {opened['page_seconds']:.2f} s after the model is loaded; the bundled text is indexed after "
        f"{opened['index_seconds']:.1f} s.",
        f"{attacked['requests']:,} broken requests and {attacked['slow']} slow ones were answered with {answers}. "
        f"{attacked['good_ones_meanwhile']:,} good ones were served meanwhile, and memory grew from {memory[0]:.0f} to "
        f"{memory[-1]:.0f} MB.",
    ]
    fill_in("serve.md", "serve", "\n\n".join(parts))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short, and nothing is written: to check that it works")
    parser.add_argument("--model", default="en", help="a model, as for polyseme serve")
    options = parser.parse_args()
    with server(options.model) as (where, pid):
        opened = asyncio.run(opening(where))
        duration, repeats = (2.0, 1) if options.quick else (10.0, 5)
        crowds = [measure_crowd(where, pid, form, duration, repeats) for form in ("json", "npy")]
        attacked = asyncio.run(attack(where, 500 if options.quick else 10_000))
    found = {
        "model": Path(options.model).name,
        "tokens_per_request": TOKENS,
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "torch": torch.__version__},
        "opening": opened,
        "crowds": crowds,
        "attack": attacked,
    }
    print(json.dumps({"opening": opened, "attack": attacked}, indent=1), file=sys.stderr)
    if not options.quick:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        write_table(found)
        print(f"results: {RESULTS}", file=sys.stderr)
    if wrong := judge(found):
        raise SystemExit("; ".join(wrong))


if __name__ == "__main__":
    main()
