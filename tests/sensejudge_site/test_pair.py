from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Comparison, PairingPlan, Study, Turn
from benchmark.queries.boards import dataset_board
from benchmark.queries.ranking import Source
from judging.models import JudgeRun
from sensejudge_site.benches import pairing as bench
from tests.benchmark.pairing import label_all, make_answers
from tests.factory import (
    make_comparison,
    make_dataset,
    make_endpoint,
    make_label,
    make_response,
    make_scenario,
    make_session,
    make_turn,
)
from tests.fake_llm import FakeLlm

pytestmark = pytest.mark.django_db


def pair(dataset, *arguments):
    out = StringIO()
    call_command("pair", "--dataset", dataset.slug, *arguments, "--json", stdout=out)
    return json.loads(out.getvalue())


def test_a_plan_is_counted_priced_made_and_handed_to_a_study():
    dataset = make_answers()
    arguments = ["--plan", "sample:8", "--judge", "lexical", "--study", "Pilot"]
    planned = pair(dataset, *arguments, "--estimate")
    assert (planned["plan"], planned["created"], planned["study"]) == (None, 8, None)
    assert planned["estimate"]["calls"] == 0
    assert not Comparison.objects.exists()
    made = pair(dataset, *arguments)
    plan = PairingPlan.objects.get()
    assert (made["plan"], made["comparisons"], made["created"], made["existing"]) == (
        plan.pk,
        8,
        8,
        0,
    )
    assert (made["kind"], made["batch"], made["possible"], made["missing"]) == ("sample", 1, 24, 0)
    assert [(row["model_a"], row["model_b"]) for row in made["pairs"]] == [
        ("alpha", "beta"), ("alpha", "gamma"), ("beta", "gamma"),
    ]  # fmt: skip
    assert sorted(row["comparisons"] for row in made["pairs"]) == [2, 3, 3]
    assert made["pairs"] == planned["pairs"]
    study = Study.objects.get(slug=made["study"])
    assert study.selection == {"plan": plan.pk}
    assert study.items.count() == 8
    again = pair(dataset, *arguments)
    assert (again["plan"], again["created"], again["existing"]) == (plan.pk, 0, 8)
    assert again["batch"] is None
    assert again["study"] == made["study"]
    assert Study.objects.count() == 1


def test_the_price_is_what_judging_the_plan_then_takes():
    dataset, endpoint = make_answers(), make_endpoint()
    arguments = ["--plan", "sample:8", "--judge", endpoint.name]
    planned = pair(dataset, *arguments, "--estimate")
    made, out = pair(dataset, *arguments), StringIO()
    judged = ["--dataset", dataset.slug, "--targets", f"plan:{made['plan']}", "--estimate"]
    call_command("judge", *judged, "--judge", endpoint.name, "--json", stdout=out)
    (run,) = json.loads(out.getvalue())["runs"]
    assert run["calls"] == 16
    assert {**planned["estimate"], "annotator": ""} == run
    assert made["estimate"] == planned["estimate"]


def test_an_estimate_learns_what_the_judge_can_do():
    with FakeLlm() as server:
        row = make_endpoint(base_url=server.base_url, has_logprobs=None, measured_address="")
        pair(make_answers(), "--plan", "sample:8", "--judge", row.name, "--estimate")
        assert server.stats()["calls"] > 0
    row.refresh_from_db()
    assert row.measured_address


def test_an_adaptive_plan_waits_for_verdicts():
    dataset = make_answers()
    arguments = ["--plan", "adaptive", "--batch", "4"]
    assert pair(dataset, *arguments)["created"] == 4
    waiting = pair(dataset, *arguments)
    assert (waiting["created"], waiting["missing"], waiting["batch"]) == (0, 4, None)
    assert pair(dataset, *arguments, "--incomplete", "--dry-run")["created"] == 4
    label_all(dataset)
    more = pair(dataset, "--plan", "adaptive")
    assert (more["created"], more["comparisons"], more["batch"]) == (4, 8, 2)
    of_judge = pair(dataset, *arguments, "--judge", "lexical")
    assert (of_judge["created"], of_judge["missing"]) == (0, 4)


def test_a_study_of_an_adaptive_plan_holds_its_last_batch():
    dataset = make_answers()
    arguments = ["--plan", "adaptive", "--batch", "4", "--study"]
    first = pair(dataset, *arguments, "Pilot")
    assert pair(dataset, *arguments, "Pilot")["study"] == first["study"]  # waits for verdicts
    label_all(dataset)
    with pytest.raises(CommandError, match="pairing:other-study"):
        pair(dataset, *arguments, "Pilot")
    assert Comparison.objects.count() == 4
    second = pair(dataset, *arguments, "Second")
    shown = [
        set(Study.objects.get(slug=made["study"]).items.values_list("comparison", flat=True))
        for made in (first, second)
    ]
    assert [len(each) for each in shown] == [4, 4]
    assert not shown[0] & shown[1]
    assert Study.objects.get(slug=second["study"]).selection == {"plan": second["plan"], "batch": 2}


def test_an_adaptive_plan_with_nothing_left_is_not_stored():
    dataset = make_answers()
    pair(dataset)
    label_all(dataset)
    with pytest.raises(CommandError, match="pairing:nothing-left"):
        pair(dataset, "--plan", "adaptive")
    assert PairingPlan.objects.count() == 1


def test_a_plan_is_made_by_a_run_unless_nothing_is_to_add():
    dataset = make_answers()
    for _again in range(2):
        pair(dataset, "--plan", "sample:8")
    run = JudgeRun.objects.get()
    assert (run.kind, run.status) == ("PAIR", "DONE")
    assert run.units.get().result == {"plan": PairingPlan.objects.get().pk, "created": 8}


