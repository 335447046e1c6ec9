"""The pair that follows the one at hand, so that a browser can have it ready.

Looking ahead gives nothing out: an item is the annotator's once it is claimed, on going on.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from annotation.core.labelling import FinishedItem, PairTask
from annotation.models import Claim, ClaimState, User
from annotation.queries.assignment import next_free_item
from annotation.queries.labelling import task_of
from annotation.services.claims import open_study_of, order_for, own_claim


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
