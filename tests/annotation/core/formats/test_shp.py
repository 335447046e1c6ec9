from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from annotation.core.formats.shp import looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of


def row(**changes):
    told = {
        "domain": "askbaking_test",
        "history": "Why did my cake sink?",
        "human_ref_A": "Bad luck.",
        "human_ref_B": "The door was opened too early.",
        "labels": 0,
        "score_A": 9,
        "score_B": 41,
        **changes,
    }
    return {key: value for key, value in told.items() if value is not ...}


@pytest.mark.parametrize(("told", "verdict"), [(1, Verdict.A), (0, Verdict.B)])
def test_a_row_is_two_comments_and_what_readers_prefer(told, verdict):
    session = record_of(row(labels=told), parse)
    [turn] = session.turns
    [comparison] = turn.comparisons
    assert (session.scenario, turn.user_message) == ("askbaking_test", "Why did my cake sink?")
    assert [(each.text, each.model) for each in turn.responses] == [
        ("Bad luck.", ""),
        ("The door was opened too early.", ""),
    ]
    assert (comparison.a, comparison.gold[0].verdict) == ("A", verdict)
    assert [(each.details.annotator, each.verdict) for each in comparison.labels] == [
        ("benchmark", verdict)
    ]
    assert comparison.extra == {"score_A": 9, "score_B": 41}


def test_without_a_domain_there_is_one_scenario():
    assert record_of(row(domain=...), parse).scenario == "shp"


def test_another_label_is_a_fault():
    assert faults_of(row(labels=2), parse) == [("labels", "Must be between 0 and 1")]


def test_rows_are_told_apart():
    assert looks_like(row())
    assert not looks_like(row(history=...))
    assert not looks_like("row")
