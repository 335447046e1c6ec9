"""The gold answers that hold: of comparisons, and of the responses of rated conversations."""

from __future__ import annotations

from datetime import datetime

from annotation.core.answers import Target
from annotation.core.choices import StudyKind, Verdict
from annotation.core.gold import holding
from annotation.models import AuditEvent, Dataset, GoldLabel, GoldSource, ItemKind, Study


def gold_verdicts(dataset: Dataset) -> dict[int, Verdict]:
    """The verdict held to be right, by comparison. One query."""
    rows = GoldLabel.objects.filter(comparison__turn__session__dataset=dataset)
    found = holding(rows.values_list("comparison_id", "source", "verdict"))
    return {pair: Verdict(verdict) for pair, verdict in found.items() if verdict is not None}


def gold_scores(dataset: Dataset) -> dict[int, tuple[int, int]]:
    """Session and score held to be right, by response that was really given. One query."""
    rows = GoldLabel.objects.filter(
        response__turn__session__dataset=dataset,
        response__original=True,
        response__text__isnull=False,
    )
    sessions = {}
    answers = []
    for response, session, source, score in rows.values_list(
        "response_id", "response__turn__session_id", "source", "score"
    ):
        sessions[response] = session
        answers.append((response, source, score))
    return {
        response: (sessions[response], score)
        for response, score in holding(answers).items()
        if score is not None
    }


def gold_candidates(study: Study) -> frozenset[int]:
    """The comparisons or sessions that can be gold items of a study. One query.

    A tie is no right answer where nobody may give one. A session is one where a response in it has
    a gold score. Where people talk with a model, nothing is known before.
    """
    if study.kind == StudyKind.PAIRWISE:
        verdicts = gold_verdicts(study.dataset)
        return frozenset(
            comparison
            for comparison, verdict in verdicts.items()
            if study.allow_tie or verdict is not Verdict.TIE
        )
    if study.kind == StudyKind.SATISFACTION:
        return frozenset(session for session, _score in gold_scores(study.dataset).values())
    return frozenset()


def study_gold_verdicts(study: Study) -> dict[int, Verdict]:
    """The verdict held to be right, by comparison, of a study's gold items. One query.

    Since the study was made a tie may have come to be held right: not where nobody may give one.
    """
    rows = GoldLabel.objects.filter(
        comparison__study_items__study=study, comparison__study_items__kind=ItemKind.GOLD
    )
    found = holding(rows.values_list("comparison_id", "source", "verdict"))
    return {
        pair: Verdict(verdict)
        for pair, verdict in found.items()
        if verdict is not None and (study.allow_tie or verdict != Verdict.TIE)
    }


def study_gold_scores(study: Study) -> dict[int, int]:
    """The score held to be right, by response, of a study's gold items. One query."""
    rows = GoldLabel.objects.filter(
        response__turn__session__study_items__study=study,
        response__turn__session__study_items__kind=ItemKind.GOLD,
        response__original=True,
    )
    return {
        response: score
        for response, score in holding(rows.values_list("response_id", "source", "score")).items()
        if response is not None and score is not None
    }


def gold_changed(target: Target, *, since: datetime | None) -> bool:
    """Whether anybody said something of an item's gold answer, or took it back, since then."""
    traces = AuditEvent.objects.filter(
        target="goldlabel", **{f"detail__{target.kind.value}": target.id}
    )
    return (traces if since is None else traces.filter(created_at__gt=since)).exists()


def manager_gold(target: Target) -> dict[str, str] | None:
    """What a manager holds to be right of an item, as a form shows it; None where nobody did."""
    stored = GoldLabel.objects.filter(
        **{f"{target.kind.value}_id": target.id}, source=GoldSource.MANAGER
    ).first()
    if stored is None:
        return None
    answer = stored.verdict if stored.verdict is not None else str(stored.score)
    return {"answer": answer, "rationale": stored.rationale}
