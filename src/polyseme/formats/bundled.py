"""The models that come with the package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

BUNDLED = ("en", "ko", "zh")


def bundled_models() -> dict[str, Path]:
    """The models that came with the package, by their names."""
    folder = Path(str(resources.files("polyseme"))) / "models"
    return {name: folder / name for name in BUNDLED if (folder / name).is_dir()}
