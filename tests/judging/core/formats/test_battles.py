import gzip
import json
from collections import Counter

import pytest

from annotation.core.choices import Verdict
from judging.core.formats.battles import Battle, read_battles
from tests.refusals import refuses


def write(tmp_path, *records, name="battles.jsonl"):
    path = tmp_path / name
    path.write_text("\n".join(json.dumps(record) for record in records))
    return path


def record(**fields):
    return {"model_a": "x", "model_b": "y", "winner": "model_a", **fields}


def battles(table):
    """Each battle with its session, however often it comes."""
    found = Counter()
    for kind, session, times in zip(table.kind, table.session, table.times, strict=True):
        found[(*table.kinds[kind], int(session))] += int(times)
    return found


@pytest.mark.parametrize(
    ("winner", "verdict"),
    [
        ("model_a", Verdict.A),
        ("model_b", Verdict.B),
        ("tie", Verdict.TIE),
        ("tie (bothbad)", Verdict.TIE),
        ("both_bad", Verdict.TIE),
        ("tie (inconsistent)", Verdict.TIE),
    ],
)
def test_every_word_of_the_known_sources_is_a_verdict(tmp_path, winner, verdict):
    table = read_battles(write(tmp_path, record(winner=winner)))
    assert table.kinds == (Battle("x", "y", verdict),)


ROWS = [
    record(turn=1, judge="expert_3", session="s1"),
    record(winner="model_b", session="s1"),
    record(model_a="z, the last", session="s2"),
    record(session="s2"),
    record(session="s2"),
]
EXPECTED = {
    ("x", "y", Verdict.A, -1): 3,
    ("x", "y", Verdict.B, -1): 1,
    ("z, the last", "y", Verdict.A, -1): 1,
}
IN_SESSIONS = {
    ("x", "y", Verdict.A, 0): 1,
    ("x", "y", Verdict.B, 0): 1,
    ("z, the last", "y", Verdict.A, 1): 1,
    ("x", "y", Verdict.A, 1): 2,
}


def as_csv(delimiter):
    quoted = '"z, the last"'
    lines = [["session", "winner", " model_a", "model_b"]]
    lines += [
        [row["session"], row["winner"], quoted if "," in row["model_a"] else "x", "y"]
        for row in ROWS
    ]
    return "\r\n".join(delimiter.join(cells) for cells in lines)


@pytest.mark.parametrize(
    "text",
    [
        "\n".join(map(json.dumps, ROWS)),
        "\n\n".join(map(json.dumps, ROWS)) + "\n",
        json.dumps(ROWS),
        json.dumps(ROWS, indent=1),
        as_csv(","),
        as_csv(";"),
        as_csv("\t"),
        as_csv(",").replace("\r\n", "\n\n"),
    ],
    ids=["lines", "blank lines", "array", "indented", "commas", "semicolons", "tabs", "gaps"],
)
@pytest.mark.parametrize("packed", [False, True])
def test_all_layouts_hold_the_same_battles(tmp_path, text, packed):
    path = tmp_path / "battles"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    table = read_battles(path)
    assert battles(table) == EXPECTED
    assert {(a, b, v): n for a, b, v, n in table.verdicts} == {
        key[:3]: count for key, count in EXPECTED.items()
    }
    assert battles(read_battles(path, session="session")) == IN_SESSIONS


def test_many_lines_are_read_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("judging.core.formats.battles._LINES", 2)
    path = tmp_path / "battles.csv"
    path.write_text(as_csv(","))
    assert battles(read_battles(path, session="session")) == IN_SESSIONS
    assert battles(read_battles(write(tmp_path, *ROWS))) == EXPECTED


def test_a_file_without_rows_holds_no_battle(tmp_path):
    for text in ("", "model_a,model_b,winner\n"):
        (tmp_path / "battles").write_text(text)
        assert read_battles(tmp_path / "battles").kinds == ()


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
        read_battles(write(tmp_path, record(), record(**bad)))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("model_a,model_b,winner\nx,y,model_a\n\nx,y,none\n", "line 4: winner is 'none'"),
        ("model_a,model_b,winner\nx,y\n", "line 2: winner is None"),
        ('model_a,model_b,winner\n"x,y,tie', "line 2: model_b is None"),
        ("model_a,model_b,winner\nx\udcff,y,tie\n", "line 2: A string contains bytes"),
        ("model_a,model_b\nx,y\n", "line 1: Not JSON"),
        ('["model_a"]', "line 1: not an object"),
        ('{"model_a": ', "line 1: "),
        ('{"model_a": "x"}, {}', "line 1: "),
    ],
)
def test_what_is_no_battle_is_named_in_every_layout(tmp_path, text, problem):
    path = tmp_path / "battles"
    path.write_bytes(text.encode(errors="surrogateescape"))
    with refuses("battles:invalid", match=problem):
        read_battles(path)


def test_a_row_without_a_session_is_named(tmp_path):
    with refuses("battles:invalid", match="line 2: no session"):
        read_battles(write(tmp_path, record(session="s"), record()), session="session")
    path = tmp_path / "battles.csv"
    path.write_text("model_a,model_b,winner\nx,y,tie\n")
    with refuses("battles:invalid", match="line 2: no session"):
        read_battles(path, session="session")
