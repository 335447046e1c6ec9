"""Who labels in a dataset and under which name; invitations, and the next step of a participant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.core.signing import BadSignature, Signer
from django.db.models import Count, Q

from annotation.core.assignment import Progress
from annotation.core.guidelines import ChangedPiece, Quiz, changes, from_records
from annotation.core.participants import (
    NEW_ACCOUNTS,
    NEW_ACCOUNTS_WITHIN,
    Done,
    InvitationRefusal,
    InvitationRow,
    Step,
    StudySteps,
    completion_for,
    finished,
    first_open,
    folded,
    natural_key,
    rater_name,
    refusal_of,
    steps_of,
)
from annotation.core.refusals import Refused
from annotation.models import (
    AnnotatorProfile,
    AuditEvent,
    Dataset,
    GuidelinesVersion,
    Invitation,
    PairwiseLabel,
    Participation,
    SatisfactionLabel,
    Session,
    SessionQuestionnaire,
    Study,
    StudyStatus,
    User,
)
from annotation.queries.assignment import open_skips
from annotation.queries.sql import Joined

NAMES_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Annotator:
    """Somebody who labels in a dataset; `imported` raters cannot sign in."""

    id: int
    name: str
    username: str
    imported: bool


def annotators(*, dataset: Dataset) -> list[Annotator]:
    """Everybody with a label, a questionnaire or a session of their own, by name."""
    rows = list(User.objects.filter(_labels_in(dataset)).values_list("pk", "username"))
    prefix = f"{dataset.slug}:"
    people = {username for _pk, username in rows if not username.startswith(prefix)}
    found = []
    for pk, username in rows:
        imported = username.startswith(prefix)
        name = username.removeprefix(prefix)
        if imported and name in people:
            name = username
        found.append(Annotator(pk, name, username, imported))
    return sorted(found, key=lambda each: natural_key(each.name))


def _labels_in(dataset: Dataset) -> Q:
    """The condition that a user has labelled in a dataset, or talked in a session of it."""
    pairwise = PairwiseLabel.objects.filter(comparison__turn__session__dataset=dataset)
    by_turn = SatisfactionLabel.objects.filter(response__turn__session__dataset=dataset)
    by_session = SatisfactionLabel.objects.filter(session__dataset=dataset)
    asked = SessionQuestionnaire.objects.filter(session__dataset=dataset)
    own = Session.objects.filter(dataset=dataset, original_user__isnull=False)
    return (
        Q(pk__in=pairwise.values("annotator_id"))
        | Q(pk__in=by_turn.values("annotator_id"))
        | Q(pk__in=by_session.values("annotator_id"))
        | Q(pk__in=asked.values("annotator_id"))
        | Q(pk__in=own.values("original_user_id"))
    )


def names_of(*, dataset: Dataset) -> dict[int, str]:
    """The name that each annotator's user id goes by in the dataset."""
    return {each.id: each.name for each in annotators(dataset=dataset)}


def resolve_annotator(*, dataset: Dataset, name: str) -> Annotator:
    """The annotator of a name within a dataset; the full user name is understood too.

    Raises:
        Refused: nobody of this name labels there; the message lists who does.
    """
    known = annotators(dataset=dataset)
    wanted = rater_name(name)
    for spelled in (str, folded):
        for each in known:
            if spelled(each.name) == spelled(wanted):
                return each
        for each in known:
            if spelled(each.username) == spelled(wanted):
                return each
    listed = ", ".join(each.name for each in known[:NAMES_SHOWN]) or "none"
    more = f" and {len(known) - NAMES_SHOWN} more" if len(known) > NAMES_SHOWN else ""
    raise Refused(
        "annotator:unknown",
        f"no annotator {name!r} in dataset {dataset.slug}; known annotators: {listed}{more}",
    )


_PART: Final = Joined(
    """
FROM annotation_participation part
JOIN annotation_study study ON study.id = part.study_id
LEFT JOIN annotation_annotatorprofile profile ON profile.user_id = part.annotator_id
WHERE study.slug = %(slug)s AND part.annotator_id = %(annotator)s
""",
    part=Participation,
    study=Study,
    profile=AnnotatorProfile,
)


@dataclass(frozen=True, slots=True)
class Onboarding:
    """Where somebody is between joining a study and its first item.

    Attributes:
        study: The study's row.
        participation: Their part in it.
        steps: All that the study asks for, in order.
        finished: Those of them that are done.
        open: The step that comes next; None where they may label.
    """

    study: Study
    participation: Participation
    steps: tuple[Step, ...]
    finished: tuple[Step, ...]
    open: Step | None


