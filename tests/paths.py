"""Where tests find files that are not part of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def shared_data(name: str) -> Path:
    """A public data file, from $SENSEJUDGE_DATA or beside the checkout; skips where absent."""
    folder = Path(os.environ.get("SENSEJUDGE_DATA", ROOT.parent / "shared" / "data"))
    path = folder / name
    if not path.exists():
        pytest.skip(f"public data file {name} is not on this machine (set SENSEJUDGE_DATA)")
    return path
