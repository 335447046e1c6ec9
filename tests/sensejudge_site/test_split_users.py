from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.core.formats.user_lists import read_users
from tests.annotation.records import write


def conversation(user, scenario):
    return {"user": user, "scenario": scenario, "session": 0, "history": []}


def run(path, *options):
    out = StringIO()
    call_command("split_users", str(path), *options, stdout=out)
    return out.getvalue()


def refused(path, *options):
    with pytest.raises(CommandError) as caught:
        call_command("split_users", str(path), *options, stdout=StringIO())
    assert caught.value.returncode == 2
    return str(caught.value)


@pytest.fixture
def file(tmp_path):
    users = [conversation(f"User_{n}", scenario) for n in range(5) for scenario in ("a", "b")]
    return write(tmp_path / "talks.jsonl", [*users, conversation("User_9", "a")])


def test_it_prints_who_is_in_which_part(file):
    # numpy.random.RandomState(42).permutation(5) is 1 4 2 0 3: the first four test, then one.
    assert json.loads(run(file)) == {
        "train": ["User_3"],
        "test": ["User_0", "User_1", "User_2", "User_4"],
        "neither": ["User_9"],
    }


def test_another_seed_and_share(file):
    found = json.loads(run(file, "--seed", "1", "--train-share", "0.4"))
    assert (len(found["train"]), len(found["test"])) == (2, 3)


def test_its_file_says_whom_to_import(file, tmp_path):
    out = tmp_path / "splits.json"
    assert run(file, "--out", str(out)) == f"{out}: 1 train, 4 test, 1 neither\n"
    assert read_users(f"{out}:train") == {"User_3"}


def test_what_cannot_be_read_is_refused(file, tmp_path):
    assert refused(tmp_path / "nowhere.jsonl").startswith("import:unreadable")
    assert refused(file, "--format", "x").startswith("import:format")
    bad = write(tmp_path / "bad.jsonl", [conversation("a", "b"), conversation("a\u200bb", "c")])
    assert refused(bad).startswith("import:unreadable: line 2, user: ")


def test_too_few_users_and_a_folder_that_is_not_there(file, tmp_path):
    few = write(tmp_path / "few.jsonl", [conversation("a", "b")])
    assert refused(few) == (
        "split: a training share of 0.2 selects none of the 0 users with "
        "conversations in two or more scenarios"
    )
    assert refused(file, "--train-share", "2").startswith("split: the training share")
    assert "cannot write" in refused(file, "--out", str(tmp_path / "no" / "splits.json"))


def test_a_split_needs_conversations(tmp_path):
    lines = write(tmp_path / "dataset.jsonl", [{"type": "dataset", "name": "n"}])
    assert refused(lines).startswith("split: a training share of 0.2 selects none of the 0 users")
