from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotation.models import PairwiseLabel
from judging.models import JudgeRun
from tests.benchmark.stage import Stage
from tests.benchmark.test_views_leaderboard_annotators import study as three_models
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
    assert "Bradley-Terry on 12 comparisons of 12 sessions; no intervals: --bootstrap 0" in printed


def test_battles_of_one_session_are_drawn_together(tmp_path):
    path = tmp_path / "battles.csv"
    rows = [f"x,y,{'model_a' if n % 4 else 'model_b'},s{n // 5}" for n in range(60)]
    path.write_text("\n".join(["model_a,model_b,winner,conversation", *rows]))
    alone = json.loads(leaderboard("--battles", path, "--json"))
    grouped = json.loads(leaderboard("--battles", path, "--sessions", "conversation", "--json"))
    assert (alone["sessions"], grouped["sessions"], grouped["comparisons"]) == (60, 12, 60)
    assert grouped["models"][0]["rating"] == alone["models"][0]["rating"]
    assert grouped["models"][0]["low"] != alone["models"][0]["low"]


def test_models_are_ranked_by_another_method(battles):
    path = battles(*[("x", "y", "model_a")] * 15, *[("x", "y", "tie")] * 5)
    found = json.loads(leaderboard("--battles", path, "--method", "win-rate", "--json"))
    assert [row["rating"] for row in found["models"]] == [0.875, 0.125]
    assert found["models"][0]["first"] == 1
    assert found["pairs"][0] == {
        "model": "x",
        "opponent": "y",
        "wins": 15,
        "ties": 5,
        "losses": 0,
        "comparisons": 20,
        "above": 1,
    }
    lines = leaderboard("--battles", path, "--method", "win-rate").splitlines()
    assert lines[1].split()[:4] == ["1", "x", "87.5", "%"]
    elo = json.loads(leaderboard("--battles", path, "--method", "elo", "--json"))
    assert elo["models"][0]["rating"] > 1000
    assert "Elo (mean over all orders) on 20 comparisons" in leaderboard(
        "--battles", path, "--method", "elo"
    )


def test_a_part_of_a_dataset_is_named():
    stage = study()
    stage.label(stage.rater("bob"), "BBBBBB")
    both, ann = (
        json.loads(leaderboard("--dataset", "study", *more, "--json"))
        for more in ([], ["--annotator", "ann", "--scenario", "Writing", "--language", "en"])
    )
    assert [each["pairs"][0]["wins"] for each in (both, ann)] == [3, 3]
    assert [each["pairs"][0]["losses"] for each in (both, ann)] == [8, 2]


def test_style_can_be_controlled():
    stage = Stage.make(size=12)
    stage.label(stage.rater("ann"), "AAAABAAAABAB")
    found = json.loads(leaderboard("--dataset", "study", "--style", "--json"))
    length, headings, *_others = found["style"]["effects"]
    assert (length["style"], length["low"] < length["value"] < length["high"]) == ("length", True)
    assert (headings["value"], found["style"]["unwritten"]) == (None, 0)
    assert "log-odds for one root mean square more" in leaderboard("--dataset", "study", "--style")
    assert json.loads(leaderboard("--dataset", "study", "--json"))["style"] is None


def test_a_ranking_is_compared_with_a_reference(battles, tmp_path):
    pairs = [("x", "y"), ("y", "z"), ("x", "z")]
    fought = [(a, b, "model_a" if n % 4 else "model_b") for a, b in pairs for n in range(20)]
    reference = tmp_path / "reference.csv"
    reference.write_text("model,rank\nx,1\nz,2\ny,3\n")
    found = json.loads(
        leaderboard("--battles", battles(*fought), "--reference", reference, "--json")
    )["reference"]
    assert (found["models"], found["kendall"]) == (3, pytest.approx(1 / 3))
    assert found["kendall_low"] <= found["kendall"] <= found["kendall_high"]
    lines = leaderboard("--battles", battles(*fought), "--reference", reference)
    assert "beside the reference: Kendall 0.33 (" in lines
    reference.write_text("model,rank\na,1\nb,2\nc,3\n")
    assert "fewer than 3 models in common" in leaderboard(
        "--battles", battles(*fought), "--reference", reference
    )


