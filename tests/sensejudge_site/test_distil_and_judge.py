from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.models import Comparison
from judging.core.stand_in import exceeds
from judging.models import JudgeRun, Judgment, PreferenceSet
from judging.queries.runs import distilled_scenarios
from tests.factory import make_dataset, make_endpoint, make_rater
from tests.fake_llm import FakeLlm
from tests.judging.study import label_pair, make_study

pytestmark = pytest.mark.django_db


def run(name, *options):
    out, err = StringIO(), StringIO()
    call_command(name, *options, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def run_json(name, *options):
    return json.loads(run(name, *options, "--json")[0])


def test_distil_prints_what_it_selected():
    dataset, _ = make_study(scenarios=2, comparisons=8)
    found = run_json("distil", "--dataset", dataset.slug, "--annotator", "ann", "--by", "scenario")
    assert found["annotator"] == "ann"
    assert [row["scenario"] for row in found["scenarios"]] == ["scenario 0", "scenario 1"]
    for row in found["scenarios"]:
        assert (row["dev"], row["test"], row["columns"], row["ties"]) == (4, 4, 6, 0)
        assert len(row["preferences"]) == len(row["selected"]) >= 1
        assert 0 <= row["dev_accuracy"] <= 1
        assert 0 < row["p_value"] <= 1
        assert row["used"] is exceeds(row["leave_one_out"], row["base_accuracy"])
        # The embedded judge by itself likes the longer here: nothing can be better.
        assert row["stands_in"] == {
            "choice": "base",
            "pairs": 4,
            "base": 1.0,
            "subset": row["leave_one_out"],
            "stack": 1.0,
            "optimistic": False,
            "why": "The base judge stands in: the weighted vote was right on 4 of 4 dev pairs, "
            "the base judge on 4; at least 0.8 more are required.",
        }
        assert 0 < row["p_over_base"] <= 1
        assert row["error_code"] == ""
    stored = PreferenceSet.objects.filter(control="NONE").order_by("pk")
    assert [one.dev_accuracy for one in stored] == [
        row["dev_accuracy"] for row in found["scenarios"]
    ]


def test_several_annotators_share_one_object():
    dataset, _ = make_study(comparisons=8)
    other = make_rater(dataset, "bea")
    for comparison in Comparison.objects.all():
        # The shorter, so that another than the base judge stands in.
        is_long = comparison.response_a.text != "Short."
        label_pair(comparison, other, "B" if is_long else "A")
    found = run_json("distil", "--dataset", dataset.slug)
    assert found["annotator"] is None
    assert [row["annotator"] for row in found["scenarios"]] == ["ann", "bea"]
    judged = run_json("judge", "--dataset", dataset.slug)
    assert judged["judged"] == Judgment.objects.filter(run__kind="TEST").count() > 0
    assert len(judged["runs"]) == 2
    heard = {"drawn": 1, "of": 1}
    assert [one.config["others"] for one in JudgeRun.objects.filter(kind="TEST")] == [heard, heard]
    alone = run_json("judge", "--dataset", dataset.slug, "--no-control")
    assert alone["judged"] < judged["judged"]
    exported = run("export_records", "judgments", "--dataset", dataset.slug)[0].splitlines()
    controls = [(row["run"], row["control"]) for row in map(json.loads, exported)]
    assert {key for key, control in controls if control == "OTHER"} == {judged["runs"][0]}
    # The base judge stands in for ann, and is nobody's control.


def test_judge_counts_what_it_judged():
    dataset, _ = make_study(comparisons=8)
    run("distil", "--dataset", dataset.slug, "--no-control", "--dev", "2")
    found = run_json("judge", "--dataset", dataset.slug)
    rows = Judgment.objects.filter(run__kind="TEST")
    assert found == {
        "judged": rows.count(),
        "failed": 0,
        "unparseable": 0,
        "calls": 0,
        "second_tries": 0,
        "cost": None,
        "errors": {},
        "said": {},
        "runs": [JudgeRun.objects.get(kind="TEST").pk],
    }
    assert set(rows.values_list("comparison", flat=True)) < set(
        Comparison.objects.values_list("pk", flat=True)
    )
    assert rows.values("comparison").distinct().count() == 6


def test_people_get_lines():
    dataset, _ = make_study(comparisons=8)
    make_rater(dataset, "silent")
    lines = run("distil", "--dataset", dataset.slug)[0].splitlines()
    assert lines[0].startswith("ann (run ")
    assert lines[1].startswith("  scenario 0: 4 dev comparisons, ")
    assert " of 6 columns selected; agreement on dev " in lines[1]
    (row,) = distilled_scenarios(JudgeRun.objects.get().pk)
    assert not row.used
    assert lines[1].endswith(
        f"leave-one-out {row.leave_one_out:.3f}, base judge {row.base_accuracy:.3f} "
        f"(p {row.p_over_base:.3f}), p against chance {row.p_value:.3f}"
    )
    assert lines[2:] == [
        "    The base judge stands in: the weighted vote was right on 4 of 4 dev pairs, the base "
        "judge on 4; at least 0.8 more are required.",
        *(
            f"    {column}: {text or 'no preference'}"
            for column, text in zip(row.selected, row.texts, strict=True)
        ),
    ]
    judged = run("judge", "--dataset", dataset.slug)[0].splitlines()
    assert judged[0].startswith("judged: ")
    assert {"cost: -", "errors: -"} < set(judged)
    assert judged[-1] == f"runs: {JudgeRun.objects.order_by('pk').last().pk}"


def test_the_base_judge_alone_needs_no_distillation():
    dataset, _ = make_study(comparisons=8)
    found = run_json("judge", "--dataset", dataset.slug, "--preferences", "none")
    assert found["judged"] == 8 * 2


def test_another_annotators_sets_may_be_tried():
    dataset, _ = make_study(comparisons=8)
    other = make_rater(dataset, "bea")
    for comparison in Comparison.objects.all():
        label_pair(comparison, other, "A")
    run("distil", "--dataset", dataset.slug, "--annotator", "ann")
    found = run_json(
        "judge", "--dataset", dataset.slug, "--annotator", "bea", "--preferences", "of:ann"
    )
    stored = JudgeRun.objects.get(pk=found["runs"][0])
    assert (stored.annotator, stored.config["sets_of"]) == (other, f"{dataset.slug}:ann")


def test_an_endpoint_distils_and_judges_and_its_replies_are_paid_once():
    dataset, _ = make_study(comparisons=8)
    with FakeLlm(rule="first") as server:
        endpoint = make_endpoint(base_url=server.base_url)
        options = ("--dataset", dataset.slug, "--judge", endpoint.name)
        found = run_json("distil", *options)
        first = server.stats()["calls"]
        judged = run_json("judge", *options)
        calls = server.stats()["calls"]
        run("distil", *options)
        assert server.stats()["calls"] == calls
    assert "longer" in found["scenarios"][0]["preferences"][0]
    assert found["scenarios"][0]["dev_accuracy"] == 1.0
    assert (judged["calls"], judged["unparseable"]) == (calls - first, 0)
    # Equal questions (two columns with one text) share a reply.
    assert 0 < judged["calls"] <= judged["judged"]


def test_replies_without_a_verdict_are_counted_and_the_status_is_1_where_there_are_no_others():
    dataset, _ = make_study(comparisons=8)
    with FakeLlm(faults={"garbage": 1.0}) as server:
        endpoint = make_endpoint(base_url=server.base_url)
        with pytest.raises(CommandError, match="verdict:unparseable") as raised:
            run(
                "judge",
                "--dataset",
                dataset.slug,
                "--preferences",
                "none",
                "--judge",
                endpoint.name,
            )
    assert raised.value.returncode == 1
    assert set(Judgment.objects.values_list("status", flat=True)) == {"UNPARSEABLE"}


def test_an_endpoint_that_refuses_ends_with_1():
    dataset, _ = make_study(comparisons=8)
    with FakeLlm(faults={"401": 1.0}) as server:
        endpoint = make_endpoint(base_url=server.base_url)
        with pytest.raises(CommandError, match="llm:refused-key: HTTP 401") as raised:
            run("distil", "--dataset", dataset.slug, "--judge", endpoint.name)
    assert raised.value.returncode == 1


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("distil", ["--dataset", "none"], "dataset:unknown: no dataset 'none'; known datasets: "),
        ("judge", ["--dataset", "none"], "dataset:unknown: no dataset 'none'; known datasets: "),
        ("distil", ["--dataset", "SLUG", "--annotator", "zoe"], "annotator:unknown"),
        ("distil", ["--dataset", "SLUG", "--judge", "zoe"], "judge:unknown"),
        ("distil", ["--dataset", "SLUG", "--dev", "0"], "--dev must be 1 or more"),
        ("judge", ["--dataset", "SLUG"], "run:not-distilled"),
        ("judge", ["--dataset", "SLUG", "--annotator", "ann"], "run:not-distilled"),
        ("judge", ["--dataset", "SLUG", "--preferences", "all"], "--preferences must be"),
        ("judge", ["--dataset", "SLUG", "--preferences", "of:zoe"], "annotator:unknown"),
    ],
)
def test_wrong_arguments_end_with_2_and_one_line(name, options, message):
    dataset, _ = make_study(comparisons=4)
    options = [dataset.slug if option == "SLUG" else option for option in options]
    with pytest.raises(CommandError, match=message) as raised:
        run(name, *options)
    assert raised.value.returncode == 2
    assert "\n" not in str(raised.value)


