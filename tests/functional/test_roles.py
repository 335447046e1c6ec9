"""Distiller, selecting judge and applying judge are three; so are memory builder and turn judge."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotation.core.refusals import Refused
from benchmark.services.satisfaction_evaluation import with_memory_judge
from judging.core.rules import SatisfactionSettings, Variant
from judging.exports.pairwise import JUDGMENTS, PREFERENCE_SETS
from judging.models import JudgeRun, LlmCall, Preference, SatisfactionJudgment, UserMemory
from judging.queries.runs import run_progress
from judging.services.endpoints import set_budget
from judging.services.estimates import estimate
from judging.services.foreground import run_to_end
from judging.services.kinds import start
from tests.factory import make_endpoint
from tests.fake_llm import Act, FakeLlm
from tests.judging.ratings import make_ratings
from tests.judging.study import (
    make_study,
    planned_distillation,
    planned_satisfaction,
    start_distillation,
    start_test_run,
)

pytestmark = pytest.mark.django_db


def run_json(name, *options):
    out = StringIO()
    call_command(name, *options, "--json", stdout=out, stderr=StringIO())
    return json.loads(out.getvalue())


@pytest.fixture
def three():
    """Three servers with an endpoint each: one that distils, two that judge by the longer."""
    with FakeLlm() as one, FakeLlm(rule="first") as two, FakeLlm(rule="longer") as three:
        servers = {"writer": one, "chooser": two, "applier": three}
        for name, server in servers.items():
            make_endpoint(name=name, base_url=server.base_url, model=name)
        yield servers


def asked(servers):
    """How many calls each server had."""
    return {name: len(server.bodies) for name, server in servers.items()}


def test_each_is_asked_for_its_part_alone_and_every_page_says_who(three):
    dataset, _rater = make_study(comparisons=12)
    slug = ["--dataset", dataset.slug]
    (found,) = run_json("distil", *slug, "--distiller", "writer", "--judge", "chooser")["scenarios"]
    # Six dev pairs of twelve conversations. Half of the control's labels are not flipped, and ask
    # for what is stored: 6 + 1 real preferences, 3 + 1 of the control.
    assert (found["judge"], found["distiller"], found["dev"]) == ("chooser", "writer", 6)
    assert asked(three)["writer"] == 11
    assert {body["model"] for body in three["chooser"].bodies} == {"chooser"}
    assert all("<response_a>" in str(body["messages"]) for body in three["chooser"].bodies)
    written = set(Preference.objects.exclude(kind="EMPTY").values_list("judge", flat=True))
    assert written == {"writer"}

    # A second judge that selects is given the same texts: the distiller is not asked again.
    before = asked(three)
    planned = estimate(
        planned_distillation(dataset=dataset, annotator=_rater, judge="applier", writer="writer")
    )
    assert next((one.stage, one.calls) for one in planned.stages) == ("distil", 0)
    run_json("distil", *slug, "--distiller", "writer", "--judge", "applier")
    assert asked(three)["writer"] == before["writer"]

    judged = run_json("judge", *slug, "--judge", "applier", "--selected-by", "chooser")
    run = JudgeRun.objects.get(pk=judged["runs"][0])
    assert (run.judge, run.parent.judge, run.parent.writer) == ("applier", "chooser", "writer")
    assert (run.config["selected_by"], run.config["distiller"]) == ("chooser", "writer")
    own = run_json("judge", *slug, "--judge", "applier", "--again")
    assert JudgeRun.objects.get(pk=own["runs"][0]).parent.judge == "applier"

    (read,) = run_json("report", *slug)["runs"]
    assert (read["judge"], read["selected_by"], read["distiller"]) == (
        "applier",
        "applier",
        "writer",
    )
    rows = [row for row in JUDGMENTS.rows(dataset) if row["run"] == run.pk]
    assert {(row["judge"], row["selected_by"], row["distiller"]) for row in rows} == {
        ("applier", "chooser", "writer")
    }
    assert {row["distiller"] for row in PREFERENCE_SETS.rows(dataset)} == {"writer"}


def test_sets_that_could_be_two_are_refused_until_they_are_named(three):
    dataset, rater = make_study(comparisons=12)
    for judge, writer in (("chooser", "writer"), ("chooser", None), ("writer", None)):
        run_to_end(
            start_distillation(dataset=dataset, annotator=rater, judge=judge, writer=writer).pk
        )

    def applied(**named):
        return start_test_run(dataset=dataset, annotator=rater, **named).parent

    with pytest.raises(Refused) as several:
        applied(judge="chooser")
    assert several.value.code == "run:which-sets"
    assert "chooser (distilled by chooser), chooser (distilled by writer)" in str(several.value)
    assert applied(judge="chooser", writer="writer").writer == "writer"
    assert applied(judge="chooser", writer="chooser").writer == ""
    with pytest.raises(Refused, match="writer"):  # it selected none, and two judges did
        applied(judge="applier")
    assert applied(judge="applier", selected_by="writer").judge == "writer"
    with pytest.raises(Refused) as none:
        applied(judge="chooser", selected_by="applier")
    assert none.value.code == "run:not-distilled"
    assert applied().judge == "writer"  # nobody is named: the newest


def test_the_embedded_judge_reads_what_it_wrote_alone(three):
    dataset, rater = make_study(comparisons=12)
    with pytest.raises(Refused) as refused:
        planned_distillation(dataset=dataset, annotator=rater, judge="lexical", writer="writer")
    assert refused.value.code == "run:writer-not-read"
    run_to_end(
        start_distillation(dataset=dataset, annotator=rater, judge="chooser", writer="lexical").pk
    )
    assert asked(three)["writer"] == 0
    assert set(LlmCall.objects.values_list("model", flat=True)) == {"chooser"}
    with pytest.raises(CommandError) as by_file:
        run_json(
            "distil",
            "--dataset",
            dataset.slug,
            "--judge",
            "chooser",
            "--distiller",
            "lexical",
            "--batch-out",
            "/dev/null",
        )
    assert "batch:no-chat" in str(by_file.value)


def test_one_budget_holds_for_both_endpoints_and_each_has_its_prices(three):
    dataset, rater = make_study(comparisons=12)
    prices = {"input_price": "1.0", "output_price": "2.0"}
    for name, server in three.items():
        make_endpoint(name=f"{name}-2", base_url=server.base_url, model=name, **prices)
    given = {"dataset": dataset, "annotator": rater, "judge": "chooser-2"}
    with pytest.raises(Refused) as unpriced:
        start_distillation(**given, writer="writer", budget=1)
    assert unpriced.value.code == "budget:no-prices"
    run = start_distillation(**given, writer="writer-2", budget=1)
    costs = estimate(run)
    assert costs.writer is not None
    assert costs.cost_at_most == sum(one.cost_at_most for one in costs.stages)
    assert all(one.cost_at_most > 0 for one in costs.stages)
    done = run_to_end(run.pk)
    paid = run_progress(run.pk)
    assert done.status == "DONE"
    assert paid.can_have_budget
    assert float(done.held) == pytest.approx(paid.cost)
    by_endpoint = set(LlmCall.objects.filter(run=run).values_list("endpoint__name", flat=True))
    assert by_endpoint == {"writer-2", "chooser-2"}
    set_budget(run.pk, None)


def test_a_distiller_that_is_down_is_named(three):
    dataset, rater = make_study(comparisons=12)
    three["writer"].script.extend([Act(status=401)] * 50)
    run = start_distillation(dataset=dataset, annotator=rater, judge="chooser", writer="writer")
    done = run_to_end(run.pk)
    assert (done.status, done.error_code) == ("FAILED", "run:endpoint-down")
    assert done.error_detail.startswith("writer: llm:refused-key")
    assert (asked(three)["chooser"], done.stage) == (0, "distil")


def test_memories_are_built_by_one_and_turns_scored_by_another(three):
    dataset = make_ratings()
    planned = planned_satisfaction(dataset=dataset, judge="chooser", writer="writer")
    run = run_to_end(start(planned).pk)
    assert run.status == "DONE"
    built = UserMemory.objects.filter(run=run)
    assert asked(three) == {
        "writer": built.count(),
        "chooser": SatisfactionJudgment.objects.filter(run=run).count(),
        "applier": 0,
    }
    assert set(built.values_list("judge", flat=True)) == {"writer"}
    # Another judge of turns reads memories that cost nothing more.
    again = planned_satisfaction(dataset=dataset, judge="applier", writer="writer")
    run_to_end(start(again).pk)
    assert asked(three)["writer"] == built.count()
    assert (
        planned_satisfaction(
            dataset=dataset,
            judge="chooser",
            writer="writer",
            settings=SatisfactionSettings(variant=Variant.NO_MEMORY),
        ).writer
        == ""
    )
    with pytest.raises(Refused, match="wrote itself"):
        planned_satisfaction(dataset=dataset, judge="lexical", writer="writer")


def test_an_evaluator_is_named_with_who_builds_its_memories():
    assert [with_memory_judge(name, "b") for name in NAMES] == [
        "llm@b",
        "llm@c:two-stage",
        "llm@b:two-stage",
        "llm:no-memory",
        "learned+llm@b",
        "lexical",
        "learned",
        "global_mean",
        "stored",
        "b",
    ]
    assert with_memory_judge("llm", "") == "llm"


NAMES = (
    "llm",
    "llm@c:two-stage",
    "llm:two-stage",
    "llm:no-memory",
    "learned+llm",
    "lexical",
    "learned",
    "global_mean",
    "stored",
    "b",
)
