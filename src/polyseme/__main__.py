"""``python -m polyseme`` is the ``polyseme`` command."""

from polyseme.cli.app import main

main()
