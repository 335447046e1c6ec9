from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotation.models import PairwiseLabel, Turn
from judging.models import SatisfactionJudgment
from tests.benchmark.stage import Stage
from tests.benchmark.test_views_gold import give_gold, record
from tests.factory import make_rating, make_run

pytestmark = pytest.mark.django_db


def report(*arguments):
    out = io.StringIO()
    call_command("report", *arguments, stdout=out)
    return out.getvalue()


def study():
    stage = Stage.make(scenarios=("Writing", "Code"), size=4)
    ann, bob = stage.rater("ann"), stage.rater("bob")
    stage.label(ann, "ABAB" + "AAAA", shown="ORIGINAL")
    stage.label(bob, "ABAB" + "....")
    stage.tested(
        ann, stage.distilled(ann), base="AAAA" * 2, selected="ABAA" + "AAAA", shuffled="BBBB" * 2
    )
    stage.tested(bob, stage.distilled(bob), base="BBBB....", selected="ABAB....")
    return stage


def test_the_fields_that_scripts_read():
    study()
    printed = report("--dataset", "study", "--json")
    found = json.loads(printed)
    assert printed.count("\n") == 1
    assert [(row["annotator"], row["scenario"], row["n"]) for row in found["rows"]] == [
        ("ann", "Writing", 4),
        ("ann", "Code", 4),
        ("ann", None, 8),
        ("bob", "Writing", 4),
    ]
    overall = found["rows"][2]
    assert (overall["base"], overall["selected"], overall["shuffled"]) == (0.75, 0.875, 0.25)
    assert (overall["low"], overall["high"]) == (None, None)  # of eight sessions
    # The gains are 1 of ann's 8 sessions and 2 of bob's 4: a coin gives as much in 2 of 2, 2 of 4.
    writing, bob = found["rows"][0], found["rows"][3]
    assert (writing["gain_p"], bob["gain"], bob["gain_p"]) == (1.0, 0.5, 0.5)
    assert (writing["gain_p_holm"], bob["gain_p_holm"]) == (1.0, 1.0)
    assert (overall["position_bias"], overall["consistency"]) == (0.0, 1.0)
    assert overall["human_position_bias"] == 0.25
    assert found["satisfaction"] is None
    assert found["judges"] == ["lexical"]


def test_a_kept_report_is_verified_and_what_changed_named():
    study()
    number = json.loads(report("--dataset", "study", "--snapshot", "--json"))["snapshot"]
    assert f"kept as snapshot {number + 1}" in report("--dataset", "study", "--snapshot")
    out = io.StringIO()
    call_command("verify", "--snapshot", str(number), "--json", stdout=out)
    assert json.loads(out.getvalue()) == {"equal": True, "changed": []}
    PairwiseLabel.objects.filter(verdict="B").first().delete()
    with pytest.raises(CommandError, match="changed"):
        call_command("verify", "--snapshot", str(number), "--json", stdout=out)
    told = json.loads(out.getvalue().splitlines()[-1])
    names = {each["what"] for each in told["changed"]}
    assert {"labels of ann", "ann, Writing: human_position_bias"} <= names
    with pytest.raises(CommandError, match="does not go with --gold") as refused:
        report("--dataset", "study", "--snapshot", "--gold")
    assert refused.value.returncode == 2


def test_edits_of_all_runs_are_looked_up_at_once(monkeypatch):
    study()
    asked = []

    def late(parents):
        asked.append(parents)
        return frozenset([max(parents)])

    monkeypatch.setattr("benchmark.queries.trust.runs_edited_late", late)
    rows = json.loads(report("--dataset", "study", "--json"))["rows"]
    [parents] = asked
    assert len(parents) == 2
    assert {row["annotator"] for row in rows if row["edited"]} == {"bob"}


def test_one_judge_can_be_asked_for():
    stage = study()
    ann = stage.rater("eve")
    stage.label(ann, "ABABAAAA")
    stage.tested(ann, None, base="ABABAAAA", judge="gpt")
    stage.tested(ann, stage.distilled(ann), base="BBBBBBBB", selected="BBBBBBBB")
    give_gold(stage, "AAAAAAAA")
    found = json.loads(report("--dataset", "study", "--judge", "gpt", "--json"))
    assert found["judges"] == ["gpt"]
    assert {(row["annotator"], row["base"], row["selected"]) for row in found["rows"]} == {
        ("eve", 1.0, None)
    }
    everybody = json.loads(report("--dataset", "study", "--json"))
    assert everybody["judges"] == ["lexical"]
    gold = json.loads(report("--dataset", "study", "--gold", "--judge", "gpt", "--json"))
    assert {row["judge"] for row in gold["rows"]} == {"gpt"}


@pytest.mark.parametrize("more", [(), ("--gold",), ("--annotator", "bob")])
def test_a_judge_without_verdicts_is_refused_by_name(more):
    study()
    with pytest.raises(CommandError, match="no verdicts of the judge 'gpt' here") as refused:
        report("--dataset", "study", "--judge", "gpt", *more)
    assert refused.value.returncode == 2


