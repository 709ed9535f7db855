"""The arrays of an HDF5 file, found group by group, within bounds.

libhdf5's own visit looks every group up from the root: 2,000 groups within each other, in a file of 2 MB, take it
seconds, and twice as many minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import h5py

from polyseme.errors import FormatError

DEEPEST = 64  # groups within each other; weights have six
MOST_OBJECTS = 1_000_000


def walk_hdf5(
    file: h5py.File, title: str, *, deepest: int = DEEPEST, check: Callable[[h5py.Group], None] | None = None
) -> Iterator[tuple[str, Any]]:
    """(path, dataset), depth first; links to elsewhere are not followed, so nothing outside the file is reached.

    ``check`` sees a group before anything is looked up in it.
    """
    open_groups: list[tuple[str, h5py.Group, Iterator[str]]] = [("", file, iter(file))]
    seen = 0
    while open_groups:
        prefix, group, names = open_groups[-1]
        name = next(names, None)
        if name is None:
            open_groups.pop()
            continue
        seen += 1
        if seen > MOST_OBJECTS:
            raise FormatError(f"{title} has more than {MOST_OBJECTS:,} groups and arrays; it was not read")
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            continue
        item = group[name]
        if isinstance(item, h5py.Dataset):
            yield prefix + name, item
        elif isinstance(item, h5py.Group):
            if len(open_groups) > deepest:
                raise FormatError(f"{title} has more than {deepest} groups within each other; it was not read")
            if check is not None:
                check(item)
            open_groups.append((f"{prefix}{name}/", item, iter(item)))
