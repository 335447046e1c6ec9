from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotation.models import PairwiseLabel
from judging.models import JudgeRun
from tests.benchmark.stage import Stage
from tests.factory import make_endpoint
from tests.paths import shared_data

pytestmark = pytest.mark.django_db


def leaderboard(*arguments):
    out = io.StringIO()
    call_command("leaderboard", *map(str, arguments), stdout=out)
    return out.getvalue()


@pytest.fixture
def battles(tmp_path):
    def write(*results):
        path = tmp_path / "battles.jsonl"
        path.write_text(
            "\n".join(
                json.dumps({"model_a": one, "model_b": other, "winner": winner})
                for one, other, winner in results
            )
        )
        return path

    return write


def study():
    stage = Stage.make(size=6)
    ann = stage.rater("ann")
    stage.label(ann, "AAABBT")
    stage.tested(ann, stage.distilled(ann), base="AABBA.", selected="AAAAB.")
    return stage


def test_the_fields_that_scripts_read(battles):
    fought = [("x", "y", "model_a")] * 30 + [("x", "y", "model_b")] * 10
    printed = leaderboard("--battles", battles(*fought), "--json", "--seed", 5, "--bootstrap", 200)
    found = json.loads(printed)
    assert printed.count("\n") == 1
    assert (found["method"], found["seed"], found["bootstrap"]) == ("bradley-terry", 5, 200)
    first, second = found["models"]
    # 3 to 1 are 400 log10(3) = 190.85 points around 1000.
    assert (first["model"], first["rating"]) == ("x", pytest.approx(1095.42, abs=0.01))
    assert first["low"] < first["rating"] < first["high"]
    assert (first["rank"], first["rank_low"], first["rank_high"]) == (1, 1, 1)
    assert (second["model"], second["rank"], second["comparisons"]) == ("y", 2, 40)


def test_an_end_among_unbounded_draws_is_told(battles):
    path = battles(*[("x", "y", "model_a")] * 9, ("x", "y", "model_b"))
    first, second = json.loads(leaderboard("--battles", path, "--json"))["models"]
    assert (first["low_unbounded"], first["high"], first["high_unbounded"]) == (False, None, True)
    assert (second["low"], second["low_unbounded"], second["high_unbounded"]) == (None, True, False)
    lines = leaderboard("--battles", path).splitlines()
    assert f"{first['low']:.1f} to unbounded" in lines[1]
    assert f"unbounded to {second['high']:.1f}" in lines[2]


def test_the_same_seed_gives_the_same_intervals(battles):
    path = battles(*[("x", "y", "model_a")] * 9, *[("x", "y", "model_b")] * 9)
    assert leaderboard("--battles", path, "--json") == leaderboard("--battles", path, "--json")


def test_a_model_that_never_lost_has_no_number(battles):
    path = battles(("x", "y", "model_a"), ("y", "z", "model_a"), ("y", "z", "model_b"))
    first = json.loads(leaderboard("--battles", path, "--json"))["models"][0]
    assert (first["model"], first["rating"], first["standing"]) == ("x", None, "unbounded")
    assert "unbounded" in leaderboard("--battles", path)


def test_a_table_for_readers(battles):
    path = battles(*[("x", "y", "tie"), ("x", "y", "model_a"), ("x", "y", "model_b")] * 4)
    printed = leaderboard("--battles", path, "--bootstrap", 0)
    assert printed.splitlines()[1].split() == ["1", "x", "1000.0", "12"]
    assert "Bradley-Terry on 12 comparisons of 12 sessions; 0 of 0 bootstrap draws" in printed


def test_few_sessions_have_no_interval(battles):
    path = battles(("x", "y", "tie"), ("x", "y", "model_a"), ("x", "y", "model_b"))
    found = json.loads(leaderboard("--battles", path, "--json"))
    assert (found["comparisons"], found["sessions"]) == (3, 3)
    assert [(row["rating"], row["low"], row["high"]) for row in found["models"]] == [
        (1000.0, None, None)
    ] * 2
    assert "too few sessions for intervals: about 7 more are needed" in (
        leaderboard("--battles", path)
    )


def test_an_anchor_is_1000(battles):
    path = battles(*[("x", "y", "model_a")] * 3, ("x", "y", "model_b"))
    found = json.loads(leaderboard("--battles", path, "--anchor", "y", "--json"))
    assert {row["model"]: row["rating"] for row in found["models"]}["y"] == 1000


def test_a_dataset_is_ranked_by_its_labels_or_by_its_judge():
    study()
    human = json.loads(leaderboard("--dataset", "study", "--json"))
    assert human["comparisons"] == 6
    judged = json.loads(leaderboard("--dataset", "study", "--verdicts", "selected", "--json"))
    assert judged["comparisons"] == 5
    # 8 of 10 decisions for alpha: odds of four to one are 240.82 points.
    ratings = {row["model"]: row["rating"] for row in judged["models"]}
    assert ratings["alpha"] - ratings["beta"] == pytest.approx(240.82, abs=0.01)


def test_a_later_run_of_the_base_judge_does_not_hide_preferences():
    stage = study()
    (ann,) = {label.annotator for label in PairwiseLabel.objects.all()}
    before = leaderboard("--dataset", "study", "--verdicts", "selected", "--json")
    stage.tested(ann, None, base="BBBBB.", judge="other")
    assert leaderboard("--dataset", "study", "--verdicts", "selected", "--json") == before
    base = json.loads(leaderboard("--dataset", "study", "--verdicts", "base", "--json"))
    # 3 of 5 for alpha, in both orders: odds of 3 to 2 are 70.44 points; "other" gives it none.
    ratings = {row["model"]: row["rating"] for row in base["models"]}
    assert ratings["alpha"] - ratings["beta"] == pytest.approx(70.44, abs=0.01)


