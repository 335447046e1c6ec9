"""Exports of satisfaction: memories, scores, and the rubrics that a run induced."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from annotation.core.choices import JudgmentStatus
from annotation.core.tables import Row
from annotation.exports.export import Export, moment
from annotation.models import Dataset, SatisfactionLabel
from judging.core.calibration import Fallback
from judging.core.rules import LEARNED
from judging.core.runs import HISTORY
from judging.core.targets import Basis
from judging.exports.pairwise import CALL, CHUNK, RUN, TARGET, Names, call_of, run_of, target_of
from judging.models import InducedRubric, JudgeRun, SatisfactionJudgment, UserMemory
from judging.queries.calls import key_of, raw_of, with_calls
from judging.queries.configurations import satisfaction_settings

_RATED: Final = ("target", "session", "scenario", "turn")


def _asked(run: JudgeRun) -> str:
    """How a judge was asked about satisfaction."""
    return satisfaction_settings(run.config).variant.value


def _memories(dataset: Dataset) -> Iterator[Row]:
    names = Names(dataset)
    rows = (
        with_calls(UserMemory.objects.filter(run__dataset=dataset))
        .select_related("run", "user", "target_scenario")
        .order_by("pk")
    )
    for row in rows.iterator(chunk_size=CHUNK):
        yield {
            **run_of(row.run),
            "memory": row.pk,
            "annotator": names.of(row.user),
            "target_scenario": row.target_scenario.name,
            "version": row.version,
            "previous": row.previous_id,
            "built_by": row.judge,
            "language": row.language,
            "status": row.status,
            "statistics": row.statistics,
            "texts": row.texts,
            "evidence": row.evidence,
            "error_code": row.error_code,
            "call": key_of(row),
            "raw": raw_of(row),
            "created_at": moment(row.created_at),
        }


def _basis(row: SatisfactionJudgment) -> Basis:
    """Under what it was scored: the user's own history elsewhere, or nothing of theirs."""
    is_base = row.fallback_reason == Fallback.NO_HISTORY
    return Basis.BASE if is_base else Basis.OWN


def _satisfaction_judgments(dataset: Dataset) -> Iterator[Row]:
    names = Names(dataset)
    rows = (
        with_calls(SatisfactionJudgment.objects.filter(run__dataset=dataset))
        .select_related("run", "user", "response__turn__session__scenario", "session__scenario")
        .order_by("run_id", "pk")
    )
    for row in rows.iterator(chunk_size=CHUNK):
        yield {
            **run_of(row.run),
            "annotator": names.of(row.user),
            "history_dataset": row.run.config.get(HISTORY) or dataset.slug,
            "basis": _basis(row) if row.status == JudgmentStatus.DONE else None,
            "part": row.part,
            **target_of(row.response, row.session),
            "asked": None if row.run.judge == LEARNED else _asked(row.run),
            "memory": row.memory_id,
            "status": row.status,
            "score": row.score,
            "expected_score": row.expected_score,
            "calibrated": row.calibrated,
            "calibration": row.calibration,
            "fallback_reason": row.fallback_reason,
            "reason": row.reason,
            "analysis": row.analysis,
            "error_code": row.error_code,
            "call": key_of(row),
            "raw": raw_of(row),
        }


def _rated(label: SatisfactionLabel | None) -> Row:
    """What was rated; whose response it is stays out, beside the model of the call."""
    if label is None:
        return dict.fromkeys(_RATED)
    found = target_of(label.response, label.session)
    return {name: found[name] for name in _RATED}


def _rubrics(dataset: Dataset) -> Iterator[Row]:
    """Every step of an induction, in the order of the steps; a rating's reasons name its target."""
    names = Names(dataset)
    rows = (
        with_calls(InducedRubric.objects.filter(run__dataset=dataset))
        .select_related(
            "run",
            "label__annotator",
            "label__response__turn__session__scenario",
            "label__session__scenario",
        )
        .order_by("run_id", "pk")
    )
    for row in rows.iterator(chunk_size=CHUNK):
        label = row.label
        yield {
            **run_of(row.run),
            "rubric": row.pk,
            "step": row.step,
            "part": row.fold,
            "satisfied": row.satisfied,
            "position": row.position,
            "annotator": None if label is None else names.of(label.annotator),
            **_rated(row.label),
            "language": row.language,
            "status": row.status,
            "texts": list(row.sentences),
            **call_of(row),
            "error_code": row.error_code,
        }


MEMORIES: Final = Export(
    "memories",
    (
        *RUN,
        "memory",
        "annotator",
        "target_scenario",
        "version",
        "previous",
        "built_by",
        "language",
        "status",
        "statistics",
        "texts",
        "evidence",
        "error_code",
        "call",
        "raw",
        "created_at",
    ),
    _memories,
)

SATISFACTION_JUDGMENTS: Final = Export(
    "satisfaction_judgments",
    (
        *RUN,
        "annotator",
        "history_dataset",
        "basis",
        "part",
        *TARGET,
        "asked",
        "memory",
        "status",
        "score",
        "expected_score",
        "calibrated",
        "calibration",
        "fallback_reason",
        "reason",
        "analysis",
        "error_code",
        "call",
        "raw",
    ),
    _satisfaction_judgments,
)

RUBRICS: Final = Export(
    "rubrics",
    (
        *RUN,
        "rubric",
        "step",
        "part",
        "satisfied",
        "position",
        "annotator",
        *_RATED,
        "language",
        "status",
        "texts",
        *CALL,
        "error_code",
    ),
    _rubrics,
)
