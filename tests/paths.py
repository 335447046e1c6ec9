"""Where tests find files that are not part of the project."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent


def shared_data(name: str) -> Path:
    """A public data file, from $SENSEJUDGE_DATA or beside the checkout; skips where absent."""
    folder = Path(os.environ.get("SENSEJUDGE_DATA", ROOT.parent / "shared" / "data"))
    path = folder / name
    if not path.exists():
        pytest.skip(f"public data file {name} is not on this machine (set SENSEJUDGE_DATA)")
    return path


def paper_vectors() -> Any:
    """Inputs with the results that the papers' own code gives on them, by function."""
    path = ROOT / "tests" / "data" / "vectors" / "paper_code.json"
    return json.loads(path.read_text(encoding="utf-8"))
