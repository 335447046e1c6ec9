from __future__ import annotations

import pytest

from annotation.core.datasets import DatasetCounts, answers_of, facts_of, next_steps


def test_fields_are_shown_as_a_reader_likes_them():
    fields = {"age": 20, "job": "cook", "likes": ["tea", "rain"], "odd": [1, "a"], "o": {"a": "否"}}
    assert facts_of(fields) == (
        ("age", "20"),
        ("job", "cook"),
        ("likes", "tea, rain"),
        ("odd", '[1, "a"]'),
        ("o", '{"a": "否"}'),
    )


def test_questionnaires_are_questions_and_answers():
    answers = [
        {"query": "Was it detailed?", "summary": "Detail", "option": "yes"},
        {"summary": "Diversity", "option": 3},
        {"free": "text", "n": 1},
    ]
    assert answers_of(answers) == (
        ("Was it detailed?", "yes"),
        ("Diversity", "3"),
        ("free", "text"),
        ("n", "1"),
    )


PAIRS = DatasetCounts(sessions=1, turns=1, responses=2, comparisons=1)
LABELLED = DatasetCounts(sessions=1, turns=1, responses=2, comparisons=1, labels=1)
RATED = DatasetCounts(sessions=1, turns=1, responses=1, ratings=1)


@pytest.mark.parametrize(
    ("counts", "has", "steps"),
    [
        (DatasetCounts(sessions=1), "", "talk"),
        (DatasetCounts(sessions=1, turns=1), "", "generate answers"),
        (DatasetCounts(sessions=1, turns=1, responses=1), "original", "rate generate answers"),
        (
            DatasetCounts(sessions=1, turns=1, responses=2),
            "models answered",
            "compare generate answers",
        ),
        (RATED, "original", "score rate"),
        (PAIRS, "texts answered", "judge label compare"),
        (LABELLED, "texts models", "learn leaderboard judge label"),
        (LABELLED, "models", "leaderboard generate answers"),
        (PAIRS, "texts gold", "judge label"),
        (PAIRS, "texts verdicts gold", "gold judges judge label"),
        (LABELLED, "texts verdicts", "learn people judges judge label"),
    ],
)
def test_there_is_always_something_to_do_next(counts, has, steps):
    assert next_steps(counts, has.split()) == steps.split()