def test_controls_stand_beside_every_result_with_n_and_interval():
    stage = study()
    found = json.loads(report("--dataset", "study", "--json"))["controls"]
    beside = {(row["annotator"], row["scenario"], row["control"], row["of"]): row for row in found}
    assert [key[2:] for key in beside if key[:2] == ("ann", None)] == [
        ("base", ""),
        ("shuffled", ""),
        ("other", "bob"),
        ("longer", ""),
        ("shorter", ""),
        ("first", ""),
        ("majority", ""),
    ]
    other = beside["ann", None, "other", "bob"]
    # Bob's set decided ABAB on the four comparisons that both labelled ABAB.
    assert (other["n"], other["verdicts"], other["value"]) == (4, 8, 1.0)
    assert (other["low"], other["high"]) == (None, None)  # of four sessions
    shuffled = beside["ann", "Code", "shuffled", ""]
    assert (shuffled["n"], shuffled["value"]) == (4, 0.0)
    ann = PairwiseLabel.objects.filter(annotator__username="study:ann").first().annotator
    rubric = stage.tested(ann, None, base="ABBB" * 2)
    rubric.config["prompt"] = "PAIRWISE"
    rubric.save()
    found = json.loads(report("--dataset", "study", "--json"))["controls"]
    assert [
        (row["scenario"], row["of"], row["n"], row["value"])
        for row in found
        if row["control"] == "rubric"
    ] == [
        ("Writing", "PAIRWISE", 4, 0.75),
        ("Code", "PAIRWISE", 4, 0.25),
        (None, "PAIRWISE", 8, 0.5),
    ]
    printed = report("--dataset", "study", "--annotator", "ann")
    assert "ann, preferences of bob" in printed
    assert "ann, no preferences, prompt PAIRWISE" in printed
    assert "bob, base judge" not in printed


def test_a_later_run_of_the_base_judge_does_not_hide_preferences():
    stage = study()
    before = report("--dataset", "study", "--json")
    stage.tested(PairwiseLabel.objects.first().annotator, None, base="BBBB" * 2)
    assert report("--dataset", "study", "--json") == before


def test_one_annotator_alone():
    study()
    found = json.loads(report("--dataset", "study", "--annotator", "bob", "--json"))
    assert {row["annotator"] for row in found["rows"]} == {"bob"}


def test_a_table_for_readers():
    study()
    printed = report("--dataset", "study")
    assert "judged by lexical, run" in printed
    assert "ann, all" in printed
    assert "88%" in printed
    assert "bob, Writing" in printed


def test_ten_sessions_have_intervals():
    stage = Stage.make(size=12)
    ann = stage.rater("ann")
    stage.label(ann, "AB" * 6)
    run = stage.distilled(ann)
    stage.tested(ann, run, base="AAAA" + "AB" * 4, selected="AABB" + "AB" * 4)
    (row,) = json.loads(report("--dataset", "study", "--json"))["rows"]
    assert row["low"] < row["selected"] == 10 / 12 < row["high"]
    # Of what differs, the fourth is right and the third wrong: no gain, and no coin does worse.
    assert (row["gain"], row["gain_p"], row["gain_p_holm"]) == (0.0, 1.0, 1.0)
    assert row["gain_low"] < 0 < row["gain_high"]
    heading, line = report("--dataset", "study").splitlines()[2:4]
    assert line[heading.index("selected") :].startswith("83% (")
    assert line[heading.index("     p") :].startswith(" 1.000")


def test_the_report_begins_with_the_answer_of_trust():
    stage = Stage.make(size=12)
    ann = stage.rater("ann")
    stage.label(ann, "AB" * 6)
    stage.label(stage.rater("bob"), "AB" * 6)
    stage.tested(ann, stage.distilled(ann), base="A" * 12, selected="A" * 12)
    (found,) = json.loads(report("--dataset", "study", "--json"))["answers"]
    assert (found["annotator"], found["verdict"]) == ("ann", "no")
    assert found["sentence"] == (
        "No: colleagues agree 100%, the judge 50%, preferences make no clear difference "
        "(50% → 50%), no better than always choosing the longer response (50%), "
        "indistinguishable from chance."
    )
    assert report("--dataset", "study").splitlines()[1] == f"ann: {found['sentence']}"


