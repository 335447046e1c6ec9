from __future__ import annotations

import pytest

from judging.core.matrix import Matrix, read_matrix
from tests.refusals import refuses


def payload(**changes):
    return {
        "matrix_original": [[1, 0, None], [0, 1, 1]],
        "matrix_swapped": [[1, 1, 0], [0, None, 1]],
        "difference_penalty": False,
        **changes,
    }


def test_a_file_becomes_a_matrix():
    file = read_matrix(payload(column_source=[None, 1, "all"], difference_penalty=True))
    assert file.matrix == Matrix(
        original=((1, 0, None), (0, 1, 1)),
        swapped=((1, 1, 0), (0, None, 1)),
        sources=(None, 1, "all"),
    )
    assert (file.matrix.rows, file.matrix.columns, file.difference_penalty) == (2, 3, True)
    assert file.ignored == ()


def test_without_sources_nothing_leaks():
    matrix = read_matrix(payload()).matrix
    assert matrix.sources == (None, None, None)
    assert matrix.masked() == matrix


def test_the_penalty_may_be_missing_and_unknown_fields_are_named():
    content = payload(columns_source=[])
    del content["difference_penalty"]
    file = read_matrix(content)
    assert (file.difference_penalty, file.ignored) == (False, ("columns_source",))


def test_a_column_never_judges_its_own_pair():
    matrix = read_matrix(payload(column_source=[0, 1, "all"])).matrix.masked()
    assert matrix.original == ((None, 0, None), (0, None, 1))
    assert matrix.swapped == ((None, 1, 0), (0, None, 1))


@pytest.mark.parametrize(
    ("content", "faults"),
    [
        ([], ["the file must hold one JSON object"]),
        ({}, ["matrix_original is missing", "matrix_swapped is missing"]),
        (
            payload(difference_penalty=1, matrix_original=[]),
            [
                "difference_penalty must be true or false",
                "matrix_original must be a list of at least one row",
            ],
        ),
        (
            payload(matrix_original=[[1], []], matrix_swapped=[[1], 7]),
            [
                "matrix_original row 1 must be a list of at least one cell",
                "matrix_swapped row 1 must be a list of at least one cell",
            ],
        ),
        (
            payload(matrix_original=[[1, 2, True], [0, "1", 0.5]]),
            [
                "matrix_original row 0 column 1 is 2, not 0, 1 or null",
                "matrix_original row 0 column 2 is True, not 0, 1 or null",
                "matrix_original row 1 column 1 is '1', not 0, 1 or null",
                "matrix_original row 1 column 2 is 0.5, not 0, 1 or null",
            ],
        ),
        (
            payload(matrix_original=[[1, 2], [0]]),
            [
                "matrix_original row 0 column 1 is 2, not 0, 1 or null",
                "matrix_original has rows of 1, 2 cells",
            ],
        ),
        (
            payload(matrix_swapped=[[1, 0, 1]]),
            ["matrix_original and matrix_swapped differ in shape"],
        ),
        (payload(column_source="all"), ["column_source must be a list"]),
        (
            payload(column_source=[None, 2]),
            [
                "column_source names 2 columns, the matrix has 3",
                'column_source 1 is 2, not null, "all" or a row from 0 to 1',
            ],
        ),
        (
            payload(column_source=[True, -1, "ALL"]),
            [
                'column_source 0 is True, not null, "all" or a row from 0 to 1',
                'column_source 1 is -1, not null, "all" or a row from 0 to 1',
                "column_source 2 is 'ALL', not null, \"all\" or a row from 0 to 1",
            ],
        ),
        (
            payload(matrix_original=[[]], column_source=[9]),
            ["matrix_original row 0 must be a list of at least one cell"],
        ),
    ],
)
def test_every_fault_is_named(content, faults):
    with refuses("matrix:invalid") as raised:
        read_matrix(content)
    assert list(raised.value.faults) == faults
    assert str(raised.value) == "; ".join(faults)


ODDS = {
    "matrix_original": [[1, 0, None]],
    "matrix_swapped": [[1, 0, None]],
    "column_source": [None, 0, "all"],
}


def test_a_file_may_say_how_strong_its_verdicts_are():
    file = read_matrix({**ODDS, "log_odds": [[0.6, -2, None]]})
    assert (file.matrix.log_odds, file.ignored) == (((0.6, -2, None),), ())
    assert file.matrix.masked().log_odds == ((0.6, None, None),)
    assert read_matrix({**ODDS, "log_odds": None}).matrix.log_odds is None


@pytest.mark.parametrize(
    "odds",
    [
        {},
        [0.6, -2, None],
        [[0.6, -2]],
        [[-0.6, -2, None]],  # not the sign of its cell
        [[0.6, -2, 0]],
        [[0.6, "-2", None]],
        [[True, -2, None]],
        [[0.6, 0, None]],
    ],
)
def test_log_odds_that_are_not_those_of_the_cells_are_a_fault(odds):
    with refuses("matrix:invalid") as refused:
        read_matrix({**ODDS, "log_odds": odds})
    (fault,) = refused.value.faults
    assert fault.startswith("log_odds must hold")