def test_a_dataset_without_verdicts_says_so():
    Stage.make()
    assert "no comparison between named models" in leaderboard("--dataset", "study")
    assert json.loads(leaderboard("--dataset", "study", "--json"))["models"] == []


@pytest.mark.parametrize(
    ("verdicts", "command"),
    [
        ("selected", "manage.py distil --dataset study"),
        ("base", "manage.py judge --dataset study --preferences none"),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_before_a_run_is_finished_the_judge_has_no_leaderboard(verdicts, command, form):
    stage = Stage.make()
    ann = stage.rater("ann")
    stage.label(ann, "ABAB")
    stage.tested(ann, stage.distilled(ann), base="A---", selected="A---", status="RUNNING")
    with pytest.raises(CommandError, match=f"leaderboard:not-judged: .*{command}") as refused:
        leaderboard("--dataset", "study", "--verdicts", verdicts, *form)
    assert refused.value.returncode == 2


def test_the_base_judge_alone_gives_no_verdicts_under_preferences():
    stage = Stage.make()
    ann = stage.rater("ann")
    stage.label(ann, "ABAB")
    stage.tested(ann, None, base="ABBB")
    base = json.loads(leaderboard("--dataset", "study", "--verdicts", "base", "--json"))
    assert base["comparisons"] == 4
    with pytest.raises(CommandError, match="applied preferences"):
        leaderboard("--dataset", "study", "--verdicts", "selected")


def test_mtbench_votes_rank_as_published():
    votes = shared_data("mtbench_votes_human.jsonl")
    found = json.loads(leaderboard("--battles", votes, "--json", "--bootstrap", 100))
    assert [round(row["rating"], 2) for row in found["models"]][:2] == [1177.39, 1111.67]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--dataset", "none"], "dataset:unknown: no dataset 'none'; known datasets: study"),
        (["--battles", "/nowhere.jsonl"], "nowhere.jsonl"),
        (["--dataset", "study", "--anchor", "gamma"], "gamma"),
    ],
)
def test_what_is_not_known_is_wrong_input(arguments, problem):
    study()
    with pytest.raises(CommandError, match=problem) as refused:
        leaderboard(*arguments)
    assert refused.value.returncode == 2


def test_a_broken_file_is_wrong_input_with_its_line(battles):
    with pytest.raises(CommandError, match="line 2: winner is 'none'") as refused:
        leaderboard("--battles", battles(("x", "y", "tie"), ("x", "y", "none")))
    assert refused.value.returncode == 2


@pytest.mark.parametrize(
    "arguments", [[], ["--dataset", "a", "--battles", "b"], ["--dataset", "a", "--seed", "-1"]]
)
def test_arguments_that_make_no_sense_are_refused(arguments):
    with pytest.raises(CommandError):
        leaderboard(*arguments)


def test_what_stands_in_is_said_and_the_selected_set_is_a_choice():
    stage = Stage.make(size=4)
    ann = stage.rater("ann")
    stage.label(ann, "AAAB")
    stage.tested(ann, stage.distilled(ann), base="BBBB", selected="BBBA", stack="AAAB")
    voted = json.loads(leaderboard("--dataset", "study", "--verdicts", "selected", "--json"))
    assert (voted["verdicts"], voted["judge"], voted["stands_in"]) == (
        "selected",
        "lexical",
        "stack",
    )
    assert voted["models"][0]["model"] == "alpha"
    subset = json.loads(leaderboard("--dataset", "study", "--verdicts", "subset", "--json"))
    assert (subset["stands_in"], subset["models"][0]["model"]) == ("selected", "beta")
    human = json.loads(leaderboard("--dataset", "study", "--json"))
    assert (human["verdicts"], human["judge"], human["stands_in"]) == ("human", None, None)
    printed = leaderboard("--dataset", "study", "--verdicts", "selected")
    assert "by lexical, under the weighted vote that stands in" in printed
    assert "by lexical, without preferences" in (
        leaderboard("--dataset", "study", "--verdicts", "base")
    )


def test_a_judge_is_chosen_by_name():
    stage = study()
    (ann,) = {label.annotator for label in PairwiseLabel.objects.all()}
    stage.tested(ann, None, base="BBBAB.", judge="other")
    given = ("--dataset", "study", "--verdicts", "base")
    assert json.loads(leaderboard(*given, "--json"))["judge"] == "lexical"
    found = json.loads(leaderboard(*given, "--judge", "other", "--json"))
    assert (found["judge"], found["models"][0]["model"]) == ("other", "beta")
    with pytest.raises(CommandError, match="there are: lexical, other"):
        leaderboard(*given, "--judge", "nobody")


def test_a_judge_of_a_candidate_s_family_is_named():
    study()
    endpoint = make_endpoint(name="fake", model="alpha-9")
    JudgeRun.objects.update(judge="fake", endpoint=endpoint)
    said = "same model family (alpha): fake may favour alpha when judging"
    assert said in leaderboard("--dataset", "study", "--verdicts", "selected")
    assert said not in leaderboard("--dataset", "study")
    out = io.StringIO()
    call_command("report", dataset="study", stdout=out)
    assert said in out.getvalue()


@pytest.mark.parametrize("number", ["100001", "-1", "x"])
def test_the_bootstrap_has_bounds(tmp_path, number):
    with pytest.raises(CommandError, match="expected a number from 0 to 100000"):
        leaderboard("--battles", tmp_path / "battles.csv", f"--bootstrap={number}")
