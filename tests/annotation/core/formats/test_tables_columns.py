from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.formats import columns, mappings
from annotation.core.formats.detect import open_records
from tests.annotation.core.formats.rows import session_of
from tests.refusals import refuses


def test_a_mapping_is_read_as_it_is_typed():
    text = 'prompt=Question, "text_a=Answer, the 1st",text_b="say ""x=y""",verdict=a=b'
    assert mappings.read_columns(text) == {
        "prompt": "Question",
        "text_a": "Answer, the 1st",
        "text_b": 'say "x=y"',
        "verdict": "a=b",
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prompt", "expected KEY=HEADER"),
        ("promt=Question", "expected KEY=HEADER"),
        ("verdict:=Question", "expected KEY=HEADER"),
        ("prompt=a,prompt=b", "prompt has two columns"),
        ('prompt="a', "is not closed"),
    ],
)
def test_a_mapping_that_says_nothing_is_refused(text, said):
    with refuses("import:columns", match=said):
        mappings.read_columns(text)


def test_what_is_missing_depends_on_what_is_there():
    assert columns.missing(set()) == ["prompt", "text_a", "text_b"]
    assert columns.missing({"score"}) == ["prompt", "response"]
    assert columns.missing({"text_b", "score"}) == ["prompt", "text_a"]


_cell = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)


@given(_cell.filter(str.strip), _cell, _cell)
def test_texts_come_back_as_they_were_written(prompt, one, two):
    import csv
    from pathlib import Path
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["prompt", "text_a", "text_b"], [prompt, one, two]])
        _chosen, rows = open_records(path, "csv")
        [row] = rows
    [turn] = session_of(row).turns
    assert turn.user_message == prompt
    assert [response.text for response in turn.responses] == [one, two]


@given(
    st.dictionaries(
        st.sampled_from(["prompt", "text_a", "verdict"]),
        st.text(alphabet='a ,"=好').map(str.strip).filter(bool),
        min_size=1,
    )
)
def test_written_columns_are_read_again(columns):
    assert mappings.read_columns(mappings.written_columns(columns)) == columns
