"""`manage.py inspect_file`."""

from __future__ import annotations

import io
import json

import pytest
from django.core.management import call_command

from annotation.models import Dataset

pytestmark = pytest.mark.django_db

TABLE = """问题,回答A,回答B,模型A,模型B,标注员,选择
一,甲,乙,m,n,李雷,左
二,甲,乙,m,n,韩梅,都差
三,甲,乙,m,n,李雷,?
"""


def inspected(path, *options):
    out = io.StringIO()
    call_command("inspect_file", str(path), *options, stdout=out)
    return out.getvalue()


def test_what_a_file_holds_is_said_and_nothing_is_stored(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_bytes(TABLE.encode("gb18030"))
    lines = inspected(path).splitlines()
    assert lines[:8] == [
        "format: csv",
        "rows: 3",
        "read as GB18030 (encoding)",
        "2 conversations, 2 turns, 4 responses, 2 comparisons",
        "2 verdicts, 0 ratings, 0 gold answers",
        "models: m (2), n (2)",
        "annotators: 李雷 (1), 韩梅 (1)",
        "languages: zh (2)",
    ]
    assert "can: Rank the models on a leaderboard" in lines
    assert "missing: Several annotators on the same item, to measure agreement" in lines
    assert lines[-2].startswith("error: 1 x verdict: Not known as a verdict")
    assert lines[-1].startswith("columns: prompt=问题, text_a=回答A")
    assert json.loads(inspected(path, "--json", "--format", "csv"))["rows"] == 3
    assert not Dataset.objects.exists()


def test_many_names_are_cut(tmp_path):
    path = tmp_path / "votes.csv"
    rows = [f"q{place},x,y,m{place},,ann{place}\n" for place in range(12)]
    path.write_text("prompt,text_a,text_b,model_a,model_b,scenario\n" + "".join(rows), "utf-8")
    out = inspected(path)
    assert "m7 (1), 4 more" in out
    assert "annotators: none" in out


def test_columns_that_are_not_understood_are_named(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("prompt,text_a,text_b,annotator,Zufriedenheit\nq,x,y,ann,4\n", "utf-8")
    assert inspected(path).splitlines()[-1] == "not understood: Zufriedenheit"
    told = json.loads(inspected(path, "--json"))
    assert told["unread_columns"] == ["Zufriedenheit"]
    assert told["columns"]["annotator"] == "annotator"
