"""Taking an annotator's answers: each once, however often it is sent, with a trace of every change.

A page makes an id for each submission. Sending the same again changes nothing and succeeds,
whatever the first changed; a new id, or another answer under the same, is a change of mind where
the item is answered: it replaces the label and counts as an edit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction

from annotation.core.choices import Order, Reason, StudyKind, is_satisfied
from annotation.core.labelling import (
    NOT_MEASURED,
    Answer,
    Effort,
    FinishedItem,
    OwnAnswer,
    PairTask,
    Rating,
    verdict_of,
)
from annotation.core.profiles import from_records, is_complete, to_records
from annotation.core.refusals import Refused
from annotation.models import (
    AuditEvent,
    Claim,
    ClaimState,
    ItemKind,
    PairwiseLabel,
    SatisfactionLabel,
    Session,
    SessionQuestionnaire,
    Study,
    SubmissionKind,
    User,
)
from annotation.queries.assignment import next_free_item, repeat_index
from annotation.queries.labelling import original_line, rating_of, task_of
from annotation.services.claims import (
    RefusalCode,
    accept,
    hold,
    open_part_of,
    open_study_of,
    order_for,
    own_claim,
)
from annotation.services.quality import pause_if_careless


def pair_ahead(
    *, study: str, item: int, annotator: User, now: datetime, language: str = ""
) -> PairTask | None:
    """The pair that would come if the item at hand were finished now, as it would be shown.

    Nothing is written. None where no pair would follow, or the item is not at hand.

    Raises:
        Refused: not theirs, or the study not open.
    """
    row = open_study_of(study, annotator)
    if own_claim(row, item, annotator).state != ClaimState.ACTIVE:
        return None
    following = next_free_item(row, annotator.pk, now, language)
    if following is None or following.comparison is None:
        return None
    given_before = following.claims.filter(annotator=annotator).first()
    order = given_before.shown_order if given_before else order_for(following, row, annotator)
    task = task_of(Claim(item=following, annotator=annotator, shown_order=order), row, now)
    if not isinstance(task, PairTask):
        return None
    return replace(task, place=replace(task.place, previous=FinishedItem(item)))


def store_questionnaire(
    claim: Claim, session: Session, study: Study, answers: Mapping[str, str], now: datetime
) -> dict[str, str]:
    """Write the answers about a claimed session; what they said before.

    Those given at a hidden repeat do not replace the first: they stand in the audit trail alone.
    """
    row, created = SessionQuestionnaire.objects.get_or_create(
        annotator_id=claim.annotator_id,
        session=session,
        study=study,
        defaults={"answers": to_records(answers), "created_at": now},
    )
    if created:
        return {}
    before = from_records(row.answers)
    if before != answers and claim.item.kind != ItemKind.REPEAT:
        row.answers = to_records(answers)
        row.save(update_fields=["answers"])
    return before


@transaction.atomic
def answer_pair(
    *,
    study: str,
    item: int,
    annotator: User,
    answer: OwnAnswer,
    submission: UUID,
    now: datetime,
    effort: Effort = NOT_MEASURED,
) -> bool:
    """Store which response is better, in the comparison's own coordinates.

    A flag is kept in the label's `extra`, under `flag`.

    Returns:
        Whether the item was answered before, so that an older answer may have changed.

    Raises:
        Refused: not theirs, the study not open, the item taken by others in the meantime, or an
            answer that the study's rules do not allow.
    """
    part = open_part_of(study, annotator)
    row = part.study
    claim = own_claim(row, item, annotator)
    if not accept(claim, SubmissionKind.ANSWER, submission, now, content=answer):
        return False
    comparison = claim.item.comparison_id
    if comparison is None or not _allowed(answer, row):
        raise Refused(RefusalCode.NOT_ALLOWED)
    first = _finish(claim, row, now)
    order = Order(claim.shown_order or Order.ORIGINAL)
    values: dict[str, Any] = {
        "verdict": verdict_of(answer.answer, order).value,
        "strength": answer.strength,
        "both_bad": answer.both_bad,
        "comment": answer.comment,
        "shown_order": order.value,
        "extra": {"flag": answer.flag.value} if answer.flag else {},
    }
    before = _store_answer(claim, comparison, row, values, effort, submission, now, first=first)
    if before != values:
        action = "label.given" if before is None else "label.changed"
        _record(claim, submission, action, {"before": before, "after": values})
    pause_if_careless(part, claim.item.kind, now)
    return not first


@transaction.atomic
def rate_session(
    *,
    study: str,
    item: int,
    annotator: User,
    ratings: Mapping[int, Rating],
    submission: UUID,
    now: datetime,
    efforts: Mapping[int, Effort] | None = None,
    questionnaire: Mapping[str, str] | None = None,
) -> bool:
    """Store the ratings of all assistant turns of a session and its questionnaire, or nothing.

    A flag is kept in the label's `extra`, under `flag`.

    Args:
        study: The study's short name.
        item: The study item's number.
        annotator: Who rates.
        ratings: By number of the turn in the session, from 1.
        submission: The page's id of this submission.
        now: The moment.
        efforts: How each was given, by number of the turn, where the page measured it.
        questionnaire: The answers about the whole session, exactly where the study asks for them.

    Returns:
        Whether the session was rated before, so that older ratings may have changed.

    Raises:
        Refused: not theirs, the study not open, the item taken by others in the meantime, a turn or
            an answer of the questionnaire missing or unknown, or a reason at 4 and above or none
            below.
    """
    part = open_part_of(study, annotator)
    row = part.study
    claim = own_claim(row, item, annotator)
    content = (sorted(ratings.items()), sorted((questionnaire or {}).items()))
    if not accept(claim, SubmissionKind.ANSWER, submission, now, content=content):
        return False
    session = claim.conversation if row.kind == StudyKind.CONVERSATION else claim.item.session
    if session is None or not _answers_all(questionnaire, row):
        raise Refused(RefusalCode.NOT_ALLOWED)
    responses = {
        number: response.pk
        for number, (_turn, response) in enumerate(original_line(session), start=1)
        if response is not None
    }
    if set(responses) != set(ratings) or not all(_is_whole(each, row) for each in ratings.values()):
        raise Refused(RefusalCode.NOT_ALLOWED)
    first = _finish(claim, row, now)
    by_response = {responses[number]: rating for number, rating in ratings.items()}
    measured = {responses[number]: each for number, each in (efforts or {}).items()}
    before = _store_ratings(claim, row, by_response, measured, submission, now)
    said = questionnaire or {}
    said_before = store_questionnaire(claim, session, row, said, now) if said else {}
    if before != by_response or said_before != said:
        detail: dict[str, Any] = {
            "before": {response: asdict(rating) for response, rating in before.items()},
            "after": {response: asdict(rating) for response, rating in by_response.items()},
        }
        if said:
            detail["questionnaire"] = {"before": said_before, "after": dict(said)}
        _record(claim, submission, "ratings.changed" if before else "ratings.given", detail)
    pause_if_careless(part, claim.item.kind, now)
    return not first


def _allowed(answer: OwnAnswer, study: Study) -> bool:
    tie = answer.answer is Answer.TIE
    return (
        (study.allow_tie or not tie)
        and (study.allow_both_bad or not answer.both_bad)
        and (answer.strength in {1, 2} if study.allow_strength and not tie else not answer.strength)
    )


def _answers_all(questionnaire: Mapping[str, str] | None, study: Study) -> bool:
    if questionnaire is None:
        return not study.ask_questionnaire
    return study.ask_questionnaire and is_complete(questionnaire)


def _is_whole(rating: Rating, study: Study) -> bool:
    return (
        1 <= rating.score <= 5
        and (rating.reason is None) == is_satisfied(rating.score)
        and rating.reason is not Reason.NOT_RECORDED
        and (rating.hallucination is not None) == study.ask_hallucination
    )


def _finish(claim: Claim, study: Study, now: datetime) -> bool:
    """Mark the claim answered, by updates that name the state they expect; whether it was not yet.

    They also lock the claim's row until the commit, so that two submissions come one after another.
    """
    hold(claim, study, now)
    own = Claim.objects.filter(pk=claim.pk)
    if own.filter(state=ClaimState.ACTIVE).update(state=ClaimState.DONE, finished_at=now):
        return True
    if not own.filter(state=ClaimState.DONE).update(state=ClaimState.DONE):
        raise Refused(RefusalCode.TAKEN)
    return False


def _store_answer(
    claim: Claim,
    comparison: int,
    study: Study,
    values: Mapping[str, Any],
    effort: Effort,
    submission: UUID,
    now: datetime,
    *,
    first: bool,
) -> dict[str, Any] | None:
    """Write a pair's label; what it said before, where it replaces one."""
    own: dict[str, Any] = {
        "annotator_id": claim.annotator_id,
        "study": study,
        "comparison_id": comparison,
        "repeat_index": repeat_index(claim.item),
    }
    new = {
        **values,
        **asdict(effort),
        "input_device": effort.input_device.value if effort.input_device else "",
        "submission_id": submission,
        "guidelines_version": study.guidelines_version,
        "app_version": settings.APP_VERSION,
        "created_at": now,
    }
    if first and _inserted(PairwiseLabel(**own, **new)):
        return None
    label, created = PairwiseLabel.objects.get_or_create(**own, defaults=new)
    if created:
        return None
    before = {name: getattr(label, name) for name in values}
    if before != values:
        for name, value in values.items():
            setattr(label, name, value)
        _add_effort(label, effort)
        label.submission_id = submission
        label.edits += 1
        label.save()
    return before


