"""Who labels in a dataset, and under which name.

Imported raters are users named `<dataset>:<name>`; within their dataset they go by `<name>`, people
who sign in by their user name. Should both be the same, the rater keeps the full name.
"""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from annotation.core.naming import natural_key
from annotation.core.refusals import Refused
from annotation.models import (
    Dataset,
    PairwiseLabel,
    SatisfactionLabel,
    Session,
    SessionQuestionnaire,
    User,
)

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
    for each in known:
        if each.name == name:
            return each
    for each in known:
        if each.username == name:
            return each
    listed = ", ".join(each.name for each in known[:NAMES_SHOWN]) or "none"
    more = f" and {len(known) - NAMES_SHOWN} more" if len(known) > NAMES_SHOWN else ""
    raise Refused(
        "annotator:unknown",
        f"no annotator {name!r} in dataset {dataset.slug}; known annotators: {listed}{more}",
    )
