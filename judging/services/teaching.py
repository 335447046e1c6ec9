"""Planning what training users teach a run, before anybody is asked (protocols A2.5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any, Final

from annotation.core.choices import is_satisfied
from annotation.core.refusals import Refused
from annotation.models import Dataset
from annotation.queries.annotators import names_of
from judging.core.rubrics import TURNS_A_CHUNK, chunks, drawn
from judging.core.rules import SPECS, Need, SatisfactionSettings
from judging.core.satisfaction_training import balanced, folds
from judging.models import InducedRubric, JudgeRun, RubricStep
from judging.queries.satisfaction.labels import (
    TEACHING,
    FirstRating,
    first_labels,
    folds_of,
    raters,
)

_CHUNK: Final = 500


def planned_teaching(
    *, dataset: Dataset, judged: Collection[int] | None, settings: SatisfactionSettings
) -> dict[str, Any]:
    """What a run's configuration says of it; nothing where nothing is taught.

    Users of the training dataset who go by the name of a judged user are left out.

    Args:
        dataset: whose turns are scored.
        judged: the users whose turns are scored; None for all.
        settings: the rules of the run.

    Raises:
        Refused: there is nobody to learn from; there is no such training dataset.
    """
    need = SPECS[settings.variant].need
    if not need.from_training:
        return {}
    source = _source(dataset, settings.train)
    everyone = raters(dataset_id=dataset.pk)
    scored = everyone if judged is None else tuple(judged)
    own, names = names_of(dataset=dataset), names_of(dataset=source)
    known = {own.get(user) for user in scored} if source != dataset else set()
    teachers = [user for user in raters(dataset_id=source.pk) if names.get(user) not in known]
    told = []
    for fold in folds(scored, teachers):
        labels = first_labels(dataset_id=source.pk, user_ids=fold.training)
        chosen = balanced(labels) if need is Need.EXAMPLES else ()
        told.append(
            {
                "judged": list(fold.judged),
                "training": list(fold.training),
                "examples": [label.id for label in chosen],
            }
        )
    return {TEACHING: told}


def _source(dataset: Dataset, train: str) -> Dataset:
    if train in ("", dataset.slug):
        return dataset
    found = Dataset.objects.filter(slug=train).first()
    if found is None:
        raise Refused(
            "run:unknown-training", f"there is no dataset {train!r} to take training users from"
        )
    return found


def plan_rubrics(run: JudgeRun, settings: SatisfactionSettings) -> None:
    """Write the PENDING rows of an induction."""
    InducedRubric.objects.bulk_create(planned_rubrics(run, settings), batch_size=_CHUNK)


def planned_rubrics(run: JudgeRun, settings: SatisfactionSettings) -> list[InducedRubric]:
    """The rows of an induction: turns, chunks of them, and the rubrics of a class; not saved.

    A class that no training user shows has no rubric, and no row. Nothing where the variant shows
    no rubrics.
    """
    if SPECS[settings.variant].need is not Need.RUBRICS:
        return []
    dataset = Dataset.objects.get(pk=run.dataset_id)
    source = _source(dataset, settings.train)
    rows: list[InducedRubric] = []
    for at, fold in enumerate(folds_of(run.config)):
        labels = first_labels(dataset_id=source.pk, user_ids=fold["training"])
        for satisfied in (True, False):
            own = drawn([one for one in labels if is_satisfied(one.score) is satisfied])
            rows += _rows(run, at, own, satisfied=satisfied)
    order = list(RubricStep)
    return sorted(rows, key=lambda row: order.index(RubricStep(row.step)))


def _rows(
    run: JudgeRun, fold: int, labels: list[FirstRating], *, satisfied: bool
) -> list[InducedRubric]:
    if not labels:
        return []
    language = Counter(label.language for label in labels).most_common(1)[0][0]

    def row(step: RubricStep, position: int, **more: Any) -> InducedRubric:
        found = {"language": language} | more
        return InducedRubric(
            run=run, fold=fold, satisfied=satisfied, step=step, position=position, **found
        )

    parts = chunks(len(labels))
    return [
        *(
            row(RubricStep.TURN, at, label_id=label.id, language=label.language)
            for at, label in enumerate(labels)
        ),
        *(row(RubricStep.CHUNK, at) for at in range(parts if parts > 1 else 0)),
        row(RubricStep.FINAL, 0),
    ]


def chunk_of(position: int) -> int:
    """The chunk that condenses the reasons of the turn at a position."""
    return position // TURNS_A_CHUNK
