"""The models that come with the package."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

BUNDLED = ("en", "ko", "zh")
MODELS = Path(str(resources.files("polyseme"))) / "models"


def bundled_models() -> dict[str, Path]:
    """The models that came with the package, by their names."""
    return {name: MODELS / name for name in BUNDLED if (MODELS / name).is_dir()}
