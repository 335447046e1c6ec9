"""What can be asked for: datasets, annotators, runs and scenarios that have something to show."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeVar

from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
    Value,
    When,
)
from django.db.models.fields.json import KT
from django.db.models.functions import Coalesce

from annotation.core.choices import JudgmentStatus
from annotation.core.refusals import Refused
from annotation.models import Dataset, PairwiseLabel, SatisfactionLabel, Scenario
from annotation.queries.datasets import dataset_of as annotation_dataset_of
from annotation.queries.datasets import is_archived
from annotation.queries.participants import annotators as annotation_annotators
from benchmark.core.ablation import RUN_KIND
from judging.core.rules import JudgePrompt, SelectionMode
from judging.core.runs import REGISTERED
from judging.models import JudgeRun, Judgment, PreferenceSet, RunKind, RunStatus, RunUnit
from judging.queries.configurations import decides_by_log_odds
from judging.queries.runs import UNFINISHED

VERDICT_RUNS = (RunKind.TEST, RunKind.GRADE, RunKind.RECORDED)
"""The runs whose judgments are fresh verdicts, not those that a selection has seen."""

STANDING: Final = Q(
    ~Exists(RunUnit.objects.filter(child=OuterRef("pk"), reused=False, run__kind=RUN_KIND))
)
"""Of such runs: no step of a failure protocol, whose prompts judge only what has a gold winner.

What the protocol found there already stands as it did before."""
OF_OWN_SETS: Final = Q(parent=None) | Q(parent__annotator=F("annotator"))
"""Condition: a run applied no preferences but those of the annotator that it stands in for."""
WITHOUT_SETS: Final = Q(config__sets_of__isnull=True) | Q(config__sets_of=None)
"""Of runs: no selected preferences were applied."""
AS_PAPER: Final = Q(config__mode=SelectionMode.PAPER.value)
"""Condition: a run applied preferences selected in paper mode."""
NOT_AS_PAPER: Final = WITHOUT_SETS | Q(config__mode__isnull=True) | ~AS_PAPER
"""Condition: a run applied no preferences selected in paper mode."""
RUBRICS: Final = tuple(prompt.value for prompt in JudgePrompt if prompt is not JudgePrompt.PERSONAL)
"""The prompts that take no preferences, as a run's configuration names them."""
# A null in JSON reads as the text "null" on SQLite.
_SETS_OF: Final = Case(
    When(WITHOUT_SETS, then=Value(None)),
    default=KT("config__sets_of"),
    output_field=TextField(),
)

Row = TypeVar("Row", "DatasetChoice", "AnnotatorChoice", "RunChoice", "ScenarioChoice")


@dataclass(frozen=True, slots=True)
class DatasetChoice:
    """A dataset by name."""

    id: int
    slug: str
    name: str
    simulated: bool


@dataclass(frozen=True, slots=True)
class AnnotatorChoice:
    """Somebody who labelled, by name within the dataset.

    `judged` says that a judge gave verdicts in their stead.
    """

    id: int
    name: str
    judged: bool


@dataclass(frozen=True, slots=True)
class RunChoice:
    """A run that gave verdicts on test comparisons, under the preferences of `sets_of` or none.

    `prompt` names how the judge was asked, "" where the run does not say; `annotator` is None for a
    run in nobody's stead; `by_log_odds` says that its verdicts are read by l*. `selected_by` is the
    judge that selected those preferences, `writer` who distilled them where that judge did not;
    `mode` names how they were selected, "" where none were; `stacked` says that a weighted vote
    stands in for the annotator, beside that set; `unscored` that it judged nothing that counts for
    agreement with its annotator. What is read beside it is of no run after `until`. `covers` counts
    the comparisons with a verdict, of those by which runs were put in order; 0 if they were not.
    """

    id: int
    dataset: int
    judge: str
    kind: RunKind
    status: RunStatus
    parent: int | None
    sets_of: str | None
    created_at: datetime
    prompt: str = ""
    annotator: int | None = None
    by_log_odds: bool = False
    selected_by: str = ""
    writer: str = ""
    mode: str = ""
    stacked: bool = False
    unscored: bool = False
    until: int | None = None
    covers: int = 0

    @property
    def is_paper(self) -> bool:
        """Whether its preferences were selected as the paper's released code does."""
        return self.mode == SelectionMode.PAPER

    @property
    def distiller(self) -> str:
        """Name of the distiller, or "" if no preferences were applied."""
        return self.writer or self.selected_by

    @property
    def has_roles(self) -> bool:
        """Whether it applied what another judge selected or distilled."""
        return {self.selected_by, self.distiller} not in ({""}, {self.judge})


