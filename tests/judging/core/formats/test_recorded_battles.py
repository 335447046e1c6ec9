import json

import pytest

from annotation.core.choices import Verdict
from annotation.core.formats.reading import read_rows
from judging.core.formats.recorded import Battle, battles
from tests.refusals import refuses


def read(tmp_path, *records):
    path = tmp_path / "battles.jsonl"
    path.write_text("\n".join(json.dumps(record) for record in records))
    return list(battles(read_rows(path)))


def record(**fields):
    return {"model_a": "x", "model_b": "y", "winner": "model_a", **fields}


@pytest.mark.parametrize(
    ("winner", "verdict"),
    [
        ("model_a", Verdict.A),
        ("model_b", Verdict.B),
        ("tie", Verdict.TIE),
        ("tie (bothbad)", Verdict.TIE),
        ("tie (inconsistent)", Verdict.TIE),
    ],
)
def test_every_word_of_the_known_sources_is_a_verdict(tmp_path, winner, verdict):
    assert read(tmp_path, record(winner=winner)) == [Battle("x", "y", verdict)]


def test_other_fields_are_passed_over_and_order_is_kept(tmp_path):
    found = read(
        tmp_path, record(turn=1, judge="expert_3"), record(winner="model_b", language="de")
    )
    assert [each.verdict for each in found] == [Verdict.A, Verdict.B]


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        ({"winner": "error"}, "line 2: winner is 'error', not one of model_a, model_b, tie"),
        ({"winner": None}, "line 2: winner is None"),
        ({"winner": ["model_a"]}, r"line 2: winner is \['model_a'\]"),
        ({"model_a": ""}, "line 2: model_a is '', not a model's name"),
        ({"model_b": 7}, "line 2: model_b is 7, not a model's name"),
    ],
)
def test_a_row_that_is_no_battle_is_named(tmp_path, bad, problem):
    with refuses("battles:invalid", match=problem):
        read(tmp_path, record(), record(**bad))


def test_rows_that_are_no_objects_or_no_json_are_named(tmp_path):
    with refuses("battles:invalid", match="line 1: not an object"):
        read(tmp_path, ["model_a"])
    path = tmp_path / "broken.jsonl"
    path.write_text('{"model_a": ')
    with refuses("battles:invalid", match="line 1: "):
        list(battles(read_rows(path)))
