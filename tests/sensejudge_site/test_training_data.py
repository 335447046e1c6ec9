"""Training data and chat logs go out as sessions and come in again as they were."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.utils import timezone

from annotation.models import Comparison, Response, Session
from judging.services.recorded import import_any
from tests.paths import ROOT

pytestmark = pytest.mark.django_db

FOLDER = ROOT / "tests" / "data" / "formats"
NAMES = [
    *("trl-preference", "hh-rlhf", "llamafactory", "ms-swift", "openai-preference", "kto"),
    *("prompt-completion", "chat-messages", "sharegpt", "lmsys-chat", "wildchat"),
]


def take(path, slug):
    report = import_any(path=path, dataset_slug=slug, now=timezone.now())
    assert report.faults == ()
    return report


def told(slug):
    """All that a dataset says, without what names it."""
    sessions = Session.objects.filter(dataset__slug=slug)
    columns = {
        Session: ("key", "system_prompt", "language", "extra", "turns__user_message"),
        Response: ("text", "model", "original", "extra", "labels__score"),
        Comparison: ("key", "extra", "labels__verdict", "gold_labels__verdict"),
    }
    path = {Session: "pk", Response: "turn__session", Comparison: "turn__session"}
    return [
        sorted(
            json.dumps(row, sort_keys=True)
            for row in each.objects.filter(**{f"{path[each]}__in": sessions}).values_list(*names)
        )
        for each, names in columns.items()
    ]


@pytest.mark.parametrize("name", NAMES)
def test_what_goes_out_comes_in_again(tmp_path, name):
    [golden] = FOLDER.glob(f"{name}.*")
    take(golden, "one")
    out = tmp_path / "sessions.jsonl"
    call_command("export_records", "sessions", "--dataset", "one", "--out", out, stdout=StringIO())
    assert take(out, "other").format == "sensejudge"
    assert told("other") == told("one")


def test_rows_that_stand_twice_refuse_no_file(tmp_path):
    pair = {"prompt": "Name a sea.", "chosen": "The Baltic.", "rejected": "Paris."}
    asked = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi!"}]
    for slug, rows in {
        "pairs": [
            pair,
            pair,
            {**pair, "margin": 1},
            {**pair, "margin": 2},
            {**pair, "chosen": "X"},
        ],
        "chats": [{"messages": asked}] * 2 + [{"messages": asked, "n": n} for n in (1, 2)],
    }.items():
        path = tmp_path / f"{slug}.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
        report = take(path, slug)
        assert report.created == len(rows) - 1


@pytest.mark.parametrize("indent", [None, 2])
def test_a_results_file_of_promptfoo_has_its_rows_inside(tmp_path, indent):
    rows = [json.loads(each) for each in (FOLDER / "promptfoo.jsonl").read_text().splitlines()]
    prompts = [{"raw": "Translate", "label": "Translate", "provider": "small", "metrics": {}}]
    results = {"version": 3, "timestamp": "2026-01-31T12:00:00Z", "results": rows}
    results |= {"prompts": prompts, "stats": {"successes": 1}}
    config = {"prompts": ["Translate"], "tests": [{"vars": {"text": "good day"}}]}
    path = tmp_path / "results.json"
    path.write_text(
        json.dumps({"evalId": "e1", "results": results, "config": config}, indent=indent)
    )
    report = take(path, "data")
    assert (report.format, report.created) == ("promptfoo", len(rows))
