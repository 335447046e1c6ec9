"""The versions of learned evaluators, and which ratings they were trained on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Count, Max, OuterRef, QuerySet, Subquery

from annotation.core.intervals import Units
from annotation.models import Dataset
from annotation.queries.datasets import of_no_deleted
from judging.core.rules import Level
from judging.core.runs import StageName
from judging.core.satisfaction_model import VERSION
from judging.models import JudgeRun, LearnedModel, RunKind, RunStatus
from judging.queries.runs import UNFINISHED, unit_rows
from judging.queries.satisfaction.blocks import rated, ratings_digest


@dataclass(frozen=True, slots=True)
class RatingsStamp:
    """How many ratings there are and when the newest was given or changed.

    Ratings with another stamp may be others; `ratings_digest` knows, and reads them all for it.
    """

    ratings: int
    newest: datetime | None

    def to_json(self) -> dict[str, Any]:
        """As kept in a manifest."""
        newest = None if self.newest is None else self.newest.isoformat()
        return {"count": self.ratings, "newest": newest}


@dataclass(frozen=True, slots=True)
class LearnedPage:
    """The versions of a dataset's evaluator, the newest first, and where training stands.

    `current` are those that runs use, one a level: of this method, trained on the ratings as they
    are. `outdated` are the levels that have ratings and no such version: the next run trains anew.
    `training` is the unfinished run that trains, `failed` the newest run where it failed and
    nothing came after it. `ratings` counts those of both levels.
    """

    dataset: Dataset
    versions: Sequence[LearnedModel]
    current: Sequence[LearnedModel]
    outdated: Sequence[Level]
    training: JudgeRun | None
    failed: JudgeRun | None
    ratings: int


def ratings_stamp(*, dataset_id: int, level: Level = Level.TURN) -> RatingsStamp:
    """The stamp of a dataset's ratings. One query."""
    labels = rated(dataset_id=dataset_id, level=level)
    found = labels.aggregate(n=Count("pk"), newest=Max("updated_at"))
    return RatingsStamp(found["n"], found["newest"])


def newest_models() -> QuerySet[LearnedModel]:
    """The newest version of every dataset and level that has one, without its numbers."""
    newest = LearnedModel.objects.filter(
        dataset=OuterRef("dataset"), level=OuterRef("level")
    ).order_by("-version")
    return (
        of_no_deleted(LearnedModel.objects.all(), "dataset")
        .filter(pk=Subquery(newest.values("pk")[:1]))
        .select_related("dataset")
        .defer("artefact", "held_out")
        .order_by("pk")
    )


def learned_page(dataset: Dataset) -> LearnedPage:
    """What a dataset's page of the learned evaluator shows. Four queries, and one a level rated."""
    versions = list(
        LearnedModel.objects.filter(dataset=dataset)
        .defer("artefact", "held_out")
        .annotate(used_by=Count("runs"))
        .order_by("-version")
    )
    ratings = {
        level: count
        for level in Level
        if (count := ratings_stamp(dataset_id=dataset.pk, level=level).ratings)
    }
    digests = {level: ratings_digest(dataset_id=dataset.pk, level=level) for level in ratings}
    current = {
        Level(one.level): one
        for one in reversed(versions)
        if one.method == VERSION and one.ratings_digest == digests.get(Level(one.level))
    }
    last = JudgeRun.objects.filter(dataset=dataset, kind=RunKind.TRAIN).order_by("-pk").first()
    return LearnedPage(
        dataset=dataset,
        versions=versions,
        current=list(current.values()),
        outdated=[level for level in ratings if level not in current],
        training=last if last is not None and last.status in UNFINISHED else None,
        failed=last if last is not None and last.error_code else None,
        ratings=sum(ratings.values()),
    )


@dataclass(frozen=True, slots=True)
class LearnedFigure:
    """One figure of a version with the ends of its interval; a version may have none."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class LearnedVersionPage:
    """One version with the runs that used it, the newest first."""

    dataset: Dataset
    model: LearnedModel
    runs: Sequence[JudgeRun]

    @property
    def figures(self) -> tuple[LearnedFigure, ...]:
        """The figures on held-out users, in the order of the manifest."""
        intervals = self.model.manifest.get("intervals", {})
        return tuple(
            LearnedFigure(name, value, **intervals.get(name, {}))
            for name, value in self.model.manifest.get("figures", {}).items()
        )

    @property
    def units(self) -> Units:
        """The training users; a model of before does not say as how many equal ones they count."""
        known = self.model.manifest
        number = len(known["users"])
        effective = known.get("effective_users", float(number))
        return Units(number, effective, known.get("largest_user", 0.0))

    @property
    def settings(self) -> tuple[tuple[str, object], ...]:
        """Every setting of the training by its dotted name."""
        return tuple(_flat(self.model.settings))


def learned_version_page(dataset: Dataset, *, version: int) -> LearnedVersionPage | None:
    """What the page of one version shows; None where there is none. Two queries."""
    model = (
        LearnedModel.objects.filter(dataset=dataset, version=version)
        .defer("artefact", "held_out")
        .first()
    )
    if model is None:
        return None
    runs = JudgeRun.objects.filter(learned_model=model).defer("config").order_by("-pk")
    return LearnedVersionPage(dataset, model, list(runs))


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


class StepsLearned(NamedTuple):
    """Of the steps that a run's trainings take together, how many are done."""

    done: int
    steps: int


def steps_learned(run: JudgeRun) -> StepsLearned | None:
    """How far a run is with learning; None where it is not at it. One query at most."""
    if run.status != RunStatus.RUNNING or run.stage not in {StageName.TRAIN, StageName.LEARN}:
        return None
    noted = unit_rows(run.pk).values_list("result", flat=True).first()
    return None if noted is None else StepsLearned(**noted)
