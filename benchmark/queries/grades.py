"""Grades of single responses by model: the figures of one run, and the responses behind them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Count, Exists, OuterRef, QuerySet, Subquery
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce
from django.utils.text import Truncator

from annotation.core.choices import JudgmentStatus
from annotation.core.refusals import Refused
from annotation.queries.pairing import candidate_name
from benchmark.core.grades import GradedResponse, ModelGrades, model_grades
from benchmark.queries.annotators import with_asked
from benchmark.queries.choices import (
    DatasetChoice,
    check_judge,
    dataset_of,
    datasets,
    picked_dataset,
    scenarios,
)
from judging.core.structured import GRADE_SCALE
from judging.models import JudgeRun, ResponseScore, RunStatus

ROWS_A_PAGE: Final = 50
_OPENING: Final = 160


class GradesQuestion(NamedTuple):
    """A reader's choices; empty ones mean the first dataset and the run with most grades."""

    dataset: str = ""
    run: int | None = None


class GradesPage(NamedTuple):
    """The grades of one run by model, with what else could be asked.

    `unnamed` responses have no model and count nowhere; `scenarios` and `turns` have a grade.
    """

    datasets: tuple[DatasetChoice, ...]
    dataset: DatasetChoice | None
    runs: tuple[JudgeRun, ...] = ()
    run: JudgeRun | None = None
    models: tuple[ModelGrades, ...] = ()
    scenarios: tuple[str, ...] = ()
    turns: tuple[int, ...] = ()
    unnamed: int = 0

    def records(self) -> list[dict[str, object]]:
        """A row for each mean of the page."""
        said = {"judge": self.run and self.run.judge, "run": self.run and self.run.pk}
        return [said | record for each in self.models for record in each.records()]


class GradeFilter(NamedTuple):
    """Which responses of a model to list; empty fields leave nothing out.

    `show` is a status: DONE for the graded ones.
    """

    model: str
    scenario: str = ""
    turn: int | None = None
    show: JudgmentStatus | None = None

    def takes(self, row: GradedResponse) -> bool:
        """Whether a response is among them."""
        return (
            row.model == self.model
            and self.scenario in {"", row.scenario}
            and self.turn in {None, row.turn}
            and self.show in {None, row.status}
        )


def grades_page(question: GradesQuestion) -> GradesPage:
    """The figures of a question.

    Raises:
        Refused: something asked for does not exist.
    """
    page = _chosen(question)
    if page.dataset is None or page.run is None:
        return page
    rows = _graded(page.run.pk)
    named = [row for row in rows if row.model]
    order = {each.name: place for place, each in enumerate(scenarios(page.dataset))}
    named.sort(key=lambda row: order[row.scenario])
    return page._replace(
        models=model_grades(named),
        scenarios=tuple(dict.fromkeys(row.scenario for row in named)),
        turns=tuple(sorted({row.turn for row in named})),
        unnamed=len(rows) - len(named),
    )


def dataset_grades(dataset: str, *, judge: str = "") -> GradesPage:
    """The grades of the run with most of a dataset, or of one judge; of equals the newest.

    Raises:
        Refused: there is no such dataset, nobody graded in it, or not that judge.
    """
    runs = _runs(dataset_of(dataset))
    if not runs:
        command = f"`manage.py judge --dataset {dataset} --preferences none --prompt single`"
        message = f"no finished run graded responses of {dataset}; run {command}"
        raise Refused("leaderboard:not-judged", message)
    if judge:
        check_judge(judge, (run.judge for run in runs))
    chosen = next(run for run in runs if judge in {"", run.judge})
    return grades_page(GradesQuestion(dataset, chosen.pk))


def grade_rows(
    question: GradesQuestion, wanted: GradeFilter, *, page: str
) -> tuple[GradesPage, list[tuple[ResponseScore, int]], Page[GradedResponse]]:
    """The page asked about, and the grades behind a figure with their turns, a page at a time.

    Raises:
        Refused: something asked for does not exist, or the run graded no such model.
    """
    chosen = _chosen(question)
    rows = _graded(chosen.run.pk) if chosen.run else []
    if all(row.model != wanted.model for row in rows):
        raise Refused("benchmark:unknown-choice", f"no grades of {wanted.model!r}")
    own = sorted(filter(wanted.takes, rows), key=lambda row: (row.session, row.turn, row.response))
    shown = Paginator(own, ROWS_A_PAGE).get_page(page)
    scores = ResponseScore.objects.filter(
        run=chosen.run, scale=GRADE_SCALE, response__in=[row.response for row in shown]
    )
    found = {
        score.response_id: score
        for score in scores.select_related("response__turn__session__scenario", "call")
    }
    return chosen, [(found[row.response], row.turn) for row in shown], shown


def opening(text: str | None) -> str:
    """The beginning of a text."""
    return Truncator(text or "").chars(_OPENING)


def _chosen(question: GradesQuestion) -> GradesPage:
    wanted = set(_graded_runs().order_by().values_list("dataset", flat=True).distinct())
    known = tuple(each for each in datasets() if each.id in wanted)
    known = with_asked(known, question.dataset)
    dataset = picked_dataset(known, question.dataset)
    runs = _runs(dataset) if dataset else ()
    run = next((each for each in runs if question.run in {None, each.pk}), None)
    if run is None and question.run is not None:
        raise Refused("benchmark:unknown-choice", f"run {question.run} graded nothing here")
    return GradesPage(known, dataset, runs, run)


def _graded_runs() -> QuerySet[JudgeRun]:
    scores = ResponseScore.objects.filter(run=OuterRef("pk"), scale=GRADE_SCALE)
    return JudgeRun.objects.filter(Exists(scores), status=RunStatus.DONE)


def _runs(dataset: DatasetChoice) -> tuple[JudgeRun, ...]:
    """Returns the runs with grades in a dataset, most grades first, then the newest."""
    done = ResponseScore.objects.filter(
        run=OuterRef("pk"), scale=GRADE_SCALE, status=JudgmentStatus.DONE
    )
    counted = done.order_by().values("run").annotate(n=Count("pk")).values("n")
    rows: Any = _graded_runs().filter(dataset=dataset.id)
    rows = rows.annotate(prompt=KT("config__prompt"), n=Coalesce(Subquery(counted), 0))
    return tuple(rows.defer("config").order_by("-n", "-pk"))


def _graded(run: int) -> list[GradedResponse]:
    """Every response that a run graded or was to grade."""
    rows: Iterable[Any] = (
        ResponseScore.objects.filter(run=run, scale=GRADE_SCALE)
        .exclude(status=JudgmentStatus.PENDING)
        .annotate(candidate=candidate_name("response__"))
        .values_list(
            "candidate",
            "response__turn__session__scenario__name",
            "response__turn__session_id",
            "response__turn__position",
            "status",
            "value",
            "response_id",
        )
    )
    return [
        GradedResponse(model, scenario, session, place + 1, JudgmentStatus(status), value, response)
        for model, scenario, session, place, status, value, response in rows
    ]
