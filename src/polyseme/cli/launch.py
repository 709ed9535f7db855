"""--processes N: run the same command in N processes that train one model, as torchrun would.

torchrun gives each process a single thread, and ends the others when one is interrupted. Here each gets its share of
the usable cores; Ctrl-C lets all of them finish their step and save; when one dies, the others end; and all of them
end with the process that started them.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

import typer

from polyseme.engine.pool import usable_cores
from polyseme.errors import JobError

_LAUNCHED = "POLYSEME_LAUNCHED"
_LOOK_SECONDS = 0.1
_PATIENCE_SECONDS = 10.0  #: how long the other processes have to notice that one has failed


def share_out(processes: int) -> bool:
    """True if the command has been run in this many processes and is done; False in each of them, which must do it."""
    if os.environ.get(_LAUNCHED):
        threading.Thread(target=_end_with_launcher, daemon=True).start()
        return False
    if processes == 1 or "RANK" in os.environ:  # torchrun has already started the processes
        return False
    team = _start(sys.argv[1:], processes)
    try:
        _wait(team)
    finally:
        ended_here = [number for number, one in enumerate(team, start=1) if one.process.poll() is None]
        for one in team:
            one.process.kill()
            one.process.wait()
    _raise_what_happened(team, ended_here)
    return True


@dataclass(frozen=True, slots=True)
class _Trainer:
    process: subprocess.Popen[bytes]
    errors: IO[bytes] | None  #: standard error, for all but the first process, whose errors are printed directly


def _start(arguments: Sequence[str], processes: int) -> list[_Trainer]:
    port, threads = _free_port(), max(1, usable_cores() // processes)
    team = []
    for rank in range(processes):
        environment = {
            **os.environ,
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": str(processes),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
            "OMP_NUM_THREADS": str(threads),
            _LAUNCHED: "1",
        }
        errors = tempfile.TemporaryFile() if rank else None  # noqa: SIM115  (it lives as long as the process)
        process = subprocess.Popen(
            [sys.executable, "-m", "polyseme", *arguments],
            env=environment,
            stdin=subprocess.PIPE,  # it ends when this process does
            stdout=subprocess.DEVNULL if rank else None,
            stderr=errors,
            start_new_session=os.name == "posix",  # a terminal's Ctrl-C should not reach them twice
        )
        team.append(_Trainer(process, errors))
    return team


def _wait(team: Sequence[_Trainer]) -> None:
    """Wait until all have ended, or one has failed and the others have had time to notice."""
    asked = failed = 0.0
    while None in [one.process.poll() for one in team]:
        try:
            time.sleep(_LOOK_SECONDS)
        except KeyboardInterrupt:
            if asked:
                raise
            asked = time.monotonic()
            _interrupt(team)
        if any(one.process.returncode for one in team):
            failed = failed or time.monotonic()
            if time.monotonic() - failed > _PATIENCE_SECONDS:
                return


def _interrupt(team: Sequence[_Trainer]) -> None:
    if os.name == "posix":  # elsewhere the console signals all of them
        for one in team:
            if one.process.poll() is None:
                one.process.send_signal(signal.SIGINT)


def _raise_what_happened(team: Sequence[_Trainer], ended_here: Sequence[int]) -> None:
    """Raise the first failure; ``ended_here`` are the processes that this one had to end."""
    codes = [one.process.returncode for one in team]
    killed = [number for number, code in enumerate(codes, start=1) if code < 0 and number not in ended_here]
    if killed:
        how = f"was ended by signal {-codes[killed[0] - 1]}"
        raise JobError(
            f"process {killed[0]} of {len(team)} {how}; continue with --resume, perhaps with fewer processes"
        )
    if codes[0]:  # it has said why
        raise typer.Exit(codes[0])
    for number, one in enumerate(team, start=1):
        if one.process.returncode:
            raise JobError(f"process {number} of {len(team)} failed: {_last_words(one)}")


def _last_words(one: _Trainer) -> str:
    assert one.errors is not None
    one.errors.seek(0)
    lines = one.errors.read().decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("polyseme: ") if lines else "it did not say why"


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


def _end_with_launcher() -> None:
    """End if the launcher was killed, since nothing else would end this process."""
    while os.read(0, 1):  # not through Python's buffer, whose lock must be free when the program ends
        pass
    os._exit(1)
