"""Compile the kernel: one shared library for each instruction set, from every C file in this folder.

    python src/polyseme/kernel/compile.py

The build hook of the package calls ``build``, and so may whoever has changed a C file. It needs GCC or Clang; without
either the package works too, on numpy alone. This file uses nothing of polyseme.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent

#: The instruction sets, from the one that every processor has to the best (instruction_set.c), with their flags on
#: x86-64; elsewhere there is the first only, for what the platform always has.
AVX512 = ["-mavx512f", "-mavx512bw", "-mavx512vl", "-mavx512dq", "-mfma", "-mf16c", "-mprefer-vector-width=512"]
X86_FLAGS = {
    "portable": [],
    "avx2": ["-mavx2", "-mfma", "-mf16c"],
    "avx512": AVX512,
    "avx512vnni": [*AVX512, "-mavx512vnni"],
    "avx512bf16": [*AVX512, "-mavx512vnni", "-mavx512bf16"],
}
LEVELS = tuple(X86_FLAGS)
#: A product and a sum are fused only where the source says so: then all instruction sets give the same bits.
FLAGS = ["-std=gnu11", "-O3", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden", "-shared"]

SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
MACOS = os.environ.get("MACOSX_DEPLOYMENT_TARGET", "11.0")


def find_compiler() -> list[str] | None:
    """The command of a C compiler that knows vector types: what CC says, or the first that is installed."""
    named = os.environ.get("CC")
    for command in [named.split()] if named else [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(command[0]) and _compiles(command):
            return command
    return None


def build(compiler: Sequence[str], folder: Path = HERE, extra: Sequence[str] = ()) -> list[Path]:
    """Compile all libraries into ``folder``; returns them. ``extra`` are more flags."""
    sources = sorted(str(path) for path in HERE.glob("*.c"))
    built = []
    for name in LEVELS if machine() == "x86_64" else LEVELS[:1]:
        target = folder / f"{name}{SUFFIX}"
        partial = folder / f"{name}.{os.getpid()}.partial{SUFFIX}"  # a process that runs keeps its library
        flags = [*FLAGS, *_platform_flags(compiler), *(X86_FLAGS[name] if machine() == "x86_64" else []), *extra]
        try:
            subprocess.run([*compiler, *flags, *sources, "-o", str(partial)], check=True)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
        built.append(target)
    return built


def platform_tag() -> str:
    """The platform of a wheel with what was built here."""
    if sys.platform == "darwin":
        return f"macosx_{MACOS.replace('.', '_')}_{machine()}"
    return sysconfig.get_platform().replace("-", "_").replace(".", "_")


def machine() -> str:
    """The processor that is built for; a Mac can build for the other kind."""
    asked = os.environ.get("ARCHFLAGS", "").replace("-arch", "").split()
    name = (asked[0] if asked else platform.machine()).lower()
    return {"amd64": "x86_64"}.get(name, name)


def _platform_flags(compiler: Sequence[str]) -> list[str]:
    if sys.platform == "darwin":
        return ["-fPIC", "-arch", machine(), f"-mmacosx-version-min={MACOS}"]
    if sys.platform == "win32":
        # GCC does not align the stack for wide vectors on Windows; unaligned moves do no harm there.
        return [] if "clang" in compiler[0] else ["-static-libgcc", "-Wa,-muse-unaligned-vector-move"]
    return ["-fPIC"]


def _compiles(command: Sequence[str]) -> bool:
    program = "typedef float V __attribute__((vector_size(16))); V twice(V x) { return x + x; }"
    check = [*command, "-std=gnu11", "-fsyntax-only", "-x", "c", "-"]
    try:
        return subprocess.run(check, input=program.encode(), capture_output=True, check=False).returncode == 0
    except OSError:
        return False


if __name__ == "__main__":
    found = find_compiler()
    if found is None:
        sys.exit("no C compiler was found (looked for cc, gcc and clang; the variable CC may name another)")
    for library in build(found):
        print(library)
