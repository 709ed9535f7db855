"""Models on a model hub: downloaded once, then read from the cache, and pushed."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import (
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from polyseme.errors import FormatError
from polyseme.formats.card import card_text
from polyseme.formats.foreign import refuse_foreign
from polyseme.formats.model import StoredModel
from polyseme.formats.native import README, Dtype, save_native

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*(@[\w./-]+)?")
#: Enough to see what a repository is before fetching gigabytes of something else.
SMALL = ["*.json", "*.md", "*.cfg"]
MODEL = [*SMALL, "*.safetensors", "*.txt", "*.txt.gz", "*.hdf5", "*.dic", "*.pkl", "*.th", "*.zip", "*.tar.gz"]
MODEL += ["checkpoint", "*.index", "*.data-*"]


def is_hub_id(text: str) -> bool:
    """Whether ``text`` has the form owner/name or owner/name@revision."""
    return HUB_ID.fullmatch(text) is not None


def download(hub_id: str) -> Path:
    """The folder of a repository on the hub; without a network, the cached one."""
    repository, _, revision = hub_id.partition("@")
    folder = _snapshot(repository, revision or None, SMALL)
    refuse_foreign(folder)
    return _snapshot(repository, revision or None, MODEL)


def push_to_hub(model: StoredModel, hub_id: str, *, private: bool = False, dtype: Dtype = "float32") -> str:
    """Save the model as a native folder in a repository on the hub, created if necessary; returns its address."""
    if not is_hub_id(hub_id) or "@" in hub_id:
        raise FormatError(f"{hub_id!r} is not a hub id; it should have the form owner/name")
    api = HfApi()
    try:
        with tempfile.TemporaryDirectory(prefix="polyseme-") as name:
            folder = Path(name) / "model"
            save_native(model, folder, dtype)
            (folder / README).write_text(card_text(model, hub_id), encoding="utf-8")
            api.create_repo(hub_id, private=private, exist_ok=True)
            return api.upload_folder(repo_id=hub_id, folder_path=folder).commit_url
    except (HfHubHTTPError, OfflineModeIsEnabled, OSError, ValueError) as error:
        raise FormatError(f"the model could not be pushed to {hub_id}: {_reason(error)}") from None


def _snapshot(repository: str, revision: str | None, patterns: list[str]) -> Path:
    try:
        return Path(snapshot_download(repository, revision=revision, allow_patterns=patterns))
    except GatedRepoError:
        raise FormatError(f"the hub shows {repository} only to its users; log in with: hf auth login") from None
    except RepositoryNotFoundError:
        raise FormatError(f"the hub has no model {repository}, or does not let you read it; check its name") from None
    except RevisionNotFoundError:
        raise FormatError(f"the hub's model {repository} has no revision {revision!r}") from None
    except HFValidationError as error:
        raise FormatError(f"{repository!r} is not a hub id: {_reason(error)}") from None
    except (LocalEntryNotFoundError, OfflineModeIsEnabled):
        raise FormatError(
            f"the hub could not be reached, and {repository} is not in the cache; "
            "download it once with a network, or give a path"
        ) from None
    except (HfHubHTTPError, OSError) as error:
        raise FormatError(f"{repository} could not be downloaded: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:200]
