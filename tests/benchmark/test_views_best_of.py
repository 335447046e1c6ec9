"""The best of n responses, from the file to the page."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.core.management import call_command

from annotation.core.choices import Verdict
from annotation.models import Comparison, Dataset, GoldLabel, Response
from judging.models import Judgment, ResponseScore, RunKind
from tests.annotation.core.formats.rows import write_lines
from tests.benchmark.stage import empty_preference
from tests.factory import make_endpoint, make_run, make_user
from tests.fake_llm import FakeLlm
from tests.markup import tight

pytestmark = pytest.mark.django_db

GOLD, CSV = "/trust/gold/", "/trust/gold.csv"


def rows():
    """Three prompts of mathematics with four answers each, and one of Ties with its reference."""
    for number in range(3):
        yield {
            "prompt": f"What is {number} + {number}?",
            "chosen": [f"{2 * number}"],
            "rejected": ["wrong", "no idea", f"{number} + {number}"],
            "num_correct": 1,
            "subset": "Math",
            "id": number,
        }
    bad = ["Paris", "Seven"]
    for sample, chosen in (("tied", ["Red", "Blue"]), ("ref", ["Red"])):
        yield {
            "prompt": "Name a colour.",
            "chosen": chosen,
            "rejected": bad,
            "num_correct": len(chosen),
            "subset": "Ties",
            "id": f"{sample}:0",
        }


@pytest.fixture
def dataset(tmp_path):
    path = write_lines(tmp_path / "rb2.jsonl", *rows())
    call_command("import_records", path, dataset="rb2", stdout=io.StringIO())
    return Dataset.objects.get(slug="rb2")


def judged(dataset, wrong=(), *, tied=(), left_out=()):
    """A recorded judge that names the chosen response in both orders, but for some rejected."""
    run = make_run(dataset, kind=RunKind.RECORDED, status="DONE", judge="GPT-4")
    made = []
    gold = dict(GoldLabel.objects.values_list("comparison", "verdict"))
    for each in Comparison.objects.select_related("turn", "response_a", "response_b"):
        right = Verdict(gold[each.pk])
        rejected = each.response_b if right is Verdict.A else each.response_a
        place = (each.turn.user_message, rejected.text)
        if place in left_out or (each.pk, rejected.text) in left_out:
            continue
        verdict = Verdict.TIE if place in tied else right.flipped() if place in wrong else right
        made += [
            Judgment(
                run=run,
                comparison=each,
                preference=empty_preference(),
                order=order,
                status="DONE",
                verdict=verdict,
            )
            for order in ("ORIGINAL", "SWAPPED")
        ]
    Judgment.objects.bulk_create(made)
    return run


def best_of(client):
    page = tight(client.get(GOLD))
    return page.split("<h2>Best of n")[1].split("</table>")[0]


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def test_importing_twice_changes_nothing(dataset, tmp_path):
    assert Comparison.objects.count() == 9 + 4 + 2
    path = write_lines(tmp_path / "again.jsonl", *rows())
    out = io.StringIO()
    call_command("import_records", path, dataset="rb2", json=True, stdout=out)
    told = json.loads(out.getvalue())
    assert (told["created"], told["unchanged"], told["fault_count"]) == (0, 5, 0)


def test_one_lost_pair_loses_the_prompt_but_a_third_of_its_pairs(dataset, viewer):
    judged(dataset, wrong=[("What is 1 + 1?", "wrong")])
    table = best_of(viewer)
    assert "66.7 %" in table  # two of three prompts, though eight of nine pairs
    assert "100.0 %" in table
    assert "83.3 %" in table  # the mean of both subsets
    assert "80.0 %" in table  # four of five prompts
    assert ">n 3<" in table
    assert ">n 5<" in table


def test_a_shared_first_place_earns_its_part(dataset, viewer):
    judged(dataset, tied=[("What is 1 + 1?", "wrong")])
    assert "83.3 %" in best_of(viewer)  # (1 + 1/2 + 1) / 3


def test_a_prompt_with_a_pair_that_was_not_judged_is_not_scored(dataset, viewer):
    judged(dataset, left_out=[("What is 1 + 1?", "wrong")])
    table = best_of(viewer)
    assert "n 2 of 3" in table
    assert "n 4 of 5" in table


def test_two_prompts_share_what_was_decided_on_the_same_responses(dataset, viewer):
    shared = Comparison.objects.filter(extra__id="ref:0").values_list("pk", flat=True)
    judged(dataset, left_out=[(key, bad) for key in shared for bad in ("Paris", "Seven")])
    assert ">n 2<" in best_of(viewer)


def test_the_file_and_the_command_tell_it_too(dataset, viewer):
    run = judged(dataset, wrong=[("Name a colour.", "Paris")])
    told = list(csv.DictReader(io.StringIO(viewer.get(CSV).content.decode())))
    assert [
        (row["level"], row["subset"], row["n"], row["items"], row["run"])
        for row in told
        if row["level"].startswith("best-of")
    ] == [
        ("best-of", "Math", "3", "3", str(run.pk)),
        ("best-of", "Ties", "2", "2", str(run.pk)),
        ("best-of-mean", "all", "5", "5", str(run.pk)),
        ("best-of-all", "all", "5", "5", str(run.pk)),
    ]
    out = io.StringIO()
    call_command("report", dataset="rb2", gold=True, json=True, stdout=out)
    rows_told = {
        (row["level"], row["subset"]): row["accuracy"] for row in json.loads(out.getvalue())["rows"]
    }
    assert rows_told["best-of", "Ties"] == 0.0
    assert rows_told["best-of-mean", "all"] == 0.5
    assert rows_told["best-of-all", "all"] == 0.6


def test_pairs_alone_have_no_best_of(tmp_path, viewer):
    row = {"prompt": "2 + 2?", "chosen": "4", "rejected": "5", "subset": "math-prm"}
    path = write_lines(tmp_path / "rb.jsonl", row)
    call_command("import_records", path, dataset="rb", stdout=io.StringIO())
    judged(Dataset.objects.get(slug="rb"))
    page = tight(viewer.get(GOLD))
    assert "GPT-4" in page
    assert "Best of n" not in page


def test_a_judge_runs_on_it_in_the_benchmarks_stead(dataset, viewer):
    out = io.StringIO()
    call_command("distil", dataset="rb2", stdout=out)
    call_command("judge", dataset="rb2", json=True, stdout=(judged_out := io.StringIO()))
    assert json.loads(judged_out.getvalue())["judged"] > 0
    page = tight(viewer.get("/trust/judges/"))
    assert "lexical" in page
    assert "for benchmark" in tight(viewer.get(GOLD))


def test_a_reward_model_is_counted_as_the_benchmark_counts_it(tmp_path, viewer):
    """The server scores by length; prompts are right where the chosen text is the longest."""
    texts = [
        {
            "prompt": f"Prompt {number}",
            "chosen": ["x" * (10 + number)],
            "rejected": [f"{number}{letter}" + letter * (11 + number % 3) for letter in "abc"],
            "subset": "Math",
            "id": number,
        }
        for number in range(12)
    ]
    path = write_lines(tmp_path / "rb2.jsonl", *texts)
    call_command("import_records", path, dataset="rb2", stdout=io.StringIO())
    dataset = Dataset.objects.get(slug="rb2")
    with FakeLlm() as server:
        judge = make_endpoint(
            name="skywork",
            base_url=server.base_url.replace("/v1", "/score"),
            has_scores=True,
            model="reward",
        ).name
        asked = {"dataset": "rb2", "judge": judge, "prompt": "reward", "preferences": "none"}
        call_command("judge", stdout=io.StringIO(), **asked)
    run = dataset.runs.get(kind=RunKind.GRADE)
    told = {}  # by prompt, whether the chosen text is longer than the rejected one of each pair
    for each in Comparison.objects.filter(judgments__run=run).select_related(
        "turn", "response_a", "response_b"
    ):
        sides = sorted((each.response_a.text, each.response_b.text))
        rejected, chosen = sides  # digits come before x
        told.setdefault(each.turn.user_message, []).append(len(chosen) - len(rejected))
    whole = [gaps for gaps in told.values() if len(gaps) == 3]
    earned = [0 if min(gaps) < 0 else 1 / (1 + gaps.count(0)) for gaps in whole]
    assert 0 < sum(earned) < len(whole) == 12
    rows_told = csv.DictReader(io.StringIO(viewer.get(CSV).content.decode()))
    [best] = [row for row in rows_told if row["level"] == "best-of"]
    assert (int(best["n"]), int(best["items"])) == (len(whole), 12)
    assert float(best["accuracy"]) == pytest.approx(sum(earned) / len(whole))
    assert "Reward model scores" in best_of(viewer)
    assert "Reward model scores" in tight(viewer.get("/trust/judges/?dataset=rb2"))


def scored_run(dataset, judge, scores):
    """A run that scored responses by their text."""
    run = make_run(dataset, kind=RunKind.GRADE, status="DONE", judge=judge)
    ResponseScore.objects.bulk_create(
        ResponseScore(
            run=run, response=each, scale="reward", status="DONE", value=scores[each.text]
        )
        for each in Response.objects.filter(turn__session__dataset=dataset, text__in=scores)
    )
    Judgment.objects.bulk_create(
        Judgment(
            run=run,
            comparison=each,
            preference=empty_preference(),
            order="COMBINED",
            status="DONE",
            verdict="A",
        )
        for each in Comparison.objects.filter(turn__session__dataset=dataset)
    )
    return run


def test_a_reward_model_has_the_benchmarks_score_of_ties(dataset, viewer):
    # Right answers 9 and 8 above 3 and 1: margins of 5 and 6, a spread of 1.
    scored_run(dataset, "good", {"Red": 9.0, "Blue": 8.0, "Paris": 3.0, "Seven": 1.0})
    scored_run(dataset, "partial", {"Red": 9.0, "Paris": 3.0})
    judged(dataset)
    out = io.StringIO()
    call_command("report", dataset="rb2", gold=True, json=True, stdout=out)
    [row] = [row for row in json.loads(out.getvalue())["rows"] if row["level"] == "ties-score"]
    assert (row["judge"], row["n"]) == ("good", 1)
    assert row["accuracy"] == pytest.approx(1.01, abs=0.0001)
    table = best_of(viewer)
    assert "Ties (margin score)" in table
    assert table.count("1.010") == 1  # the score: one question has no interval
    assert "101.0 %" not in table
    out = io.StringIO()
    call_command("report", dataset="rb2", gold=True, stdout=out)
    [line] = [line.split() for line in out.getvalue().splitlines() if "by margins" in line]
    assert line == ["Ties,", "by", "margins", "1", "1.010", "of", "1.01"]
    told = csv.DictReader(io.StringIO(viewer.get(CSV).content.decode()))
    assert [each["judge"] for each in told if each["level"] == "ties-score"] == ["good"]
