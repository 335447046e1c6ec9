from dataclasses import replace

import pytest

from judging.core.memory_parsing import parse_texts, plain, revise
from tests.judging.core.test_memory import make_texts
from tests.refusals import refuses


@pytest.fixture
def texts():
    return parse_texts(make_texts(), turn_ids=["t1", "t2", "t3"]).texts


def test_an_edit_that_changes_nothing_changes_nothing(texts):
    assert revise(texts, plain(texts)) == texts


def test_a_changed_statement_cites_nothing_and_the_others_keep_theirs(texts):
    edit = replace(plain(texts), scoring_style="Very strict.")
    after = revise(texts, edit)
    assert after.scoring_style.text == "Very strict."
    assert after.scoring_style.turn_ids == ()
    assert after.four_vs_five_distinction.turn_ids == ("t2", "t1")


def test_a_requirement_keeps_its_citation_when_another_goes(texts):
    edit = replace(plain(texts), user_specific_requirements=["New", " Names  shops. "])
    after = revise(texts, edit)
    assert [(item.text, item.turn_ids) for item in after.user_specific_requirements] == [
        ("New", ()),
        ("Names shops.", ("t3",)),
    ]


def test_an_observation_belongs_to_its_scenario(texts):
    edit = replace(
        plain(texts),
        task_specific_observations={"travel": ["Wants times."], "gifts": ["Wants times."]},
    )
    after = revise(texts, edit)
    assert [(item.task_name, item.turn_ids) for item in after.task_specific_observations] == [
        ("travel", ("t2",)),
        ("gifts", ()),
    ]


def test_an_edit_has_the_limits_of_a_memory(texts):
    with refuses("memory:unparseable"):
        revise(texts, replace(plain(texts), scoring_style=" "))
