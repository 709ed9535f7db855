"""Columns of the input that go along with its vectors: one type for each, whatever single records hold."""

from __future__ import annotations

import json
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Kind = Literal["truth", "whole", "number", "text"]

#: What stands for a null where a type has none.
_NULL: dict[Kind, Any] = {"truth": False, "whole": 0, "number": np.nan, "text": ""}
_DTYPE: dict[Kind, Any] = {"truth": np.bool_, "whole": np.int64, "number": np.float64, "text": np.str_}


def joint_kind(known: Kind | None, value: Any) -> Kind | None:
    """The type that holds what was seen so far and this value; None while there were only nulls."""
    if value is None:
        return known
    kind: Kind = (
        "truth"
        if isinstance(value, bool)
        else "whole"
        if isinstance(value, int) and -(2**63) <= value < 2**63
        else "number"
        if isinstance(value, float)
        else "text"
    )
    if known is None or known == kind:
        return kind
    return "number" if {known, kind} == {"whole", "number"} else "text"


def as_kind(value: Any, kind: Kind) -> Any:
    """The value in its column's type; null stays null."""
    if value is None:
        return None
    if kind == "number":
        return float(value)
    return value if kind != "text" or isinstance(value, str) else json.dumps(value)


def as_array(values: list[Any], kind: Kind) -> NDArray[Any]:
    """A numpy array that needs no pickle: null is NaN, an empty text, 0 or False."""
    if kind == "whole" and None in values:
        kind = "number"
    found = [_NULL[kind] if value is None else as_kind(value, kind) for value in values]
    return np.array(found, dtype=_DTYPE[kind])
