"""What a crowd costs a server beside one client: requests per second of server CPU, and latencies; → results.

    polyseme serve --model en --port 8000 & python benchmarks/serve_crowd.py http://127.0.0.1:8000 --pid $!

One sentence of 20 tokens a request. One client and CLIENTS of them take turns; the server's CPU time comes from /proc,
so that other work on the machine does not count.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from statistics import median

import numpy as np

from polyseme.jobs.atomic import replace_when_complete

RESULTS = Path(__file__).parent / "results" / "serve_crowd.json"
CLIENTS, ROUNDS = 64, 3
REQUESTS = {1: 100, CLIENTS: 640}
BODY = json.dumps({"texts": ["word " * 19 + "."], "pool": "mean"})


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def client(place: tuple[str, int], count: int) -> list[float]:
    """Milliseconds of each request, all on one connection."""
    connection, found = HTTPConnection(*place, timeout=120), []
    for _ in range(count):
        began = time.perf_counter()
        connection.request("POST", "/encode", BODY, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
        found.append(1000 * (time.perf_counter() - began))
    return found


def turn(place: tuple[str, int], pid: int, clients: int) -> dict[str, float]:
    before = cpu_seconds(pid)
    with ThreadPoolExecutor(clients) as pool:
        runs = pool.map(lambda _: client(place, REQUESTS[clients] // clients), range(clients))
        times = [one for run in runs for one in run]
    p50, p99 = np.quantile(times, [0.5, 0.99])
    return {"per_cpu_second": len(times) / (cpu_seconds(pid) - before), "p50_ms": float(p50), "p99_ms": float(p99)}


def measure(address: str, pid: int) -> dict[str, dict[str, float]]:
    """By the number of clients, and their ratio; written beside the other results."""
    host, _, port = address.removeprefix("http://").rstrip("/").rpartition(":")
    place = (host, int(port))
    client(place, 10)  # whatever is made once
    rounds = [{clients: turn(place, pid, clients) for clients in REQUESTS} for _ in range(ROUNDS)]
    found = {
        str(clients): {name: round(median(one[clients][name] for one in rounds), 1) for name in rounds[0][clients]}
        for clients in REQUESTS
    }
    found["ratio"] = {"per_cpu_second": round(found[str(CLIENTS)]["per_cpu_second"] / found["1"]["per_cpu_second"], 2)}
    with replace_when_complete(RESULTS) as file:
        file.write((json.dumps(found, indent=1) + "\n").encode())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("--pid", type=int, required=True, help="of the server")
    chosen = parser.parse_args()
    print(json.dumps(measure(chosen.address, chosen.pid), indent=1))


if __name__ == "__main__":
    main()
