from __future__ import annotations

import pytest

from benchmark.core.snapshots import (
    SnapshotChange,
    SnapshotKind,
    basis_differences,
    differences,
    figure_differences,
    method_of,
    named_rows,
)

BOARD, TRUST = SnapshotKind.BOARD, SnapshotKind.TRUST


def board(**ratings):
    return [{"model": name, "source": "human", "rating": each} for name, each in ratings.items()]


@pytest.mark.parametrize(
    ("was", "now", "told"),
    [
        ({}, {}, []),
        ({"labels": {"ann": 1}}, {"labels": {"ann": 1}}, []),
        ({"labels": {"ann": 1}}, {"labels": {"ann": 2}}, [("labels of ann", 1, 2)]),
        ({"labels": {"ann": 1}}, {"labels": {}}, [("labels of ann", 1, None)]),
        ({"replies": {}}, {"replies": {"3": "x"}}, [("replies of run 3", None, "x")]),
        ({}, {"scores": {"3": "x"}}, []),  # kept before scores were told, or asked after
        ({"scores": {"3": "x"}}, {}, []),
        (
            {"versions": {"numpy": "2.1"}, "prompts": {"judge_pair.en (run 3)": "a"}},
            {"versions": {"numpy": "2.2"}, "prompts": {"judge_pair.en (run 3)": "b"}},
            [("prompt judge_pair.en (run 3)", "a", "b"), ("version of numpy", "2.1", "2.2")],
        ),
    ],
)
def test_each_part_of_the_basis_is_named(was, now, told):
    records = [each.record() for each in basis_differences(was, now)]
    assert records == [{"what": what, "was": one, "is": other} for what, one, other in told]


@pytest.mark.parametrize("versions", [{}, {"versions": {}}, {"versions": {"method": "1"}}])
def test_figures_of_an_older_method_are_said_to_be_of_another_method(versions):
    rows = [{"model": "alpha", "low": 0.4, "rating": 1.0}]
    told = differences(
        SnapshotKind.BOARD,
        (versions, rows),
        ({"versions": {"method": "2"}}, [{**rows[0], "low": 0.3}]),
    )
    assert [each.record() for each in told] == [
        {"what": "version of method", "was": "1", "is": "2"},
        {"what": "alpha: low: method changed", "was": 0.4, "is": 0.3},
    ]


def test_figures_of_one_method_that_differ_have_another_value():
    basis = {"versions": {"method": "2"}, "labels": {"ann": "a"}}
    rows = ([{"model": "alpha", "low": 0.4}], [{"model": "alpha", "low": 0.3}])
    told = differences(SnapshotKind.BOARD, (basis, rows[0]), (basis, rows[1]))
    assert [each.record() for each in told] == [{"what": "alpha: low", "was": 0.4, "is": 0.3}]
    assert differences(SnapshotKind.BOARD, (basis, rows[0]), (basis, rows[0])) == []
    assert method_of(basis) == "2"


@pytest.mark.parametrize(
    ("was", "now", "is_named"),
    [
        ((12, 0, 0), (12, 0, 0), False),
        ((12, 0, 0), (11, 1, 0), True),
        ((11, 1, 0), (10, 1, 1), True),
        ((2000, 0, 0), (5000, 0, 0), False),
        ((2000, 0, 0), (4990, 10, 0), False),  # they may have been other then, too
        ((5000, 0, 0), (2000, 0, 0), False),
        ((5000, 0, 0), (1999, 0, 1), True),  # of those that were the same then
        ((4999, 1, 0), (1999, 1, 0), False),
        ((4999, 1, 0), (1998, 2, 0), True),
        ((2000, 0, 0), (0, 0, 4000), True),  # nor are those that were the same then
        ((1990, 10, 0), (4000, 0, 0), True),
        (None, (12, 0, 0), False),
    ],
)
def test_answers_read_again_are_compared_where_as_many_were_read(was, now, is_named):
    sides = [
        {"read_again": {"3": "{} same, {} other, {} missing".format(*each)} if each else {}}
        for each in (was, now)
    ]
    assert bool(basis_differences(*sides)) is is_named


def test_figures_are_compared_exactly():
    was, now = board(alpha=0.1 + 0.2, beta=1.0), board(beta=1.0, alpha=0.3)
    assert figure_differences(BOARD, was, was) == []
    (found,) = figure_differences(BOARD, was, now)
    assert found.record() == {"what": "alpha: rating", "was": 0.30000000000000004, "is": 0.3}


def test_rows_and_columns_come_and_go():
    was, now = board(alpha=1.0, beta=2.0), board(beta=2.0, gamma=3.0)
    now[0]["rank"] = 1
    assert figure_differences(BOARD, was, now) == [
        SnapshotChange("", "alpha", "there", None),
        SnapshotChange("", "beta: rank", None, 1),
        SnapshotChange("", "gamma", None, "there"),
    ]


def test_a_row_is_named_by_what_tells_it_from_others():
    human, base = board(alpha=1.0), [{"model": "alpha", "source": "base", "rating": 2.0}]
    assert [row[0] for row in named_rows(BOARD, human + base, [])] == [
        "alpha, human",
        "alpha, base",
    ]
    assert [row[0] for row in named_rows(BOARD, human, human)] == ["alpha"]
    rows = [{"annotator": "ann", "scenario": each} for each in (None, "Code")]
    roles = [{"candidate": "", "role": "control"}, {"candidate": "m", "role": "candidate"}]
    names = [row[0] for row in named_rows(SnapshotKind.REPLAY, roles, roles)]
    assert names == ["control", "m, candidate"]
    assert [row[0] for row in named_rows(TRUST, rows, rows)] == ["ann", "ann, Code"]
