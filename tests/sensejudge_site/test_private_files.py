"""What the site keeps is its owner's to read, also what an earlier version left open."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection

from annotation.models import User
from annotation.services.imports.uploads import keep, kept_file
from sensejudge_site.private_files import create_private, make_private
from sensejudge_site.sqlite3.base import DatabaseWrapper
from tests.paths import ROOT


def mode(path):
    return path.stat().st_mode & 0o777


@pytest.fixture(autouse=True)
def _open_by_default():
    before = os.umask(0o022)
    yield
    os.umask(before)


def test_rights_of_others_are_taken_and_nothing_else(tmp_path):
    folder, file, own, read_only = (tmp_path / name for name in ("dir", "file", "own", "ro"))
    folder.mkdir()
    for path, rights in ((file, 0o644), (own, 0o600), (read_only, 0o400)):
        path.touch()
        path.chmod(rights)
    make_private([folder, file, own, read_only, tmp_path / "missing"])
    assert [mode(path) for path in (folder, file, own, read_only)] == [0o700, 0o600, 0o600, 0o400]


def test_a_file_that_is_there_is_not_emptied(tmp_path):
    path = tmp_path / "file"
    create_private(path)
    assert mode(path) == 0o600
    path.write_text("kept")
    create_private(path)
    assert path.read_text() == "kept"


@pytest.mark.django_db
def test_a_database_is_made_private_with_its_log(tmp_path):
    path = tmp_path / "rows.sqlite3"
    options = {"init_command": "PRAGMA journal_mode=WAL;"}
    settings = {**connection.settings_dict, "NAME": path, "OPTIONS": options, "ATOMIC_REQUESTS": 0}
    made = DatabaseWrapper(settings)
    with made.cursor() as cursor:
        cursor.execute("CREATE TABLE row (n INTEGER)")
        found = {each.name: mode(each) for each in tmp_path.iterdir()}
    made.close()
    assert found["rows.sqlite3"] == found["rows.sqlite3-wal"] == 0o600


@pytest.mark.django_db
def test_an_upload_is_private(tmp_path, settings):
    settings.VAR_DIR = tmp_path
    owner = User.objects.create_user("owner")
    path = kept_file(keep(SimpleUploadedFile("pairs.csv", b"a,b"), owner), owner)
    folders = [path.parent, path.parent.parent]
    assert (mode(path), [mode(each) for each in folders]) == (0o600, [0o700, 0o700])


def test_a_start_shuts_what_was_left_open_but_for_static_files(tmp_path):
    for name in ("uploads", "broker", "static"):
        (tmp_path / name).mkdir(mode=0o755)
    files = ["secret-key", "sensejudge.sqlite3", "sensejudge.sqlite3-wal", "static/app.css"]
    for name in files:
        (tmp_path / name).write_text("x" * 60 if name == "secret-key" else "")
        (tmp_path / name).chmod(0o644)
    env = {**os.environ, "SENSEJUDGE_VAR": str(tmp_path)}
    for name in ("DATABASE_URL", "SECRET_KEY", "DJANGO_SETTINGS_MODULE"):
        env.pop(name, None)
    code = "import sensejudge_site.settings"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, check=True)
    assert [mode(tmp_path / each) for each in ("uploads", "broker")] == [0o700, 0o700]
    assert [mode(tmp_path / each) for each in files] == [0o600, 0o600, 0o600, 0o644]
    assert mode(tmp_path / "static") == 0o755
