"""What models thought is kept beside their texts, whatever the format of the file."""

from __future__ import annotations

import json

import pytest
from django.utils import timezone

from annotation.core.conversations import Speaker
from annotation.exports import SESSIONS, ExportFormat
from annotation.models import Comparison, Dataset, Response, Turn
from annotation.services.imports import import_records
from judging.core.formats.detect import ALL_FORMATS
from judging.services.recorded import import_any
from tests.annotation.records import import_rows, pair

pytestmark = pytest.mark.django_db

MARKED = {
    "think": "<think>hm</think>\n\nyes",
    "no start": "hm\n</think>\n\nyes",
    "magistral": "[THINK]hm[/THINK]yes",
    "kimi": "◁think▷hm◁/think▷yes",
    "harmony": "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final"
    "<|message|>yes",
    "stripped": "analysishm.assistantfinalyes",
    "thought": "<thought>\nhm\n</thought>\nyes",
}


@pytest.mark.parametrize("text", MARKED.values(), ids=MARKED)
def test_reasoning_is_kept_beside_a_response(tmp_path, text):
    report = import_rows(tmp_path, pair(text_a=text, prompt="<think>mine</think> p"))
    assert dict(report.kept)["reasoning"] == 1
    response = Response.objects.get(model="m")
    assert (response.text, response.extra["reasoning"].rstrip(".")) == ("yes", "hm")
    assert Response.objects.get(model="n").extra == {}
    assert Turn.objects.get().user_message == "<think>mine</think> p"


def rows_of_formats():
    messages = [
        {"role": Speaker.USER.value, "content": "p"},
        {"role": Speaker.ASSISTANT.value, "content": MARKED["think"]},
    ]
    return {
        "rewardbench": {
            "prompt": "p", "chosen": MARKED["think"], "rejected": "no", "subset": "s", "id": 1,
        },
        "rewardbench in messages": {
            "prompt": messages[:1], "chosen": messages[1:], "rejected": "no", "id": 1,
        },
        "pandalm": {
            "idx": 1, "motivation_app": "x", "cmp_key": "m_n", "instruction": "p", "input": "",
            "response1": MARKED["think"], "response2": "no",
            "annotator1": 1, "annotator2": 1, "annotator3": 1,
        },
        "alpaca-eval-outputs": {
            "instruction": "p", "output": MARKED["think"], "generator": "m", "dataset": "s",
        },
    }  # fmt: skip


@pytest.mark.parametrize("name", rows_of_formats())
def test_every_format_has_its_responses_read_at_one_place(tmp_path, name):
    row = rows_of_formats()[name]
    path = tmp_path / ("rows.json" if name in ("pandalm", "alpaca-eval-outputs") else "rows.jsonl")
    path.write_text(json.dumps([row] if path.suffix == ".json" else row))
    report = import_any(path=path, dataset_slug="data", now=timezone.now(), formats=ALL_FORMATS)
    assert report.faults == ()
    response = Response.objects.get(extra__reasoning="hm")
    assert response.text == "yes"


def exported():
    dataset = Dataset.objects.latest("pk")
    return "".join(SESSIONS.blocks(dataset, ExportFormat.JSONL))


def test_an_export_brings_it_back_byte_for_byte(tmp_path):
    told = "Use `<think>`.\n</think> is its end" + "\n```\n<think>\n```"
    import_rows(tmp_path, pair(text_a=MARKED["harmony"], text_b=told))
    first = exported()
    assert json.loads(first.splitlines()[-1])["turns"][0]["responses"][0]["extra"] == {
        "reasoning": "hm"
    }
    path = tmp_path / "again.jsonl"
    path.write_text(first)
    import_records(path=path, dataset_slug="again", now=timezone.now())
    assert exported().replace("again", "data") == first


def test_two_responses_that_differ_in_reasoning_alone_are_compared(tmp_path):
    import_rows(tmp_path, pair(text_a=MARKED["think"], text_b="yes", model_a=..., model_b=...))
    compared = Comparison.objects.get()
    assert compared.response_a_id != compared.response_b_id