@dataclass(frozen=True, slots=True)
class ScenarioChoice:
    """A scenario of a dataset."""

    id: int
    name: str


def datasets(*, labelled_by: int | None = None) -> tuple[DatasetChoice, ...]:
    """Every dataset, those with the latest run first; or those that one person labelled in.

    An injection check says nothing of the dataset that lends it pairs, and the runs of registered
    kinds only measure what others judged: they do not count, nor do a failure protocol's steps.
    """
    rows = Dataset.objects.all()
    if labelled_by is not None:
        own = {"dataset": OuterRef("pk"), "annotator": labelled_by}
        rows = rows.filter(_pairwise(**own) | _satisfaction(**own))
    judging = JudgeRun.objects.filter(STANDING).exclude(kind__in=[RunKind.CHECK, *REGISTERED])
    latest = judging.filter(dataset=OuterRef("pk")).order_by("-id").values("id")[:1]
    ordered = rows.annotate(latest_run=latest).order_by("-latest_run", "-id")
    found = [DatasetChoice(row.pk, row.slug, row.name, row.simulated) for row in ordered]
    # NULL sorts first on PostgreSQL and last on SQLite; a dataset with a run comes first on both.
    having_run = {row.pk for row in ordered if row.latest_run is not None}
    return tuple(sorted(found, key=lambda row: row.id not in having_run))


def annotators(dataset: DatasetChoice, *, only: int | None = None) -> tuple[AnnotatorChoice, ...]:
    """Who labelled in a dataset, by name; just one person where `only` is given. Three queries."""
    judged = set(
        JudgeRun.objects.filter(dataset=dataset.id, kind__in=VERDICT_RUNS).values_list(
            "annotator_id", flat=True
        )
    )
    known = annotation_annotators(dataset=Dataset.objects.get(pk=dataset.id))
    return tuple(
        AnnotatorChoice(each.id, each.name, each.id in judged)
        for each in sorted(known, key=lambda each: _natural(each.name))
        if only in {None, each.id}
    )


def dataset_of(slug: str) -> DatasetChoice:
    """The dataset of a short name.

    Raises:
        Refused: there is none.
    """
    row = annotation_dataset_of(slug)
    return DatasetChoice(row.pk, row.slug, row.name, row.simulated)


def verdict_runs(dataset: DatasetChoice, annotator: AnnotatorChoice) -> tuple[RunChoice, ...]:
    """The runs that judged comparisons in an annotator's stead, or for everybody.

    The one to read comes first (`best_last`). Runs under somebody else's preferences are no answer
    to a question about this annotator.
    """
    rows = JudgeRun.objects.filter(
        Q(annotator=annotator.id) | Q(annotator=None),
        OF_OWN_SETS,
        STANDING,
        dataset=dataset.id,
        kind__in=VERDICT_RUNS,
    )
    labelled = PairwiseLabel.objects.filter(annotator=annotator.id).values("comparison")
    return run_choices(best_last(rows, among=labelled).reverse())


def check_judge(judge: str, known: Iterable[str]) -> None:
    """Checks that a judge has verdicts in this dataset.

    Raises:
        Refused: it has none; the message names the judges that do.
    """
    judges = sorted(set(known))
    if judge not in judges:
        there = ", ".join(judges) or "none"
        raise Refused(
            "benchmark:unknown-choice",
            f"no verdicts of the judge {judge!r} here; there are: {there}",
        )


