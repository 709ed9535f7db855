"""Where polyseme keeps what it can get again: downloaded models, layers that were computed."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def home_folder() -> Path:
    """$POLYSEME_HOME, or polyseme in the user's folder for caches."""
    if chosen := os.environ.get("POLYSEME_HOME"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData/Local")) / "polyseme" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "polyseme"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "polyseme"
