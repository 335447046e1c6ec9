"""Versions of a study's guidelines; each label says which one was in force."""

from __future__ import annotations

from django.db import transaction

from annotation.core.refusals import Refused
from annotation.models import AuditEvent, GuidelinesVersion, Study, User


def keep_version_in_force(study: Study, by: User | None = None) -> None:
    """Keep the guidelines in force as a version of their own, unless they are."""
    GuidelinesVersion.objects.get_or_create(
        study=study,
        version=study.guidelines_version,
        defaults={"text": study.guidelines, "created_by": by},
    )


@transaction.atomic
def publish_guidelines(*, study: str, text: str, since: int, by: User) -> int:
    """Put new guidelines into force; annotators read them before they go on. The new version.

    Args:
        study: The study's short name.
        text: The guidelines, in Markdown; empty where there are to be none.
        since: The version on which the text was written.
        by: Who publishes.

    Raises:
        Study.DoesNotExist: There is no such study.
        Refused: `since` is not the version in force; the text is the one in force.
    """
    row = Study.objects.get(slug=study)
    if row.guidelines_version != since:
        raise Refused("guidelines:outdated")
    if _plain(row.guidelines) == _plain(text):
        raise Refused("guidelines:unchanged")
    keep_version_in_force(row, row.created_by)
    changed = Study.objects.filter(pk=row.pk, guidelines_version=since).update(
        guidelines=text, guidelines_version=since + 1
    )
    if not changed:
        raise Refused("guidelines:outdated")
    GuidelinesVersion.objects.create(study=row, version=since + 1, text=text, created_by=by)
    AuditEvent.objects.create(
        actor=by,
        action="study.guidelines",
        target="study",
        target_id=row.pk,
        detail={"version": since + 1},
    )
    return since + 1


def _plain(text: str) -> str:
    """A text without what a browser may change of it: line ends, and space around it."""
    return text.replace("\r\n", "\n").strip()