class Pin(NamedTuple):
    """What an address names so that no later run changes its figures.

    `until` is the last run that they could be of; None while a run is in progress, whose verdicts
    may yet change them, if none was asked for. `latest` is the dataset's last run. `stopped` are
    runs up to `until` that failed or were cancelled: resumed, they would count.
    """

    until: int | None = None
    latest: int | None = None
    stopped: tuple[int, ...] = ()


NOTHING_PINNED: Final = Pin()


def pin_of(dataset: DatasetChoice, asked: int | None) -> Pin:
    """What pins figures of a dataset, where `asked` is the last run to read, if any. One query."""
    newest = JudgeRun.objects.filter(dataset=dataset.id).order_by("-pk").values("pk")[:1]
    telling = Q(pk=Subquery(newest)) | ~Q(status=RunStatus.DONE)
    rows = JudgeRun.objects.filter(telling, dataset=dataset.id).order_by("pk")
    runs = list(rows.values_list("pk", "status", "kind"))
    latest = runs[-1][0] if runs else None
    under_way = any(status in (*UNFINISHED, RunStatus.BATCH) for _pk, status, _kind in runs)
    until = asked or (None if under_way else latest)
    stopped = (
        pk
        for pk, status, kind in runs
        if status in (RunStatus.FAILED, RunStatus.CANCELLED)
        and kind in (*VERDICT_RUNS, RunKind.RANKING, RunKind.SATISFACTION)
        and until is not None
        and pk <= until
    )
    return Pin(until, latest, tuple(stopped))


def best_last(
    rows: QuerySet[JudgeRun],
    *,
    base_alone: bool = False,
    among: QuerySet[Any, Any] | None = None,
) -> QuerySet[JudgeRun]:
    """Orders runs so that the last one is the one to read figures from.

    A finished run comes before any other, but for those of which nothing counts for agreement;
    among those one that applied preferences (it has the base judge's verdicts as well) before one
    that did not, and those that were selected as the paper's code does between them; then the one
    whose verdicts cover more comparisons. Of equals a generic rubric or grades come last, then the
    newer before the older. Where the base judge alone is asked for, preferences decide only between
    runs that cover as much, and imported verdicts are as good.

    Args:
        rows: the runs.
        base_alone: whether only the base judge's verdicts will be read.
        among: numbers of the comparisons that count; None for all.
    """
    unscored = Q(config__unscored=True, annotator__isnull=False)
    as_good = Q(kind=RunKind.RECORDED) if base_alone else Q(pk__in=[])
    same = Q(pk__isnull=False) if base_alone else WITHOUT_SETS
    return rows.annotate(
        finished=Case(
            When(unscored, then=0),
            When(status=RunStatus.DONE, then=1),
            default=0,
        ),
        applies=Case(
            When(unscored, then=-2), When(same, then=0), When(AS_PAPER, then=1), default=2
        ),
        covers=covered(among),
        way=Case(
            When(as_good, then=1),
            When(Q(config__prompt__in=RUBRICS), then=-1),
            When(WITHOUT_SETS, then=0),
            default=1,
        ),
    ).order_by("finished", "applies", "covers", "way", "id")


def covered(among: QuerySet[Any, Any] | None = None) -> Coalesce:
    """Number of comparisons with a verdict of a run, among some or all."""
    judged = Judgment.objects.filter(run=OuterRef("pk"), status=JudgmentStatus.DONE)
    if among is not None:
        judged = judged.filter(comparison__in=among)
    counted = judged.order_by().values("run").annotate(n=Count("comparison", distinct=True))
    return Coalesce(Subquery(counted.values("n")), 0)


