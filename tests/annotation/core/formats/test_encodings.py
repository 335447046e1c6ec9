"""The encoding of tables that do not name it."""

from __future__ import annotations

import gzip

import pytest

from annotation.core.formats import encodings
from annotation.core.formats.detect import open_records
from annotation.core.formats.encodings import encoding_of
from annotation.core.formats.grids import source_of
from tests.annotation.core.formats.rows import session_of

CHINESE = "问题,回答A,回答B,标注员,选择\n一种水果？,梨,砖头,李雷,A\n"
ENGLISH = "prompt,text_a,text_b,annotator,verdict\nName a fruit.,Pear,Brick,李雷,A\n"
WESTERN = "prompt,text_a,text_b\nUn café ?,L’été à Besançon – déjà,Größe\n"
KOREAN = "prompt,text_a,text_b\n" + "안녕하세요 오늘 날씨가 정말 좋습니다 그렇지요,나무,바다\n" * 2
JAPANESE = "prompt,text_a,text_b\n果物の名前は,りんご,レンガ\n"


@pytest.mark.parametrize(
    ("text", "written", "expected"),
    [
        (CHINESE, "gb18030", "gb18030"),
        (CHINESE * 40, "gbk", "gb18030"),
        (ENGLISH, "gb18030", "gb18030"),
        (CHINESE, "utf-8", "utf-8"),
        (CHINESE, "utf-8-sig", "utf-8"),
        (CHINESE, "utf-16", "utf-8"),
        (CHINESE, "utf-16-le", "utf-16-le"),
        (CHINESE, "utf-16-be", "utf-16-be"),
        (ENGLISH, "utf-16-le", "utf-16-le"),
        (WESTERN, "cp1252", "cp1252"),
        (WESTERN, "utf-8", "utf-8"),
        (JAPANESE, "shift-jis", "utf-8"),
        (KOREAN, "euc-kr", "utf-8"),
        ("prompt,text_a,text_b\nПривет,да,нет\n", "cp1251", "utf-8"),
        ("a,b,c\nx\0y,1,2\n", "utf-8", "utf-8"),
        ("a,b,c\n" + "x" * 300_000 + ",1,问题是什么\n", "gb18030", "gb18030"),
    ],
)
def test_an_encoding_is_told_where_it_is_certain(tmp_path, text, written, expected):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(written))
    assert encoding_of(path) == expected
    path.write_bytes(gzip.compress(text.encode(written)))
    assert encoding_of(path) == expected


@pytest.mark.parametrize("tail", [b"\xe4", b"\xff", b"\x81"])
def test_a_broken_end_is_no_other_encoding(tmp_path, tail):
    path = tmp_path / "t.csv"
    path.write_bytes("a,b,c\n问题,1,2\n".encode() + tail)
    assert encoding_of(path) == "utf-8"


def test_the_first_runs_of_other_characters_tell_an_encoding(tmp_path, monkeypatch):
    monkeypatch.setattr(encodings, "_SAMPLE_RUNS", 1)
    path = tmp_path / "t.csv"
    path.write_bytes(("a,b,问题\n" + "x,1,2\n" * 100_000 + "x,1,问题\n").encode("gb18030"))
    assert encoding_of(path) == "gb18030"


def test_a_table_in_another_encoding_is_read_and_it_is_said_which(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(CHINESE.encode("gb18030"))
    chosen, rows = open_records(path)
    [session] = map(session_of, rows)
    assert (chosen.name, session.turns[0].user_message) == ("csv", "一种水果？")
    assert source_of(path) == chosen.source_of(path) == {"encoding": "GB18030"}
    path.write_bytes(CHINESE.encode())
    assert source_of(path) == {}