def study_named(slug: str) -> Study | None:
    """The study of a short name, for the pages on which a manager edits what comes before it."""
    return Study.objects.filter(slug=slug).first()


def setting_version(study: Study, action: str) -> int:
    """What grows with every change of a setting (`study.consent`): the number of its last trace."""
    traces = AuditEvent.objects.filter(target="study", target_id=study.pk, action=action).order_by(
        "-pk"
    )
    return traces.values_list("pk", flat=True).first() or 0


def participation_of(slug: str, annotator: User) -> Participation | None:
    """Somebody's part in a study, with the study and whether they have a profile."""
    for row in _PART.rows(slug=slug, annotator=annotator.pk):
        part: Participation = row["part"]
        part.study = row["study"]
        part.__dict__["profile"] = row["profile"]
        return part
    return None


def open_step(participation: Participation) -> Step | None:
    """The step before labelling that is open; None where none is. It comes from the query above."""
    study = participation.study
    return first_open(_asked(study), _done(participation))


def onboarding_of(slug: str, annotator: User) -> Onboarding | None:
    """Where somebody stands in a study that is open or paused; None where they are not in it."""
    row = participation_of(slug, annotator)
    if row is None or row.study.status in {StudyStatus.DRAFT, StudyStatus.CLOSED}:
        return None
    return Onboarding(
        study=row.study,
        participation=row,
        steps=steps_of(_asked(row.study)),
        finished=finished(_asked(row.study), _done(row)),
        open=open_step(row),
    )


def guidelines_history(
    study: Study,
) -> list[tuple[GuidelinesVersion, int, tuple[ChangedPiece, ...] | None]]:
    """All versions of a study's guidelines, the newest first, each with what changed in it.

    A study that never published any has its guidelines as the one version they are.
    """
    rows = list(
        GuidelinesVersion.objects.filter(study=study)
        .select_related("created_by")
        .order_by("version")
    )
    if study.guidelines_version not in {row.version for row in rows}:
        rows.append(
            GuidelinesVersion(
                study=study,
                version=study.guidelines_version,
                text=study.guidelines,
                created_by=study.created_by,
                created_at=study.created_at,
            )
        )
    readers = dict(
        Participation.objects.filter(study=study, guidelines_read__isnull=False)
        .values_list("guidelines_read")
        .annotate(n=Count("pk"))
        .order_by()
    )
    texts = [None, *(row.text for row in rows)]
    history = [
        (row, readers.get(row.version, 0), None if before is None else changes(before, row.text))
        for row, before in zip(rows, texts, strict=False)
    ]
    return history[::-1]


def profile_of(user: User) -> AnnotatorProfile | None:
    """What somebody said of themselves."""
    return AnnotatorProfile.objects.filter(user=user).first()


def quiz_of(study: Study) -> Quiz:
    """A study's questions.

    Raises:
        Refused: What is stored is no quiz; the page that stores one refuses such.
    """
    return from_records(study.quiz)


def guidelines_changed(
    study: Study, read: int | None
) -> tuple[int | None, tuple[ChangedPiece, ...] | None]:
    """The version of the guidelines that somebody read, and what changed since.

    None where they saw none before, or none but those in force, and where nothing is known of what
    they saw; no changes where the texts are too long to compare.
    """
    before = None
    if read is not None and read != study.guidelines_version:
        before = GuidelinesVersion.objects.filter(study=study, version=read).first()
    return (before.version, changes(before.text, study.guidelines)) if before else (None, None)


def _asked(study: Study) -> StudySteps:
    return StudySteps(
        consent=bool(study.consent.strip()),
        profile=study.ask_profile,
        guidelines=study.guidelines_version if study.guidelines.strip() else None,
        quiz=bool(study.quiz),
    )


def _done(row: Participation) -> Done:
    return Done(
        consent=row.consented_at is not None,
        profile=row.__dict__["profile"] is not None,
        guidelines=row.guidelines_read,
        quiz=row.quiz_passed_at is not None,
    )


ACCOUNT_MADE: Final = "invitation.account-made"

_SALT: Final = "annotation.invitation"


def token_of(invitation: Invitation) -> str:
    """What stands in an invitation's link.

    It names the row and the moment it was made, so that a link from before the database was made
    anew opens nothing; the signature is what nobody can make up. Nothing secret is stored.
    """
    made = int(invitation.created_at.timestamp() * 1_000_000)
    return _signer().sign(f"{invitation.pk}-{made:x}")


