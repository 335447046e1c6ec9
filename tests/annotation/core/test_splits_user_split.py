from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.formats.detect import open_records
from annotation.core.formats.records import SessionRecord
from annotation.core.splits import conversations, split_users
from tests.annotation.core.formats.rows import session_of
from tests.paths import shared_data

ONE_SCENARIO = {"User_12", "User_18", "User_69"}


def rated_in_two(*users: str) -> list[tuple[str, str]]:
    return [(user, scenario) for user in users for scenario in ("trip", "gift")]


def released(users: list[str], *, share: float, seed: int) -> tuple[list[str], list[str]]:
    """What the released code calls: scikit-learn's split with the user as each sample's group."""
    from sklearn.model_selection import GroupShuffleSplit

    groups = [user for user in users for _ in range(4)]
    splitter = GroupShuffleSplit(
        n_splits=1, train_size=share, test_size=1.0 - share, random_state=seed
    )
    train, test = next(splitter.split(groups, groups=groups))
    return sorted({groups[at] for at in train}), sorted({groups[at] for at in test})


@pytest.mark.parametrize("seed", [42, 7])
@pytest.mark.parametrize("count", [5, 6, 10, 62, 99, 100, 112, 115, 205])
def test_it_draws_as_the_released_code(count, seed):
    users = sorted(f"User_{number}" for number in range(count))
    found = split_users(rated_in_two(*users), seed=seed)
    assert (list(found.train), list(found.test)) == released(users, share=0.2, seed=seed)
    assert found.neither == ()


def test_another_share():
    users = [f"u{number}" for number in range(20)]
    found = split_users(rated_in_two(*users), train_share=0.5)
    assert (list(found.train), list(found.test)) == released(sorted(users), share=0.5, seed=42)


def test_the_papers_split_of_its_115_users():
    """User_0 to User_114, of whom the public development file shows who has one scenario only."""
    chosen, rows = open_records(shared_data("recllmsim_dev.jsonl.gz"))
    known = set(conversations(session_of(row) for row in rows))
    stated = json.loads(shared_data("recllmsim_splits.json").read_text("utf-8"))
    others = {f"User_{number}" for number in range(115)} - {user for user, _scenario in known}
    found = split_users([*known, *rated_in_two(*others)])
    assert chosen.name == "recllmsim"
    assert sorted(found.train) == sorted(stated["train"])
    assert set(stated["dev_test"]) < set(found.test)
    assert set(found.neither) == ONE_SCENARIO
    assert (len(found.train), len(found.test)) == (22, 90)


@given(st.permutations([(f"u{at}", scenario) for at in range(6) for scenario in "abb"]))
def test_the_order_and_number_of_conversations_do_not_matter(sessions):
    assert split_users(sessions) == split_users(set(sessions))


def test_who_has_one_scenario_is_in_neither_part():
    found = split_users([*rated_in_two("a", "b", "c", "d", "e"), ("f", "trip"), ("f", "trip")])
    assert found.neither == ("f",)
    assert sorted(found.train + found.test) == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0])
def test_a_share_must_leave_two_parts(share):
    with pytest.raises(ValueError, match="between 0 and 1"):
        split_users(rated_in_two("a", "b"), train_share=share)


@pytest.mark.parametrize("users", [(), ("a",), ("a", "b", "c", "d")])
def test_too_few_users_are_refused(users):
    with pytest.raises(
        ValueError, match=f"none of the {len(users)} users with conversations in two or more"
    ):
        split_users(rated_in_two(*users))


def test_a_conversation_of_nobody_takes_no_part():
    nobodys = SessionRecord(key="k", scenario="trip", turns=())
    own = SessionRecord(key="k", scenario="trip", turns=(), user="a")
    assert list(conversations([nobodys, own])) == [("a", "trip")]
