"""The compiled libraries that this processor can run; none where there was no compiler."""

from __future__ import annotations

import pytest

from polyseme.kernel.library import Library, available, load


def every_library() -> list[object]:
    """For ``parametrize``: each under its name, or one that is skipped."""
    found = [pytest.param(load(name), id=name) for name in available()]
    return list(found) or [pytest.param(None, marks=pytest.mark.skip(reason="the kernel was not compiled"))]


def same_bits() -> list[Library]:
    """Those with fused multiply-add, best last: they agree to the last bit."""
    return [load(name) for name in available() if name != "portable"]