def test_annotators_are_compared():
    three_models()
    found = json.loads(leaderboard("--dataset", "study", "--between-annotators", "--json"))
    ann, bob = found["annotators"]
    assert (ann["annotator"], ann["models"]) == ("ann", ["alpha", "beta", "gamma"])
    assert bob["models"] == ["gamma", "beta", "alpha"]
    both = found["agreement"][-1]
    assert (both["annotator"], both["other"], both["kendall"]) == ("ann", "bob", -1)
    assert found["too_few"] == ["eve"]
    lines = leaderboard("--dataset", "study", "--between-annotators").splitlines()
    assert lines[0].startswith("ann: alpha > beta > gamma (first in")
    assert lines[-1] == "too few sessions or models: eve"
    empty = ("--dataset", "study", "--between-annotators", "--scenario", "Writing")
    assert leaderboard(*empty).startswith("ann: ")


def test_annotators_are_compared_by_as_many_draws_as_asked():
    three_models()
    asked = ("--dataset", "study", "--between-annotators", "--json", "--bootstrap")
    none, usual = (json.loads(leaderboard(*asked, draws)) for draws in (0, 500))
    assert [row["first"] for row in none["annotators"]] == [None, None]
    assert none["agreement"][-1]["kendall_low"] is None
    assert usual == json.loads(leaderboard(*asked[:-1]))
    assert usual["annotators"][0]["ranks"] == [1, 2, 3]


def test_a_reference_is_read_whole_or_not_at_all(battles, tmp_path):
    reference = tmp_path / "reference.csv"
    reference.write_text("model,rank\nx,1\nz,2\ny,3\n" + "\n" * 2**20)
    with pytest.raises(CommandError, match="longer than 1,048,576 characters") as refused:
        leaderboard("--battles", battles(("x", "y", "tie")), "--reference", reference)
    assert refused.value.returncode == 2


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
        (["--battles", "x", "--scenario", "QA"], "--battles has no use for --scenario"),
        (["--battles", "x", "--verdicts", "base"], "no use for --verdicts"),
        (["--battles", "x", "--method", "win-rate", "--anchor", "y"], "--anchor means nothing"),
        (["--battles", "x", "--between-annotators"], "needs --dataset"),
        (["--dataset", "study", "--reference", "/nowhere.csv"], "nowhere.csv"),
        (["--battles", "x", "--style"], "no use for --style"),
        (["--dataset", "study", "--sessions", "c"], "--dataset has no use for --sessions"),
        (["--dataset", "study", "--judge", "lexical"], "no use for --judge"),
        (
            ["--dataset", "study", "--corrected", "--scenario", "Writing", "--method", "elo"],
            "--corrected has no use for --method, --scenario",
        ),
        (["--dataset", "study", "--corrected", "--verdicts", "drawn"], "--verdicts drawn"),
        (
            ["--dataset", "study", "--between-annotators", "--annotator", "ann", "--anchor", "x"],
            "--between-annotators has no use for --annotator, --anchor",
        ),
        (["--dataset", "study", "--style", "--method", "elo"], "--style needs bradley-terry"),
        (["--dataset", "study", "--annotator", "nobody"], "nothing named 'nobody'"),
        (["--dataset", "study", "--language", "zh"], "nothing in the language 'zh'"),
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


def test_one_session_with_most_of_the_comparisons_is_said(tmp_path):
    """300 battles of one session, won 2 to 1, and ten others: no interval of any kind."""
    giant = ["x,y,model_a,s0", "x,y,model_a,s0", "x,y,model_b,s0"] * 100
    path = tmp_path / "battles.csv"
    rows = [*giant, *(f"x,y,model_a,s{at}" for at in range(1, 11))]
    path.write_text("\n".join(["model_a,model_b,winner,session", *rows]), encoding="utf-8")
    options = ("--battles", str(path), "--sessions", "session")
    for method in ("bradley-terry", "elo", "win-rate"):
        assert "no intervals: one session holds most of the comparisons" in leaderboard(
            *options, "--method", method
        )
    found = json.loads(leaderboard(*options, "--json"))
    assert (found["sessions"], found["effective_sessions"]) == (11, pytest.approx(1.068, abs=1e-3))
    assert {(row["low"], row["rank_low"]) for row in found["models"]} == {(None, None)}
    shared = [f"x,y,model_a,s{at % 4}" for at in range(300)]
    lost = [f"x,y,model_b,s{at}" for at in range(4, 11)]
    path.write_text("\n".join(["model_a,model_b,winner,session", *shared, *lost]), encoding="utf-8")
    assert "no intervals: a few sessions hold most of the comparisons" in leaderboard(*options)


