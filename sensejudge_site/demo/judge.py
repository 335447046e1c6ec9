"""Judging the demo study with the embedded judge, in this process; what is finished stays so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from annotation.core.naming import rater_username
from annotation.core.refusals import Refused
from annotation.models import Dataset, User
from judging.models import JudgeRun, RunKind, RunStatus
from judging.queries.runs import UNFINISHED
from judging.services.foreground import run_to_end
from judging.services.judges import LEXICAL
from judging.services.pairwise_runs import start_distillation, start_test_run
from judging.services.satisfaction_runs import start_satisfaction_run
from sensejudge_site.demo.generate import SLUG
from sensejudge_site.demo.personas import PERSONAS

_WANTED: Final = (RunStatus.DONE, *UNFINISHED)

Watch = Callable[[str], Callable[[int], None]]
"""Told what begins; gives back what each commit tells how many answers it wrote."""


def judge_everything(dataset: Dataset, watch: Watch) -> None:
    """Distil and judge for every simulated annotator, then score what the raters rated.

    Raises:
        Refused: a run ended without success.
    """
    for persona in PERSONAS:
        annotator = User.objects.get(username=rater_username(SLUG, persona.name))
        run = _latest(dataset, RunKind.DISTIL, annotator)
        if run is None:
            run = start_distillation(dataset=dataset, annotator=annotator, judge=LEXICAL)
        _finish(run, f"learning how {persona.name} judges", watch)
        run = _latest(dataset, RunKind.TEST, annotator)
        if run is None:
            run = start_test_run(dataset=dataset, annotator=annotator, judge=LEXICAL)
        _finish(run, f"judging on behalf of {persona.name}", watch)
    run = _latest(dataset, RunKind.SATISFACTION, None)
    if run is None:
        run = start_satisfaction_run(dataset=dataset, judge=LEXICAL)
    _finish(run, "scoring satisfaction turn by turn", watch)


def _latest(dataset: Dataset, kind: RunKind, annotator: User | None) -> JudgeRun | None:
    """The latest run of a kind, if it is done or can go on."""
    runs = JudgeRun.objects.filter(
        dataset=dataset, kind=kind, annotator=annotator, judge=LEXICAL, status__in=_WANTED
    )
    return runs.order_by("-pk").first()


def _finish(run: JudgeRun, what: str, watch: Watch) -> None:
    if run.status == RunStatus.DONE:
        return
    run = run_to_end(run.pk, observer=watch(what))
    if run.status != RunStatus.DONE:
        raise Refused("run:failed", f"{what}: {run.error_code} {run.error_detail}".rstrip())