def latest_of_others(
    run: RunChoice,
    annotator: AnnotatorChoice,
    others: Collection[int],
    *,
    within: Collection[int],
) -> dict[int, int]:
    """By owner, the run to read of the same judge in the stead of somebody else.

    An owner's own run judged what both labelled, but for its dev part. Before it comes the run
    itself where it heard them (`within`), or a later one that tried the owner's sets on this
    annotator's labels, once it has judged all of them.
    """
    if not others:
        return {}
    rows = JudgeRun.objects.filter(
        Q(annotator=F("parent__annotator"))
        | Q(status=RunStatus.DONE, config__targets__isnull=True),
        dataset=run.dataset,
        kind=RunKind.TEST,
        judge=run.judge,
        parent__annotator__in=others,
    )
    if run.until is not None:
        rows = rows.filter(pk__lte=run.until)
    rows = rows.filter(AS_PAPER if run.is_paper else NOT_AS_PAPER)
    if run.selected_by:
        rows = rows.filter(parent__judge=run.selected_by, parent__writer=run.writer)
    owners = best_last(rows).values_list("parent__annotator", "annotator", "id")
    own = {owner: key for owner, labelled, key in owners if labelled == owner}
    tried = {owner: key for owner, labelled, key in owners if labelled == annotator.id}
    inside = {key: run.id for key in within if key in others and tried.get(key, 0) < run.id}
    return {**own, **tried, **inside}


def run_choices(rows: QuerySet[JudgeRun]) -> tuple[RunChoice, ...]:
    """Runs as choices, in the order given."""
    return tuple(
        RunChoice(
            row.pk,
            row.dataset_id,
            row.judge,
            RunKind(row.kind),
            RunStatus(row.status),
            row.parent_id,
            row.sets_of,
            row.created_at,
            row.prompt or "",
            row.annotator_id,
            decides_by_log_odds({"verdict_rule": row.rule}, judge=row.judge),
            (row.selected_by or "") if row.sets_of else "",
            (row.distilled_by or "") if row.sets_of else "",
            (row.selection_mode or "") if row.sets_of else "",
            bool(row.sets_of and row.stacked),
            row.unscored and row.annotator_id is not None,
            covers=getattr(row, "covers", 0),
        )
        for row in rows.defer("config").annotate(
            sets_of=_SETS_OF,
            prompt=KT("config__prompt"),
            rule=KT("config__verdict_rule"),
            selection_mode=KT("config__mode"),
            unscored=Case(When(config__unscored=True, then=True), default=False),
            selected_by=F("parent__judge"),
            distilled_by=F("parent__writer"),
            stacked=Exists(
                PreferenceSet.objects.filter(run=OuterRef("parent"), stack__isnull=False)
            ),
        )
    )


def scenarios(dataset: DatasetChoice) -> tuple[ScenarioChoice, ...]:
    """The scenarios of a dataset in their order."""
    rows = Scenario.objects.filter(dataset=dataset.id).order_by("position", "id")
    return tuple(ScenarioChoice(row.pk, row.name) for row in rows)


def picked(rows: tuple[Row, ...], asked: int | None) -> Row | None:
    """The row asked for by id, or the first one, or None where there is none.

    Raises:
        Refused: the id is not among the rows.
    """
    if asked is None:
        return rows[0] if rows else None
    found = next((row for row in rows if row.id == asked), None)
    if found is None:
        raise Refused("benchmark:unknown-choice", f"nothing of number {asked} to choose here")
    return found


def picked_dataset(rows: tuple[DatasetChoice, ...], slug: str) -> DatasetChoice | None:
    """The dataset asked for, or the first one, or None where there is none.

    Raises:
        Refused: no such dataset among them.
    """
    if not slug:
        return rows[0] if rows else None
    found = next((row for row in rows if row.slug == slug), None)
    if found is None:
        if is_archived(slug):
            raise Refused("dataset:archived")
        raise Refused("benchmark:unknown-choice", f"no dataset {slug!r}")
    return found


def _pairwise(*, dataset: Any, annotator: Any) -> Exists:
    return Exists(
        PairwiseLabel.objects.filter(
            annotator=annotator, comparison__turn__session__dataset=dataset
        )
    )


def _satisfaction(*, dataset: Any, annotator: Any) -> Exists:
    return Exists(
        SatisfactionLabel.objects.filter(
            Q(response__turn__session__dataset=dataset) | Q(session__dataset=dataset),
            annotator=annotator,
        )
    )


def _natural(name: str) -> list[tuple[int, str]]:
    """Sort key by which annotator2 stands before annotator10."""
    parts = re.split(r"(\d+)", name.casefold())
    return [(int(part) if part.isdecimal() else -1, part) for part in parts]