def test_a_dataset_without_labels_has_nothing_to_distil():
    with pytest.raises(CommandError, match="run:no-labels") as raised:
        run("distil", "--dataset", make_dataset().slug)
    assert raised.value.returncode == 2


@pytest.mark.parametrize(
    ("prompt", "kind", "judged"),
    [("pairwise", "TEST", 12), ("thought", "TEST", 12), ("single", "GRADE", 6)],
)
def test_a_judge_may_be_asked_in_another_way(prompt, kind, judged):
    dataset, _ = make_study(comparisons=6)
    with FakeLlm(rule="longer") as server:
        name = make_endpoint(base_url=server.base_url).name
        asked = ("--dataset", dataset.slug, "--judge", name, "--prompt", prompt)
        estimate = run_json("judge", *asked, "--estimate")
        found = run_json("judge", *asked)
    assert (found["judged"], found["failed"], found["unparseable"]) == (judged, 0, 0)
    assert found["calls"] == estimate["calls"] > 0
    assert JudgeRun.objects.get(pk=found["runs"][0]).kind == kind


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--prompt", "pairwise"), "judge:no-prompts"),
        (("--prompt", "pairwise", "--preferences", "of:ann"), "run:prompt-without-sets"),
        (("--prompt", "reference", "--judge", "fake"), "run:no-references"),
        (("--prompt", "reward", "--judge", "fake"), "judge:no-scores"),
        (("--prompt", "single", "--judge", "reward"), "judge:only-scores"),
    ],
)
def test_what_a_judge_cannot_be_asked_ends_with_2(options, code):
    dataset, _ = make_study()
    make_endpoint(name="fake")
    make_endpoint(name="reward", has_scores=True)
    with pytest.raises(CommandError, match=code) as refused:
        run("judge", "--dataset", dataset.slug, *options)
    assert refused.value.returncode == 2
    assert not JudgeRun.objects.exists()