def test_corrected_figures_stand_beside_people_and_judge():
    study()
    found = json.loads(leaderboard("--dataset", "study", "--corrected", "--json"))
    alpha, beta = sorted(found["models"], key=lambda row: row["model"])
    assert (found["judge"], found["grounds"], found["lambda"]) == ("lexical", ["all"], None)
    # The base judge judged the five comparisons of which ann named a winner.
    assert (alpha["labels"], alpha["refused"], alpha["missing_labels"]) == (5, "few_labels", 15)
    assert alpha["judge_only"] == pytest.approx(1 - beta["judge_only"])
    # Beside agreement the judge's own score is its consistency: both orders are alike here.
    told = found["agreement"]
    assert (told["consistency"], told["consistency_on_labelled"]) == (1.0, 1.0)
    assert not {"judge_only", "judge_on_labelled"} & set(told)
    own = leaderboard("--dataset", "study", "--corrected", "--verdicts", "selected")
    assert "few_labels: too few labels, up to 15 more labels needed (alpha, beta)" in own


def test_corrected_figures_are_told_in_words():
    stage = Stage.make(size=30)
    ann = stage.rater("ann")
    stage.label(ann, "AAB" * 10)
    stage.tested(ann, stage.distilled(ann), base="B" * 30, selected="A" * 30)
    told = leaderboard("--dataset", "study", "--corrected").splitlines()
    assert told[1].split()[:2] == ["alpha", "66.7%"]
    assert told[-1] == "judge: lexical; everything that it judged is labelled"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--battles", "b"], "leaderboard:corrected-of"),
        (["--dataset", "study", "--anchor", "alpha"], "leaderboard:corrected-of"),
        (["--dataset", "study"], "leaderboard:not-judged"),
    ],
)
def test_what_cannot_be_corrected_is_refused(arguments, problem):
    Stage.make()
    with pytest.raises(CommandError, match=problem) as refused:
        leaderboard("--corrected", *arguments)
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
    endpoint = make_endpoint(name="fake", model="alpha")
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


def test_a_kept_leaderboard_is_verified_and_what_changed_named():
    study()
    found = json.loads(leaderboard("--dataset", "study", "--bootstrap", 20, "--snapshot", "--json"))
    number = found["snapshot"]
    corrected = leaderboard("--dataset", "study", "--corrected", "--bootstrap", 20, "--snapshot")
    assert f"kept as snapshot {number + 1}" in corrected
    for each in (number, number + 1):
        assert "everything is as it was kept" in verified(each)
    PairwiseLabel.objects.filter(verdict="B").first().delete()
    with pytest.raises(CommandError, match="changed") as ended:
        verified(number)
    assert ended.value.returncode == 1
    with pytest.raises(CommandError, match="snapshot:unknown") as refused:
        verified(number + 2)
    assert refused.value.returncode == 2


def verified(number):
    out = io.StringIO()
    call_command("verify", "--snapshot", str(number), stdout=out)
    return out.getvalue()


@pytest.mark.parametrize(
    "words",
    [
        ("--battles", "b.jsonl"),
        ("--dataset", "study", "--between-annotators"),
    ],
)
def test_only_a_dataset_s_own_leaderboard_is_kept(words):
    with pytest.raises(CommandError, match="--snapshot needs --dataset") as refused:
        leaderboard(*words, "--snapshot")
    assert refused.value.returncode == 2


def test_a_board_of_one_prompt_is_kept_and_computed_again_as_such():
    stage = study()
    ann = PairwiseLabel.objects.first().annotator
    for prompt, verdicts in (("PAIRWISE", "AABBB."), ("THOUGHT", "BBBBA.")):
        run = stage.tested(ann, None, base=verdicts)
        run.config["prompt"] = prompt
        run.save()
    asked = ("--dataset", "study", "--verdicts", "base", "--bootstrap", 20)
    found = json.loads(leaderboard(*asked, "--prompt", "pairwise", "--snapshot", "--json"))
    assert (found["prompt"], found["pairs"][0]["wins"]) == ("pairwise", 4)
    assert "by lexical (prompt thought)" in leaderboard(*asked, "--prompt", "thought")
    call_command("verify", "--snapshot", str(found["snapshot"]), stdout=io.StringIO())
    with pytest.raises(CommandError, match="there are: pairwise, thought"):
        leaderboard(*asked, "--prompt", "single")
    with pytest.raises(CommandError, match="has no use for --prompt"):
        leaderboard("--dataset", "study", "--prompt", "pairwise")
