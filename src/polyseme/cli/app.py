"""The command line: one file per verb, put together here."""

from __future__ import annotations


def main() -> None:
    """Entry point of the ``polyseme`` command."""
