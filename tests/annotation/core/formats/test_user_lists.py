from __future__ import annotations

import json

import pytest

from annotation.core.choices import Verdict
from annotation.core.formats.records import (
    ComparisonRecord,
    LabelDetails,
    PairwiseRecord,
    QuestionnaireRecord,
    ResponseRecord,
    SatisfactionRecord,
    SessionRecord,
    TurnRecord,
)
from annotation.core.formats.user_lists import only_of, read_users
from tests.refusals import refuses


@pytest.fixture
def splits(tmp_path):
    path = tmp_path / "splits.json"
    lists = {"train": ["User_1", "User_2"], "bad": 3, "worse": [3], "main": {"test": ["User_3"]}}
    path.write_text(json.dumps(lists), "utf-8")
    return path


def test_the_names_under_a_key(splits):
    assert read_users(f"{splits}:train") == {"User_1", "User_2"}
    assert read_users(f"{splits}:main.test") == {"User_3"}


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ("splits.json", "expected FILE:KEY"),
        (":train", "expected FILE:KEY"),
        ("nowhere.json:train", "Cannot be read"),
        ("{path}:dev", "no key 'dev'; the keys are train, bad, worse, main.test"),
        ("{path}:bad", "'bad' is not a list of names"),
        ("{path}:worse", "'worse' is not a list of names"),
    ],
)
def test_what_is_no_list_of_names_is_said(splits, choice, said):
    with refuses("import:unreadable", match=said):
        read_users(choice.format(path=splits))


def test_a_file_of_prose_is_refused_in_one_line(tmp_path):
    (tmp_path / "read.me").write_text("# A title\n\nand a line", "utf-8")
    with refuses("import:unreadable", match="Not JSON") as refused:
        read_users(f"{tmp_path / 'read.me'}:train")
    assert len(str(refused.value).splitlines()) == 1


def test_a_file_that_is_no_object_has_no_keys(tmp_path):
    (tmp_path / "list.json").write_text("[]", "utf-8")
    with refuses("import:unreadable", match="keys are none"):
        read_users(f"{tmp_path / 'list.json'}:train")


def verdict(name):
    return PairwiseRecord(LabelDetails(name), Verdict.A)


def rating(name):
    return SatisfactionRecord(LabelDetails(name), 4, None)


def session(user=None, *, verdicts=(), ratings=(), of_session=(), asked=()):
    turn = TurnRecord(
        "hi",
        (ResponseRecord("a", "x", satisfaction=tuple(map(rating, ratings))),),
        (ComparisonRecord("c", "a", "b", labels=tuple(map(verdict, verdicts))),),
    )
    return SessionRecord(
        "k",
        "s",
        (turn,),
        user=user,
        satisfaction=tuple(map(rating, of_session)),
        questionnaires=tuple(QuestionnaireRecord(name, ()) for name in asked),
    )


def test_a_wanted_user_keeps_the_session_and_loses_other_peoples_labels():
    kept = only_of(session("ann", verdicts=["ann", "bob"], ratings=["bob"]), frozenset({"ann"}))
    assert kept == session("ann", verdicts=["ann"])
    assert only_of(session("ann"), frozenset({"ann"})) == session("ann")


def test_another_users_session_says_nothing():
    assert only_of(session("bob", verdicts=["ann"]), frozenset({"ann"})) is None


@pytest.mark.parametrize("where", ["verdicts", "ratings", "of_session", "asked"])
def test_a_session_of_nobody_stands_for_its_labels(where):
    both = session(**{where: ["ann", "bob"]})
    assert only_of(both, frozenset({"ann"})) == session(**{where: ["ann"]})
    assert only_of(both, frozenset({"eve"})) is None