def _inserted(label: PairwiseLabel) -> bool:
    """Write a new label; False where there is one, as after an import of the study's labels."""
    try:
        with transaction.atomic():
            label.save(force_insert=True)
    except IntegrityError:
        return False
    return True


def _store_ratings(
    claim: Claim,
    study: Study,
    ratings: Mapping[int, Rating],
    efforts: Mapping[int, Effort],
    submission: UUID,
    now: datetime,
) -> dict[int, Rating]:
    """Write the labels of a session's responses (by id); what they said before."""
    own = {
        "annotator_id": claim.annotator_id,
        "study": study,
        "repeat_index": repeat_index(claim.item),
    }
    labels = {
        label.response_id: label
        for label in SatisfactionLabel.objects.filter(response__in=list(ratings), **own)
    }
    before = {response: rating_of(label) for response, label in labels.items() if response}
    new = []
    for response, rating in ratings.items():
        label = labels.get(response) or SatisfactionLabel(
            response_id=response,
            guidelines_version=study.guidelines_version,
            app_version=settings.APP_VERSION,
            created_at=now,
            **own,
        )
        if before.get(response) == rating:
            continue
        label.score = rating.score
        label.reason = rating.reason
        label.hallucination = rating.hallucination
        label.comment = rating.comment
        told = {name: value for name, value in label.extra.items() if name != "flag"}
        label.extra = told | ({"flag": rating.flag.value} if rating.flag else {})
        _add_effort(label, efforts.get(response, NOT_MEASURED))
        label.submission_id = submission
        if response in before:
            label.edits += 1
            label.save()
        else:
            new.append(label)
    SatisfactionLabel.objects.bulk_create(new)
    return before


def _add_effort(label: PairwiseLabel | SatisfactionLabel, effort: Effort) -> None:
    """Add the time of a change of mind to that of the first answer; the last device counts."""
    for name in ("active_seconds", "idle_seconds"):
        more = getattr(effort, name)
        if more is not None:
            setattr(label, name, (getattr(label, name) or 0.0) + more)
    if effort.input_device is not None:
        label.input_device = effort.input_device.value


def _record(claim: Claim, submission: UUID, action: str, detail: Mapping[str, Any]) -> None:
    AuditEvent.objects.create(
        actor_id=claim.annotator_id,
        action=action,
        target="claim",
        target_id=claim.pk,
        detail={"submission": str(submission), **detail},
    )