def test_variants_of_a_model_compete_where_they_are_asked_for_and_are_ranked_apart():
    dataset = make_answers(turns=1, models=("alpha", "beta"))
    for turn in Turn.objects.all():
        make_response(turn, model="alpha", variant="memory")
    assert pair(dataset, "--estimate")["possible"] == 2
    made = pair(dataset, "--variants")
    assert [(row["model_a"], row["model_b"], row["comparisons"]) for row in made["pairs"]] == [
        ("alpha", "alpha (memory)", 2), ("alpha", "beta", 2), ("alpha (memory)", "beta", 2),
    ]  # fmt: skip
    assert pair(dataset, "--variants")["created"] == 0
    assert pair(dataset)["plan"] != made["plan"]  # without variants it is another plan
    anchored = pair(dataset, "--variants", "--plan", "anchor:alpha (memory)", "--estimate")
    assert anchored["comparisons"] == 4
    label_all(dataset)
    board = dataset_board(dataset.slug, Source.HUMAN, draws=10, seed=1)
    assert set(board.win_rates) == {"alpha", "alpha (memory)", "beta"}
    assert board.win_rates["alpha"].value == 1
    adapted = pair(dataset, "--variants", "--plan", "adaptive", "--batch", "2", "--estimate")
    assert adapted["possible"] == 6


def test_a_variant_that_tells_two_equal_texts_apart_is_no_model_of_its_own():
    dataset = make_dataset()
    turn = make_turn(make_session(make_scenario(dataset)))
    one, other = (
        make_response(turn, model="alpha", text="same", variant=name) for name in ("", "B")
    )
    make_label(make_comparison(turn, response_a=one, response_b=other), verdict="TIE")
    board = dataset_board(dataset.slug, Source.HUMAN, draws=10, seed=1)
    assert set(board.win_rates) <= {"alpha"}


def test_people_read_lines():
    dataset, out = make_answers(), StringIO()
    arguments = ["--dataset", dataset.slug, "--plan", "adaptive", "--judge", "lexical"]
    call_command("pair", *arguments, "--study", "Pilot", stdout=out)
    call_command("pair", *arguments, "--estimate", stdout=out)
    lines = out.getvalue().splitlines()
    assert lines[0].endswith(": 3 comparisons of 24 possible, 3 created")
    assert "study: pilot" in lines
    assert lines[-4].startswith("3 of 3 comparisons of the last batch have no verdict yet")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--plan", "some"], "pairing:plan"),
        (["--plan", "anchor:nobody"], "pairing:unknown-anchor"),
        (["--plan", "all", "--model", "nobody"], "pairing:nothing"),
        (["--judge", "nobody"], "judge:unknown"),
        (["--cap", "0"], "from 1 to 1000"),
    ],
)
def test_what_cannot_be_planned_exits_2(arguments, said):
    with pytest.raises(CommandError, match=said) as raised:
        pair(make_answers(turns=1), *arguments)
    assert raised.value.returncode == 2
    assert not PairingPlan.objects.exists()


def test_too_much_to_plan_at_once_exits_2(monkeypatch):
    monkeypatch.setattr("benchmark.services.pairing.MOST_POSSIBLE", 23)
    with pytest.raises(CommandError, match="pairing:too-many-possible") as raised:
        pair(make_answers(), "--plan", "sample:5")
    assert raised.value.returncode == 2
    assert not JudgeRun.objects.exists()


def test_another_size_of_sample_is_another_plan_and_shares_comparisons():
    dataset = make_answers()
    assert pair(dataset, "--plan", "sample:5")["created"] == 5
    more = pair(dataset, "--plan", "sample:9")
    assert (more["comparisons"], more["created"], more["existing"]) == (9, 4, 5)
    assert pair(dataset)["created"] == 15


def votes(tmp_path):
    rows = [
        {"judge": f"expert_{n}", "model_a": a, "model_b": b, "question_id": 81 + n % 5,
         "turn": 1 + n % 2, "winner": winner}
        for n in range(10)
        for a, b, winner in (("x", "y", "model_a"), ("z", "y", "model_b"), ("x", "z", "tie"))
    ]  # fmt: skip
    file = tmp_path / "votes.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return file


def test_the_bench_holds_three_plans_against_the_full_ranking(tmp_path):
    figures = {one.name: one.value for one in bench.run(file=str(votes(tmp_path)), seeds=2).figures}
    assert figures["seeds"] == 2
    assert (figures["simulated_comparisons"], figures["votes_models"]) == (1120, 3)
    for tenths in (1, 2, 3):
        variance = {
            plan: figures[f"simulated_{tenths}_tenths_{plan}_variance"]
            for plan in ("adaptive", "random", "in_order")
        }
        assert variance["adaptive"] < min(variance["random"], variance["in_order"])
    # A third of all comparisons is enough for the order of the models that all of them tell apart.
    assert figures["simulated_third_adaptive_settled_percent"] >= 99
    assert figures["simulated_third_adaptive_reached_percent"] >= 50
    assert -1 <= figures["votes_1_tenths_random_tau"] <= 1


def test_the_bench_says_where_a_file_holds_no_votes(tmp_path):
    file = tmp_path / "none.jsonl"
    file.write_text(
        json.dumps({"scenario": "s", "prompt": "p", "text_a": "a", "text_b": "b"}) + "\n"
    )
    with pytest.raises(CommandError, match="holds no votes on named models") as raised:
        call_command("bench", "pairing", "--file", str(file), "--seeds", "1")
    assert raised.value.returncode == 2


def test_a_dataset_without_answers_has_nothing_to_compare():
    with pytest.raises(CommandError, match="pairing:nothing"):
        pair(make_dataset())
