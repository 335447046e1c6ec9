from __future__ import annotations

import pytest

from annotation.core.formats.records import FAULTS_KEPT, Fault, FaultLog, shown


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (9, 9),
        (2.5, 2.5),
        ("six", "six"),
        ({"a": ["否"]}, '{"a": ["否"]}'),
        ("x" * 500, "x" * 160 + "…"),
        ("a\x00b", "a\\u0000b"),
        ("a\ud800b", "a?b"),
    ],
)
def test_a_value_is_shown_so_that_it_can_be_printed(value, expected):
    assert shown(value) == expected


def test_the_log_counts_all_faults_and_keeps_the_first():
    log = FaultLog()
    log.extend(Fault(line, "f", "r", line) for line in range(1, FAULTS_KEPT + 51))
    assert log.count == FAULTS_KEPT + 50
    assert [fault.line for fault in log.kept] == list(range(1, FAULTS_KEPT + 1))


def test_faults_of_one_kind_are_counted_together_those_of_the_file_first():
    log = FaultLog()
    log.extend(
        Fault(line, f"history[{line}].score", "r", line % 4) for line in (1, 2, 2, 3, 4, 5, 6)
    )
    log.extend([Fault(7, "other", "r"), Fault(8, "", "ends", ends_file=True)])
    first, scores, other = log.groups
    assert (first.first.text, other.field) == ("ends", "other")
    assert scores.as_dict() == {
        "field": "history[].score",
        "reason": "r",
        "count": 7,
        "lines": [1, 2, 3, 4, 5],
        "values": [1, 2, 3],
    }
    log.extend(Fault(1, f"f{number}", "r") for number in range(FAULTS_KEPT))
    assert len(log.groups) == FAULTS_KEPT


def test_a_fault_is_told_in_four_fields():
    fault = Fault(3, "verdict", "Missing")
    assert fault.as_dict() == {"line": 3, "field": "verdict", "reason": "Missing", "value": None}


def test_a_reason_is_filled_with_its_parts():
    fault = Fault(1, "score", "must be between %(low)d and %(high)d", 9, {"low": 1, "high": 5})
    assert fault.reason == fault.as_dict()["reason"] == "must be between 1 and 5"
    assert Fault(1, "", "100 % of nothing").reason == "100 % of nothing"


def test_what_is_said_of_the_whole_file_is_kept_first():
    log = FaultLog()
    log.extend(Fault(line, "f", "r") for line in range(1, FAULTS_KEPT + 2))
    log.extend([Fault(0, "", "r")])
    assert log.count == FAULTS_KEPT + 2
    assert [fault.line for fault in log.kept] == list(range(FAULTS_KEPT))
