import pytest

from judging.core.memory import HistoryChange, history_change, history_of_evidence


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        ({}, {}, None),
        ({"1": 5}, {"1": 5}, None),
        ({"1": 5}, {"1": 5, "2": 3}, HistoryChange(added=1)),
        ({"1": 5, "2": 3}, {"1": 4, "2": 2}, HistoryChange(changed=2)),
        ({"1": 5, "2": 3}, {"2": 3, "4": 1}, HistoryChange(added=1, removed=1)),
        ({"1": 5}, {}, HistoryChange(removed=1, is_emptied=True)),
    ],
)
def test_what_was_rated_since(before, now, expected):
    assert history_change(before, now) == expected


def test_the_turns_of_a_change_are_counted_together():
    assert HistoryChange(added=2, changed=3, removed=4).turns == 9


@pytest.mark.parametrize("evidence", [{}, {"by_score": None}])
def test_a_memory_without_evidence_has_no_history(evidence):
    assert history_of_evidence(evidence) == {}


def test_a_history_is_read_from_its_evidence():
    evidence = {"by_score": {"5": ["7", "9"], "2": ["8"]}, "unknown_citations": 1}
    assert history_of_evidence(evidence) == {"7": 5, "9": 5, "8": 2}
