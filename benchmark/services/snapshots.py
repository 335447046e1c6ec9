"""Keeping a page's figures, and computing them again from what is stored, with no call made."""

from __future__ import annotations

from typing import Any

from annotation.core.refusals import Refused
from annotation.models import Dataset, User
from benchmark.core.replay import ReplayScale
from benchmark.core.snapshots import (
    BasisPart,
    Figures,
    SnapshotChange,
    SnapshotKind,
    differences,
)
from benchmark.models import Snapshot
from benchmark.queries.replay import replay_of_rows, replay_report_of
from benchmark.queries.snapshot_questions import Question
from benchmark.queries.snapshots import basis_of, figures_of, replay_figures, runs_behind
from benchmark.services.replay_report import computed_again
from judging.services.rereading import read_again


def keep(
    kind: SnapshotKind,
    question: Question,
    *,
    created_by: User | None = None,
    most: int | None = None,
) -> Snapshot:
    """Store a page as it is now, with all that it rests on.

    Args:
        kind: of the page.
        question: what it is asked.
        created_by: who keeps it; None for a command.
        most: so many answers of a run are read again at most; None for all.

    Raises:
        Refused: something asked for does not exist, or there are no figures.
    """
    figures = _figures(kind, question)
    return Snapshot.objects.create(
        kind=kind.value,
        dataset=Dataset.objects.filter(slug=question["dataset"]).first(),
        question=dict(question),
        figures=figures,
        basis=_basis(kind, question, figures, most=most),
        created_by=created_by,
    )


def verify(snapshot: Snapshot, *, most: int | None = None) -> list[SnapshotChange]:
    """Everything that is not exactly as it was kept: what figures rest on first, then figures.

    Where their method is no longer that of the snapshot, figures that differ are said to have
    another method: they were not kept wrong, and no data need have changed.

    Args:
        snapshot: which.
        most: as in `keep`.

    Raises:
        Refused: what it is about no longer exists.
    """
    if snapshot.dataset is not None and snapshot.dataset.archived_at is not None:
        raise Refused("dataset:archived")
    kind = SnapshotKind(snapshot.kind)
    figures = _figures(kind, snapshot.question)
    basis = _basis(kind, snapshot.question, figures, most=most)
    return differences(kind, (snapshot.basis, snapshot.figures), (basis, figures))


def _figures(kind: SnapshotKind, question: Question) -> list[dict[str, Any]]:
    if kind is not SnapshotKind.REPLAY:
        return figures_of(kind, question)
    report = replay_report_of(question["run"])
    scale = ReplayScale(question["scale"])
    found = report and replay_of_rows(report, computed_again(report), scale=scale)
    if not found:
        raise Refused("snapshot:nothing", f"there is no replay {question['run']} any more")
    return replay_figures(found)


def _basis(
    kind: SnapshotKind, question: Question, figures: Figures, *, most: int | None
) -> dict[str, dict[str, str]]:
    runs = runs_behind(kind, question, figures)
    found = basis_of(kind, question, runs)
    for run in runs:
        again = read_again(run, most=most)
        if again is not None:
            found[BasisPart.READ_AGAIN.value][str(run.pk)] = str(again)
    return found
