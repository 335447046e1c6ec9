from __future__ import annotations

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from annotation.models import Comparison, Dataset, GoldLabel, PairwiseLabel, Response, Session
from judging.models import (
    JudgeRun,
    Judgment,
    PreferenceKind,
    ResponseScore,
    RunKind,
    RunStatus,
)
from judging.services.recorded import import_any
from tests.annotation.records import pair
from tests.factory import make_user
from tests.paths import shared_data

pytestmark = pytest.mark.django_db


def llmbar(index=0, **changes):
    reply = {"completion": ["Output (a)", "stop"], "winner": "1"}
    return {
        "subset": "Natural",
        "index": index,
        "input": f"Question {index}",
        "output_1": "one",
        "output_2": "two",
        "label": 1,
        "judges": {"GPT-4": [{"swap = False": reply, "swap = True": {**reply, "winner": None}}]},
        **changes,
    }


def vote(**changes):
    return {
        "question_id": 81,
        "model_a": "vicuna",
        "model_b": "alpaca",
        "winner": "model_a",
        "judge": "expert_1",
        "turn": 2,
        **changes,
    }


def take(tmp_path, *rows, dataset="data", **options):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return import_any(path=path, dataset_slug=dataset, now=timezone.now(), **options)


def test_a_judge_of_a_file_is_a_finished_run_with_its_verdicts(tmp_path):
    report = take(tmp_path, llmbar(), llmbar(1))
    assert (report.format, report.created, report.fault_count) == ("llmbar", 2, 0)
    assert (report.objects["judgments"], report.objects["runs"]) == (4, 1)
    run = JudgeRun.objects.get()
    assert (run.kind, run.status, run.judge) == (RunKind.RECORDED, RunStatus.DONE, "GPT-4")
    assert run.annotator is None
    assert run.config == {"recorded_in": "rows.jsonl"}
    assert list(
        run.judgments.order_by("pk").values_list(
            "order", "status", "verdict", "raw", "error_code", "preference__kind"
        )
    ) == 2 * [
        ("ORIGINAL", "DONE", "A", "Output (a)", "", PreferenceKind.EMPTY),
        ("SWAPPED", "UNPARSEABLE", None, "Output (a)", "verdict:unparseable", PreferenceKind.EMPTY),
    ]
    assert set(GoldLabel.objects.values_list("verdict", "source")) == {("A", "DATASET")}


def test_the_same_file_again_changes_nothing(tmp_path):
    take(tmp_path, llmbar(), llmbar(1))
    before = list(Judgment.objects.order_by("pk").values())
    report = take(tmp_path, llmbar(), llmbar(1))
    assert (report.created, report.unchanged, report.fault_count) == (0, 2, 0)
    assert list(Judgment.objects.order_by("pk").values()) == before


def test_another_judge_of_known_pairs_is_added(tmp_path):
    take(tmp_path, llmbar())
    more = llmbar()
    more["judges"]["PaLM2"] = more["judges"]["GPT-4"]
    report = take(tmp_path, more)
    assert (report.created, report.objects["judgments"], report.objects["runs"]) == (1, 2, 1)
    assert Judgment.objects.count() == 4


def test_a_verdict_that_is_stored_otherwise_is_a_fault_and_nothing_is_written(tmp_path):
    take(tmp_path, llmbar())
    other = llmbar()
    other["judges"]["GPT-4"][0]["swap = False"]["winner"] = "2"
    report = take(tmp_path, llmbar(5), other)
    [fault] = report.faults
    assert (fault.line, fault.field, fault.reason, fault.value) == (
        2,
        "verdicts[GPT-4].original",
        "Differs from the existing data",
        "B",
    )
    assert report.created == 0
    assert Session.objects.count() == 1
    assert Judgment.objects.get(order="ORIGINAL").verdict == "A"


def test_another_reply_behind_the_same_verdict_is_a_fault_too(tmp_path):
    take(tmp_path, llmbar())
    other = llmbar()
    other["judges"]["GPT-4"][0]["swap = False"]["completion"] = ["Output (b)", "stop"]
    [fault] = take(tmp_path, other).faults
    assert fault.field == "verdicts[GPT-4].original.raw"


def test_a_file_that_contradicts_itself_is_refused(tmp_path):
    first = vote(judge="gpt4_pair")
    report = take(tmp_path, first, {**first, "winner": "tie"})
    assert [(fault.line, fault.field) for fault in report.faults] == [
        (2, "verdicts[gpt4_pair].combined")
    ]
    assert not Dataset.objects.exists()


