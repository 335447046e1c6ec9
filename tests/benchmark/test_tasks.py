from __future__ import annotations

import pytest

from benchmark import tasks
from benchmark.core.ablation import Vary
from benchmark.services.ablation_runs import AblationRequest, plan_ablation
from benchmark.submission import submit
from judging.models import JudgeRun, RunUnit
from tests.judging.study import make_study
from tests.judging.test_tasks import sent  # noqa: F401 - a fixture

pytestmark = pytest.mark.django_db


def planned():
    dataset, rater = make_study()
    return plan_ablation(AblationRequest(dataset, [rater], Vary.PREFERENCES, ["lexical"]))


def test_workers_are_told_once_the_units_are_committed(
    sent,  # noqa: F811
    django_capture_on_commit_callbacks,
):
    with django_capture_on_commit_callbacks(execute=True):
        run = submit(planned())
        again = submit(planned())
        JudgeRun.objects.filter(pk=again.pk).update(status="RUNNING")
    assert again.pk != run.pk  # of another dataset
    assert sent() == [
        ("dispatch_run", {"run_id": run.pk, "generation": 0}),
        ("dispatch_run", {"run_id": again.pk, "generation": 0}),
    ]


def test_a_run_goes_on_message_by_message_to_its_end(sent):  # noqa: F811
    run = submit(planned())
    tasks.dispatch_run(run_id=run.pk, generation=0)
    units = list(RunUnit.objects.order_by("pk").values_list("pk", flat=True))
    seen = []
    while messages := sent():
        ((_name, arguments),) = messages
        seen.append(arguments["first"])
        tasks.run_batch(**arguments)
    run.refresh_from_db()
    assert (run.status, run.reports.count()) == ("DONE", 1)
    # A unit has a message a stage of its run at least; the last computes the report.
    assert list(dict.fromkeys(seen)) == [*units, 0]
    tasks.dispatch_run(run_id=run.pk, generation=run.generation)
    assert sent() == []
