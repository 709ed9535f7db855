"""The basis of every long job: files and folders that are never half-written, locks, identities, progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polyseme.lazy import lazy_names

if TYPE_CHECKING:
    from polyseme.jobs.progress import Progress as Progress
    from polyseme.jobs.progress import reporting_progress as reporting_progress

_HOME = {
    "polyseme.jobs.progress": ("Progress", "reporting_progress"),
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _HOME)
