"""A migrated database to copy: `migrate` takes ten seconds, a copy none.

It is made by the real command, once for what models and migrations are at present, and kept:
that of SQLite beside pytest's own cache, that of PostgreSQL on its server.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path

import psycopg

from tests.paths import ROOT

DEPLOYMENT = {"DATABASE_URL", "CELERY_BROKER_URL"}
"""What would lead a process that a test starts to the database of the tests themselves."""

_KEPT = ROOT / ".pytest_cache" / "migrated"
_CODE = ("annotation", "judging", "benchmark", "sensejudge_site")


def copy_migrated(to: Path) -> None:
    """Put an empty, migrated SQLite database there, in the place of any other.

    Raises:
        subprocess.CalledProcessError: the migrations do not run.
    """
    remove(to)
    with _alone():
        kept = _KEPT / f"{_fingerprint()}.sqlite3"
        if not kept.exists():
            for old in _KEPT.glob("*.sqlite3"):
                old.unlink()
            _make(kept)
        shutil.copyfile(kept, to)


def create_migrated(server: str, name: str) -> None:
    """Create an empty, migrated PostgreSQL database of that name, from one that stays there.

    Raises:
        subprocess.CalledProcessError: the migrations do not run.
    """
    ours = f"migrated_{sha256(str(ROOT).encode()).hexdigest()[:8]}_"
    kept, begun = ours + _fingerprint()[:16], f"{ours}begun"
    with _alone(), psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        there = {row[0] for row in admin.execute("SELECT datname FROM pg_database")}
        if kept not in there:
            for old in (each for each in there if each.startswith(ours)):
                admin.execute(f"DROP DATABASE {old} WITH (FORCE)")
            admin.execute(f"CREATE DATABASE {begun}")
            with tempfile.TemporaryDirectory(prefix="sensejudge-migrated-") as folder:
                _migrate(folder, DATABASE_URL=f"{server}/{begun}")
            admin.execute(f"ALTER DATABASE {begun} RENAME TO {kept}")
        admin.execute(f"CREATE DATABASE {name} TEMPLATE {kept}")


def drop(server: str, name: str) -> None:
    """Drop a PostgreSQL database, if it is there, whoever is connected to it."""
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


def remove(database: Path) -> None:
    """Delete an SQLite database, if it is there, with what stands beside its file."""
    for end in ("", "-wal", "-shm"):
        database.with_name(f"{database.name}{end}").unlink(missing_ok=True)


@cache
def _fingerprint() -> str:
    """What a migrated database depends on: migrations, models, settings and packages."""
    code = (path for folder in _CODE for path in (ROOT / folder).rglob("*.py"))
    files = [each for each in code if {"migrations", "models", "models.py"} & {*each.parts}]
    files += [ROOT / "sensejudge_site" / "settings.py", ROOT / "requirements" / "base.txt"]
    digest = sha256()
    for path in sorted(files):
        digest.update(f"{path}\n".encode() + path.read_bytes())
    return digest.hexdigest()


@contextmanager
def _alone() -> Iterator[None]:
    """One process at a time, of the several that test."""
    _KEPT.mkdir(parents=True, exist_ok=True)
    with (_KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="sensejudge-migrated-") as folder:
        _migrate(folder)
        shutil.move(Path(folder) / "sensejudge.sqlite3", path)


def _migrate(folder: str, **more: str) -> None:
    kept = {name: value for name, value in os.environ.items() if name not in DEPLOYMENT}
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity=0"],
        cwd=ROOT,
        env={
            **kept,
            "DJANGO_SETTINGS_MODULE": "sensejudge_site.settings",
            "SENSEJUDGE_VAR": folder,
            "SECRET_KEY": "only-for-tests",
            **more,
        },
        check=True,
    )