def test_with_a_bad_row_no_run_is_made(tmp_path):
    report = take(tmp_path, llmbar(), llmbar(1, label=9))
    assert report.fault_count == 1
    assert not JudgeRun.objects.exists()
    assert not Dataset.objects.exists()


def test_a_dry_run_counts_and_writes_nothing(tmp_path):
    report = take(tmp_path, llmbar(), dry_run=True)
    assert (report.created, report.objects["judgments"]) == (1, 2)
    assert not JudgeRun.objects.exists()


def test_files_without_verdicts_go_the_same_way(tmp_path):
    report = take(tmp_path, pair())
    assert (report.format, report.created) == ("sensejudge", 1)
    assert not JudgeRun.objects.exists()


def test_votes_attach_to_the_questions_and_answers_that_are_there(tmp_path):
    take(tmp_path, {"question_id": 81, "category": "writing", "turns": ["Write.", "Again."]})
    for model in ("alpaca", "vicuna"):
        turns = [f"{model} 1", f"{model} 2"]
        take(
            tmp_path,
            {"question_id": 81, "model_id": model, "choices": [{"index": 0, "turns": turns}]},
        )
    report = take(tmp_path, vote(), vote(judge="gpt4_pair"), vote(turn=1, judge="author_2"))
    assert report.fault_count == 0
    assert Response.objects.count() == 4
    second = Comparison.objects.get(turn__position=1)
    assert second.turn.session.scenario.name == "writing"
    assert second.turn.user_message == "Again."
    assert (second.response_a.text, second.response_b.text) == ("alpaca 2", "vicuna 2")
    assert second.response_b.continues is not None
    assert second.response_b.continues.text == "vicuna 1"
    assert PairwiseLabel.objects.count() == 2
    assert Judgment.objects.get().comparison == second


def test_votes_alone_make_sessions_without_texts(tmp_path):
    take(tmp_path, vote(), vote(judge="gpt4_pair", turn=1))
    session = Session.objects.get()
    assert (session.key, session.scenario.name) == ("81", "mt-bench")
    assert list(session.turns.values_list("user_message", flat=True)) == [None, None]
    assert set(Response.objects.values_list("text", flat=True)) == {None}


def test_pair_judgments_of_fastchat_have_both_orders(tmp_path):
    row = {
        "question_id": 81,
        "model_1": "alpaca",
        "model_2": "vicuna",
        "g1_winner": "model_1",
        "g2_winner": "error",
        "g1_judgment": "[[A]]",
        "g2_judgment": "$ERROR$",
        "judge": ["gpt-4", "pair-v2"],
        "turn": 1,
    }
    report = take(tmp_path, row)
    assert report.format == "fastchat-pairs"
    assert list(Judgment.objects.order_by("order").values_list("order", "verdict", "status")) == [
        ("ORIGINAL", "A", "DONE"),
        ("SWAPPED", None, "FAILED"),
    ]


def single(model, score, **changes):
    return {
        "question_id": 81,
        "model": model,
        "judge": ["gpt-4", "single-v1"],
        "judgment": f"[[{score}]]",
        "score": score,
        "turn": 1,
        **changes,
    }


def test_grades_of_both_responses_are_a_verdict(tmp_path):
    take(tmp_path, vote(turn=1), vote(turn=1, model_b="llama"))
    report = take(tmp_path, single("alpaca", 7), single("vicuna", 8), single("llama", -1))
    assert (report.format, report.created, report.objects["scores"]) == ("fastchat-singles", 3, 3)
    scores = ResponseScore.objects.order_by("pk")
    assert list(scores.values_list("response__model", "value", "scale", "status")) == [
        ("alpaca", 7, "1-10", "DONE"),
        ("vicuna", 8, "1-10", "DONE"),
        ("llama", None, "1-10", "UNPARSEABLE"),
    ]
    verdicts = Judgment.objects.order_by("comparison__key")
    assert list(
        verdicts.values_list("comparison__key", "order", "verdict", "status", "error_code")
    ) == [
        ("alpaca | vicuna", "COMBINED", "B", "DONE", ""),
        ("llama | vicuna", "COMBINED", None, "UNPARSEABLE", "verdict:unparseable"),
    ]
    again = take(tmp_path, single("alpaca", 7), single("vicuna", 8), single("llama", -1))
    assert (again.created, again.unchanged, again.faults) == (0, 3, ())