def test_comparisons_of_one_session_are_one_unit():
    stage = Stage.make(size=12)
    ann = stage.rater("ann")
    stage.label(ann, "AB" * 6)
    stage.tested(ann, stage.distilled(ann), base="A" * 12, selected="AB" * 6)
    (apart,) = json.loads(report("--dataset", "study", "--json"))["rows"]
    assert (apart["base_low"] is None, apart["gain_p"]) == (False, 2 / 2**6)
    turns = [each.turn for each in stage.comparisons["Writing"]]
    for turn in turns[9:]:
        Turn.objects.filter(pk=turn.pk).update(session=turns[8].session, position=turn.pk)
    (together,) = json.loads(report("--dataset", "study", "--json"))["rows"]
    # Nine sessions: 2, 4, 6 and 8 gain, and the one of 9 to 12 gains twice.
    assert (together["n"], together["base"]) == (12, apart["base"])
    assert (together["base_low"], together["gain_low"]) == (None, None)
    assert together["gain_p"] == 2 / 2**5


def test_without_preferences_the_interval_stands_with_the_base_judge():
    stage = Stage.make(size=12)
    ann = stage.rater("ann")
    stage.label(ann, "ABAB" * 3)
    stage.tested(ann, None, base="AAAA" * 3)
    (row,) = json.loads(report("--dataset", "study", "--json"))["rows"]
    assert row["base_low"] < row["base"] == 0.5 < row["base_high"]
    assert (row["selected"], row["low"], row["high"]) == (None, None, None)
    heading, line = report("--dataset", "study").splitlines()[2:4]
    assert line[heading.index("base") :].startswith("50% (")
    assert line[heading.index("selected") :].startswith("- ")


def test_nothing_judged_is_said():
    Stage.make()
    assert "no labelled comparison has been judged yet" in report("--dataset", "study")


def test_satisfaction_stands_below():
    stage = study()
    rater = stage.rater("rater")
    run = make_run(stage.dataset, kind="SATISFACTION", status="DONE")
    for score, comparison in enumerate(stage.comparisons["Code"], start=1):
        response = comparison.response_a
        make_rating(
            response, annotator=rater, score=score, **({"reason": "OTHER"} if score < 4 else {})
        )
        SatisfactionJudgment.objects.create(
            run=run, user=rater, response=response, status="DONE", score=score
        )
    printed = report("--dataset", "study")
    assert "satisfaction: 4 turns of 1 user, 0 unreadable, 0 failed; too few users" in printed
    assert "pearson               calibrated 1.000" in printed
    found = json.loads(report("--dataset", "study", "--json"))["satisfaction"]
    assert found["metrics"][0]["name"] == "pearson"
    assert found["metrics"][0]["raw"]["value"] == pytest.approx(1)
    SatisfactionJudgment.objects.update(score=3)
    assert "constant prediction" in report("--dataset", "study")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--dataset", "none"], "dataset:unknown: no dataset 'none'; known datasets: study"),
        (["--dataset", "study", "--annotator", "nobody"], "no annotator 'nobody'"),
    ],
)
def test_what_is_not_known_is_wrong_input(arguments, problem):
    study()
    with pytest.raises(CommandError, match=problem) as refused:
        report(*arguments)
    assert refused.value.returncode == 2


def gold_study():
    stage = Stage.make(scenarios=("hep-cpp", "math-prm"), size=2)
    give_gold(stage, "AAAA")
    record(stage, "GPT-4", "AAA?", "AAB?")
    return stage


def test_against_gold_every_judge_has_its_subsets_and_sections():
    gold_study()
    found = json.loads(report("--dataset", "study", "--gold", "--json"))
    assert found["policy"] == "EXCLUDED"
    assert [(row["level"], row["subset"], row["n"], row["accuracy"]) for row in found["rows"]] == [
        ("subset", "hep-cpp", 2, 1.0),
        ("subset", "math-prm", 1, 0.5),
        ("all", "all", 3, pytest.approx(5 / 6)),
        ("section", "Reasoning", 3, pytest.approx(0.75)),
    ]
    assert {row["judge"] for row in found["rows"]} == {"GPT-4"}


def test_against_gold_unreadable_replies_can_be_wrong():
    gold_study()
    found = json.loads(report("--dataset", "study", "--gold", "--unreadable", "wrong", "--json"))
    assert found["rows"][1]["accuracy"] == 0.25


def test_against_gold_readers_get_lines():
    gold_study()
    printed = report("--dataset", "study", "--gold")
    assert "GPT-4, run" in printed
    assert "hep-cpp" in printed
    assert "100.0%" in printed


def test_against_gold_without_a_judge_it_says_so():
    Stage.make()
    assert "no comparison with a gold answer has been judged yet" in report(
        "--dataset", "study", "--gold"
    )


def test_what_the_judge_leans_to_is_in_the_fields():
    study()
    found = json.loads(report("--dataset", "study", "--annotator", "ann", "--json"))
    rows = {row["voice"]: row for row in found["leanings"]}
    assert list(rows) == ["human", "base", "selected"]
    # B is the longer one in every comparison: ann chose it twice in eight, the base judge never.
    assert (rows["human"]["longer_wins"], rows["human"]["verdicts"]) == (0.25, 8)
    assert (rows["base"]["longer_wins"], rows["base"]["verdicts"]) == (0.0, 16)
    assert rows["selected"]["longer_wins"] == 0.125