def invitation_of(token: str) -> Invitation | None:
    """The invitation of a link, with its study; None where the link was made up or is cut short."""
    try:
        number, _dash, _made = _signer().unsign(token).partition("-")
    except BadSignature:
        return None
    found = Invitation.objects.select_related("study__dataset").filter(pk=int(number)).first()
    return found if found is not None and token_of(found) == token else None


def refusal_now(invitation: Invitation, now: datetime) -> InvitationRefusal | None:
    """Why nobody can join by an invitation now; None where somebody can."""
    return _refusal(invitation, invitation.participations.count(), now)


def part_joined(token: str, user: User) -> Participation | None:
    """Somebody's part in the study of a link, with the study, however they came to it."""
    found = invitation_of(token)
    if found is None:
        return None
    return (
        Participation.objects.select_related("study")
        .filter(study=found.study_id, annotator=user)
        .first()
    )


def skips_to_answer(part: Participation, progress: Progress, now: datetime) -> list[int]:
    """The skipped items that keep somebody from a completion code, newest first.

    None where their invitation has no code. What cannot be answered any more keeps nobody from it:
    an item that others filled since, or any once the study is closed.
    """
    if part.study.status == StudyStatus.CLOSED or progress.skipped <= progress.done:
        return []
    if not (part.invitation and part.invitation.completion):
        return []
    items = open_skips(part.study, part.annotator_id, now)
    return items if len(items) > progress.done else []


def completion_of(part: Participation, progress: Progress, skips: Sequence[int]) -> str:
    """The code or address that shows a platform of paid work that somebody is through.

    Empty before they are, where they answered less than the study asks of whom it pays, or less
    than they skipped and may still answer, while they or the study are paused, and where they came
    by no invitation, or by one without.

    Args:
        part: Their part, with its study and invitation.
        progress: How far they are; while the study is open, nothing may be left.
        skips: What `skips_to_answer` says of them.
    """
    status = part.study.status
    through = status == StudyStatus.CLOSED or (status == StudyStatus.OPEN and not progress.left)
    earned = progress.done >= part.study.completion_answers and not skips
    if part.invitation is None or part.paused_at is not None or not (through and earned):
        return ""
    return completion_for(part.invitation.completion, part.worker)


def was_taken_out(invitation: Invitation, user: User) -> bool:
    """Whether a manager took somebody out of the study after the invitation was made."""
    return AuditEvent.objects.filter(
        target="study",
        target_id=invitation.study_id,
        action="study.annotator-removed",
        detail__annotator=user.pk,
        created_at__gt=invitation.created_at,
    ).exists()


def accounts_again_at(invitation: Invitation, now: datetime) -> datetime | None:
    """When a link makes accounts again; None where it does now.

    They are counted by the audit trail: who declined has no part in the study any more.
    """
    if invitation.places is not None:
        return None
    latest = (
        AuditEvent.objects.filter(
            target="invitation",
            target_id=invitation.pk,
            action=ACCOUNT_MADE,
            created_at__gt=now - NEW_ACCOUNTS_WITHIN,
        )
        .order_by("-created_at")
        .values_list("created_at", flat=True)[NEW_ACCOUNTS - 1 : NEW_ACCOUNTS]
    )
    return next((each + NEW_ACCOUNTS_WITHIN for each in latest), None)


def invitation_rows(slug: str, now: datetime) -> list[InvitationRow]:
    """The invitations of a study, the latest first."""
    rows = (
        Invitation.objects.filter(study__slug=slug)
        .select_related("study__dataset", "created_by")
        .annotate(joined=Count("participations"))
        .order_by("-created_at", "-pk")
    )
    return [
        InvitationRow(
            number=row.pk,
            note=row.note,
            token=token_of(row),
            places=row.places,
            joined=row.joined,
            expires_at=row.expires_at,
            made_by=str(row.created_by) if row.created_by else "",
            made_at=row.created_at,
            refusal=_refusal(row, row.joined, now),
            completion=row.completion,
        )
        for row in rows
    ]


def _refusal(invitation: Invitation, joined: int, now: datetime) -> InvitationRefusal | None:
    study = invitation.study
    return refusal_of(
        revoked_at=invitation.revoked_at,
        expires_at=invitation.expires_at,
        # A deleted dataset leaves its drafts as they are.
        study_closed=study.status == StudyStatus.CLOSED or study.dataset.archived_at is not None,
        places=invitation.places,
        joined=joined,
        now=now,
    )


def _signer() -> Signer:
    return Signer(salt=_SALT, sep=".")
