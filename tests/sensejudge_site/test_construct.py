"""`manage.py construct`: what it prints, resumes, freezes and writes."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from judging.models import JudgeRun
from tests.benchmark.construction import TwoModels, make_models, make_raw
from tests.factory import make_endpoint
from tests.fake_llm import Act

pytestmark = pytest.mark.django_db


def construct(*options, source="raw", to="bench-1"):
    out = StringIO()
    call_command("construct", "--source", source, "--to", to, *options, stdout=out)
    return out.getvalue()


def test_stages_are_printed_then_the_version_is_frozen_and_written(tmp_path):
    make_raw()
    lines = construct().splitlines()
    assert " ".join(lines[0].split()) == "DUPLICATES 9 in 8 kept 1 dropped (EXACT 1)"
    assert lines[-1].endswith("6 dialogues left to review and freeze")
    told = json.loads(construct("--json"))
    assert (told["version"], told["kept"], "statistics" in told) == (None, 6, False)
    frozen = json.loads(construct("--freeze", "--per-topic", "2", "--json"))
    assert frozen["run"] == told["run"]  # what was done is not done again
    assert (frozen["version"], frozen["kept"]) == ("bench-1", 4)
    assert frozen["statistics"]["count"] == 4
    path = tmp_path / "bench.jsonl"
    text = construct("--out", str(path), "--format", "jsonl")
    assert text.splitlines()[-1] == "bench-1: 4 dialogues frozen"
    assert len(path.read_text("utf-8").splitlines()) == 4


def test_what_goes_wrong_says_so_in_one_line(tmp_path):
    make_raw()
    make_raw(slug="other")
    with pytest.raises(CommandError, match="nothing is frozen yet") as wrong:
        construct("--out", str(tmp_path / "file"))
    assert wrong.value.returncode == 2
    make_endpoint(name="judge")
    with pytest.raises(CommandError, match="construction:other-settings"):
        construct("--freeze", "--sorter", "judge")
    construct("--freeze")
    with pytest.raises(CommandError, match="construction:version-taken"):
        construct(source="other")
    for other in (("--judge", "judge"), ("--strong", "judge"), ("--per-topic", "3")):
        with pytest.raises(CommandError, match="construction:other-settings"):
            construct(*other)
    assert "frozen" in construct("--judge", "lexical")
    with pytest.raises(CommandError, match="input: ") as wrong:
        construct("--out", str(tmp_path))
    assert wrong.value.returncode == 2


def test_an_estimate_starts_nothing():
    make_raw()
    assert construct("--estimate").startswith("6 of 9 dialogues pass the rules\n")
    told = json.loads(construct("--estimate", "--json"))
    assert (told["dialogues"], told["passing"]) == (9, 6)
    assert told["calls"] == 0


def test_what_failed_is_asked_again_by_the_same_command():
    make_raw()
    with TwoModels() as server:
        make_models(server)
        asked = ("--judge", "judge", "--strong", "strong", "--weak", "weak", "--json")
        server.script.extend([Act(status=401)] * 12)
        with pytest.raises(CommandError, match="llm:") as failed:
            construct(*asked)
        assert failed.value.returncode == 1
        server.script.clear()
        told = json.loads(construct(*asked))
    assert told["kept"] == 2
    assert told["run"] == JudgeRun.objects.get(kind="CONSTRUCT").pk
