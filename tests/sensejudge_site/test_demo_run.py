"""The whole demo, once: known preferences are recovered, and nothing is done twice."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from annotation.models import Study
from benchmark.queries.trust import report
from judging.core.runs import StageName
from judging.models import JudgeRun, Judgment, Preference, RunStatus, SatisfactionJudgment
from judging.services.run_control import cancel
from sensejudge_site.demo.load import judge_everything, load
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def demo():
    """Run the command; what it printed, and what it said meanwhile."""
    out, said = StringIO(), StringIO()
    call_command("demo", stdout=out, stderr=said)
    return out.getvalue(), said.getvalue()


def counts():
    models = (JudgeRun, Judgment, Preference, SatisfactionJudgment, Study)
    return [model.objects.count() for model in models]


def cut_short(run):
    """Leave a run as a killed process would: half its answers missing."""
    done = Judgment.objects.filter(run=run).order_by("pk").values_list("pk", flat=True)
    Judgment.objects.filter(pk__in=list(done[: len(done) // 2])).update(
        status="PENDING", verdict=None, log_odds=None
    )
    JudgeRun.objects.filter(pk=run.pk).update(
        status=RunStatus.RUNNING,
        stage=StageName.JUDGE,
        finished_at=None,
        heartbeat_at=timezone.now() - timedelta(hours=1),
    )


def test_the_whole_demo_once_and_again_after_it_was_cut_short(settings):
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    printed, said = demo()
    assert "Learning how concise judges ..." in said
    assert "with the password sensejudge-demo" in printed
    assert "structured-1" in printed
    assert set(JudgeRun.objects.values_list("status", flat=True)) == {RunStatus.DONE}

    # The rules are known: each is followed by nine labels in ten, and half is what a coin gets.
    found = report("demo")
    rows = {row.annotator: asdict(row) for row in found.rows if row.scenario is None}
    assert set(rows) == {"concise", "structured", "warm"}
    for row in rows.values():
        assert row["n"] > 90
        assert row["own_low"] > 0.6
        if row["stands_in"] == "base":  # beside which no control is used
            assert row["shuffled"] is None
        else:
            assert row["own"] > row["shuffled"] + 0.1
    assert [row["stands_in"] for row in rows.values()] == ["stack", "selected", "base"]
    assert rows["concise"]["gain_low"] > 0.2
    assert rows["structured"]["gain_low"] > 0.1
    assert rows["warm"]["human_position_bias"] > 0.05
    # Their tastes differ, and their judges are theirs.
    claims = {row.annotator: row for row in found.personal}
    assert [claims[name].claim for name in ("concise", "structured")] == ["SHOWN", "SHOWN"]
    assert claims["concise"].human_agreement < 0.6
    # The fourth model, which nobody compared: 114 pairs of conversations not learned from.
    assert "Judging thorough-1 on behalf of warm ..." in said
    told = re.findall(
        r"(\w+) +(\d+) +(\d+) % \[.*?\] +(\d+) % \[", printed.split("thorough-1 arrived last")[1]
    )
    assert [name for name, *_figures in told] == list(rows)
    for name, n, base, judge in told:
        assert 90 < int(n) <= 114
        assert int(judge) > (int(base) + 10 if name != "warm" else 60)
    out = StringIO()
    call_command("report", dataset="demo", stdout=out)
    assert "concise, weighted vote of several ways" in out.getvalue()
    told = out.getvalue().split("over others")[1].splitlines()
    assert [line.split()[0] for line in told if line.endswith("  personal")] == [
        "concise",
        "structured",
    ]
    assert found.satisfaction is not None
    assert (found.satisfaction.users, found.satisfaction.turns) == (4, 186)

    before = counts()
    interrupted = JudgeRun.objects.filter(kind="TEST", annotator__display_name="concise").earliest(
        "pk"
    )
    cut_short(interrupted)
    again, said = demo()
    assert "Judging on behalf of concise ..." in said
    assert "Learning" not in said
    assert again == printed
    assert counts() == before


def test_a_site_for_others_is_refused(settings):
    settings.ALLOWED_HOSTS = ["example.org"]
    with pytest.raises(CommandError, match="demo:not-local") as refused:
        demo()
    assert refused.value.returncode == 2


def test_a_run_that_somebody_stops_ends_the_demo_and_the_next_starts_anew(settings):
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    dataset = load(now=timezone.now())

    def stop_at_the_first_answers(_what):
        return lambda _answers: cancel(JudgeRun.objects.latest("pk").pk)

    for times in (1, 2):
        with refuses("run:failed", match="learning how concise judges"):
            judge_everything(dataset, stop_at_the_first_answers)
        assert JudgeRun.objects.filter(status=RunStatus.CANCELLED).count() == times
