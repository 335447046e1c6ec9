"""What a study asks of people before their first item, as its managers set it."""

from __future__ import annotations

from django.db import transaction

from annotation.core.quiz import Quiz, checked, to_records
from annotation.core.refusals import Refused
from annotation.models import AuditEvent, Participation, Study, User
from annotation.queries.onboarding import consent_version


@transaction.atomic
def set_consent(
    *, study: str, text: str, ask_profile: bool, ask_again: bool, since: int | None, by: User
) -> None:
    """Set what annotators agree to (empty: nothing), and whether they fill in a profile.

    Who agreed to another text stays in the study, unless everybody is asked again. The audit trail
    keeps both texts, so that what each person agreed to can be told.

    Args:
        study: The study's short name.
        text: What is agreed to, in Markdown.
        ask_profile: Whether they fill in a profile.
        ask_again: Whether those who agreed before agree once more.
        since: The version that this one is to replace (`consent_version`).
        by: Who sets it.

    Raises:
        Study.DoesNotExist: There is no such study.
        Refused: Another version stands than the one to be replaced.
    """
    row = Study.objects.select_for_update().get(slug=study)
    before = {"consent": row.consent, "ask_profile": row.ask_profile}
    after = {"consent": text, "ask_profile": ask_profile}
    if (before != after or ask_again) and since != consent_version(row):
        raise Refused("consent:outdated")
    if before != after:
        Study.objects.filter(pk=row.pk).update(**after)
    asked_again = _asked_again(row, "consented_at") if ask_again else 0
    if before != after or asked_again:
        detail = {"before": before, "after": after, "asked_again": asked_again}
        _record(row, by, "study.consent", detail)


@transaction.atomic
def set_quiz(*, study: str, quiz: Quiz, ask_again: bool, by: User) -> None:
    """Set the questions that annotators answer first; none of them for no quiz.

    Who passed an earlier quiz goes on, unless everybody is asked again.

    Raises:
        Study.DoesNotExist: There is no such study.
        Refused: Something is wrong with it; nothing was stored.
    """
    records = to_records(checked(quiz))
    row = Study.objects.get(slug=study)
    before = row.quiz
    if before != records:
        Study.objects.filter(pk=row.pk).update(quiz=records)
    asked_again = _asked_again(row, "quiz_passed_at") if ask_again else 0
    if before != records or asked_again:
        detail = {"before": before, "after": records, "asked_again": asked_again}
        _record(row, by, "study.quiz", detail)


def _asked_again(study: Study, done: str) -> int:
    """Take back that annotators did a step; how many had."""
    rows = Participation.objects.filter(study=study, **{f"{done}__isnull": False})
    return rows.update(**{done: None})


def _record(study: Study, by: User, action: str, detail: dict[str, object]) -> None:
    AuditEvent.objects.create(
        actor=by, action=action, target="study", target_id=study.pk, detail=detail
    )