def test_a_grade_of_another_file_completes_a_verdict(tmp_path):
    take(tmp_path, vote(turn=1))
    assert "judgments" in take(tmp_path, single("alpaca", 7)).objects
    assert not Judgment.objects.exists()
    assert take(tmp_path, single("vicuna", 7)).objects["judgments"] == 1
    assert Judgment.objects.get().verdict == "TIE"
    assert JudgeRun.objects.count() == 1


def answered(model, *texts):
    choices = [{"index": 0, "turns": list(texts)}]
    return {"question_id": 81, "model_id": model, "choices": choices}


def test_grades_imported_before_comparisons_are_verdicts_once_those_are_created(client, tmp_path):
    take(tmp_path, answered("alpaca", "one"), answered("vicuna", "two"), answered("llama", "three"))
    take(tmp_path, single("alpaca", 7), single("vicuna", 8))
    assert not Judgment.objects.exists()
    client.force_login(make_user(role="MANAGER"))
    for _again in range(2):
        plan = {"kind": "ALL", "cap": 1, "seed": 42, "judge": "lexical"}
        client.post("/datasets/data/pairing/", plan)
        judgment = Judgment.objects.get()
        assert (judgment.comparison.key, judgment.verdict) == ("alpaca | vicuna", "B")
        assert (judgment.order, judgment.run.judge) == ("COMBINED", "gpt-4_single")
    again = take(tmp_path, single("alpaca", 7), single("vicuna", 8))
    assert (again.created, again.unchanged, again.faults) == (0, 2, ())


@pytest.mark.parametrize(
    ("other", "field"),
    [
        (single("alpaca", 8), "scores[gpt-4_single]"),
        (single("alpaca", -1), "scores[gpt-4_single]"),
        (single("alpaca", 7, judgment="Rating: [[7]]"), "scores[gpt-4_single].raw"),
    ],
)
def test_a_grade_that_is_stored_otherwise_is_a_fault(tmp_path, other, field):
    take(tmp_path, single("alpaca", 7))
    report = take(tmp_path, other)
    assert [fault.field for fault in report.faults] == [field]
    assert ResponseScore.objects.get().value == 7


def test_a_run_says_who_brought_it_and_from_which_file(tmp_path):
    manager = make_user(role="MANAGER")
    take(tmp_path, llmbar(), actor=manager)
    run = JudgeRun.objects.get()
    assert (run.config, run.created_by) == ({"recorded_in": "rows.jsonl"}, manager)


def test_a_batch_costs_few_queries(tmp_path, django_assert_max_num_queries):
    rows = [llmbar(number) for number in range(150)]
    take(tmp_path, *rows)
    with django_assert_max_num_queries(40):
        take(tmp_path, *rows)


def test_the_public_llmbar_file_is_read_whole():
    report = import_any(
        path=shared_data("llmbar_vanilla.jsonl"), dataset_slug="llmbar", now=timezone.now()
    )
    # 419 pairs, 6 judges, 2 orders: 5,028 verdicts.
    assert (report.rows, report.objects["judgments"], report.objects["runs"]) == (419, 5028, 6)
    assert report.objects["gold"] == 419


def test_the_import_page_takes_recorded_judges(client):
    client.force_login(make_user(role="MANAGER"))
    assert "LLMBar with recorded judges" in client.get("/datasets/import/").content.decode()
    upload = SimpleUploadedFile("gpt.jsonl", (json.dumps(llmbar()) + "\n").encode())
    form = {"format": "auto", "dataset": "data", "file": upload}
    answer = client.post("/datasets/import/", form)
    assert answer.status_code == 200
    assert "Format: llmbar" in answer.content.decode()
    assert JudgeRun.objects.get().config == {"recorded_in": "gpt.jsonl"}


def test_the_import_page_refuses_a_recorded_file_with_a_fault(client):
    client.force_login(make_user(role="MANAGER"))
    upload = SimpleUploadedFile("gpt.jsonl", (json.dumps(llmbar(label=7)) + "\n").encode())
    form = {"format": "llmbar", "dataset": "data", "file": upload}
    answer = client.post("/datasets/import/", form)
    assert answer.status_code == 422
    assert "Must be between 1 and 2" in answer.content.decode()
    assert not JudgeRun.objects.exists()
