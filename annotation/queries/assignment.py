"""Which items an annotator may take, how far they are, and what they were shown before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from django.core.cache import cache
from django.db import connection
from django.db.models import Model

from annotation.core.assignment import Progress
from annotation.core.choices import Order, StudyKind, Verdict
from annotation.core.hidden_items import gap_of
from annotation.core.labelling import FinishedItem, PastOrder, answer_of
from annotation.models import (
    Claim,
    ClaimState,
    Comparison,
    ItemKind,
    Response,
    Scenario,
    Session,
    Study,
    StudyItem,
    Turn,
    User,
)
from annotation.queries import repeats
from annotation.queries.sql import Joined, moment_of, rows_of
from annotation.queries.withheld import withholds

_ITEM_TABLES: Final[dict[str, type[Model]]] = {
    "item": StudyItem,
    "comparison": Comparison,
    "turn": Turn,
    "response_a": Response,
    "response_b": Response,
    "session": Session,
    "scenario": Scenario,
}
"""What a task needs of an item, but for the earlier turns."""

_ITEM_JOINS: Final = """
LEFT JOIN annotation_comparison comparison ON comparison.id = item.comparison_id
LEFT JOIN annotation_turn turn ON turn.id = comparison.turn_id
LEFT JOIN annotation_response response_a ON response_a.id = comparison.response_a_id
LEFT JOIN annotation_response response_b ON response_b.id = comparison.response_b_id
LEFT JOIN annotation_session session ON session.id = COALESCE(item.session_id, turn.session_id)
LEFT JOIN annotation_scenario scenario ON scenario.id = session.scenario_id
"""
_ITEM: Final = Joined(
    f"FROM annotation_studyitem item {_ITEM_JOINS} WHERE item.id = %(item)s", **_ITEM_TABLES
)
_CLAIM: Final = (
    "FROM annotation_claim claim JOIN annotation_studyitem item ON item.id = claim.item_id"
)
_OWN_ON_ITEM: Final = """
WHERE claim.item_id = %(item)s AND claim.annotator_id = %(annotator)s AND item.study_id = %(study)s
"""
_OWN_CLAIM: Final = Joined(f"{_CLAIM} {_OWN_ON_ITEM}", claim=Claim, item=StudyItem)
_CLAIMS_ON: Final = Joined(
    "FROM annotation_claim claim WHERE claim.item_id = %(item)s ORDER BY claim.id", claim=Claim
)
_OWN_TASK: Final = Joined(f"{_CLAIM} {_ITEM_JOINS} {_OWN_ON_ITEM}", claim=Claim, **_ITEM_TABLES)
_STATES: Final = """
SELECT claim.state, COUNT(*)
FROM annotation_claim claim
WHERE claim.annotator_id = %(annotator)s
AND (SELECT study_id FROM annotation_studyitem item WHERE item.id = claim.item_id) = %(study)s
GROUP BY claim.state
"""
"""Not by a join: PostgreSQL would read half the study's items beside a thousand claims."""
_ITEMS_AND_FULL: Final = """
SELECT (SELECT COUNT(*) FROM annotation_studyitem WHERE study_id = %(study)s), COUNT(*)
FROM (
    SELECT 1
    FROM annotation_claim claim JOIN annotation_studyitem item ON item.id = claim.item_id
    WHERE item.study_id = %(study)s AND claim.annotator_id <> %(annotator)s
    AND (claim.state = 'DONE' OR (claim.state = 'ACTIVE' AND claim.expires_at > %(now)s))
    AND NOT EXISTS (
        SELECT 1 FROM annotation_claim own
        WHERE own.item_id = claim.item_id AND own.annotator_id = %(annotator)s
        AND own.state <> 'RELEASED'
    )
    GROUP BY claim.item_id HAVING COUNT(*) >= %(overlap)s
) filled
"""
_LAST_GIVEN: Final = """
SELECT item.position, claim.state = 'RELEASED' AND claim.finished_at IS NULL, item.language
FROM annotation_claim claim JOIN annotation_studyitem item ON item.id = claim.item_id
WHERE claim.annotator_id = %(annotator)s AND item.study_id = %(study)s AND NOT claim.given
ORDER BY claim.claimed_at DESC, claim.id DESC LIMIT 1
"""
_FREE: Final = """
SELECT item.id
FROM annotation_studyitem item
WHERE item.study_id = %(study)s AND item.position > %(after)s
AND NOT EXISTS (
    SELECT 1 FROM annotation_claim own
    WHERE own.item_id = item.id AND own.annotator_id = %(annotator)s AND own.state <> 'RELEASED'
)
AND item.kind <> 'REPEAT'
AND (
    SELECT COUNT(*) FROM annotation_claim held
    WHERE held.item_id = item.id AND held.annotator_id <> %(annotator)s
    AND (held.state = 'DONE' OR (held.state = 'ACTIVE' AND held.expires_at > %(now)s))
) < %(overlap)s
"""
_FIRST: Final = "ORDER BY item.position LIMIT 1"
_NEXT_FREE: Final = f"{_FREE} {_FIRST}"
_NEXT_IN_LANGUAGE: Final = f"{_FREE} AND item.language = %(language)s {_FIRST}"
_NEXT_IN_ANOTHER: Final = f"{_FREE} AND item.language <> %(language)s {_FIRST}"
_BEGINS_WITH: Final = """
SELECT item.language FROM annotation_studyitem item
WHERE item.study_id = %(study)s ORDER BY item.position LIMIT 1
"""
_NOT_IN_HAND: Final = "FOR NO KEY UPDATE OF item SKIP LOCKED"

_AT_HAND: Final = """
SELECT claim.claimed_at, claim.id, claim.item_id
FROM annotation_claim claim JOIN annotation_studyitem item ON item.id = claim.item_id
WHERE claim.annotator_id = %(annotator)s AND claim.state = 'ACTIVE' AND item.study_id = %(study)s
"""
_SHOWN_SINCE: Final = """
SELECT a.model, b.model, claim.shown_order, COUNT(*), MAX(claim.id)
FROM annotation_claim claim
JOIN annotation_studyitem item ON item.id = claim.item_id
JOIN annotation_comparison pair ON pair.id = item.comparison_id
JOIN annotation_response a ON a.id = pair.response_a_id
JOIN annotation_response b ON b.id = pair.response_b_id
WHERE claim.annotator_id = %(annotator)s AND claim.id > %(last)s
AND claim.shown_order IS NOT NULL AND item.kind <> 'REPEAT'
GROUP BY a.model, b.model, claim.shown_order
"""

_FINISHED_COLUMNS: Final = (
    "claim.item_id, claim.state, claim.finished_at, claim.shown_order, label.verdict"
)
_FINISHED_FROM: Final = """
FROM annotation_claim claim
JOIN annotation_studyitem item ON item.id = claim.item_id
LEFT JOIN annotation_pairwiselabel label ON claim.state = 'DONE'
    AND label.annotator_id = claim.annotator_id AND label.comparison_id = item.comparison_id
    AND label.study_id = item.study_id AND label.repeat_index = CASE item.kind
        WHEN 'REPEAT' THEN 1 + (
            SELECT COUNT(*) FROM annotation_studyitem earlier
            WHERE earlier.repeat_of_id = item.repeat_of_id AND earlier.position < item.position
        ) ELSE 0 END
WHERE claim.annotator_id = %(annotator)s AND item.study_id = %(study)s
"""
_FINISHED_WHERE: Final = f"SELECT {_FINISHED_COLUMNS} {_FINISHED_FROM}"
_NEWEST: Final = "ORDER BY claim.finished_at DESC, claim.id DESC LIMIT 1"
_FINISHED: Final = f"{_FINISHED_WHERE} AND claim.finished_at IS NOT NULL {_NEWEST}"
_FINISHED_BEFORE: Final = f"{_FINISHED_WHERE} AND claim.finished_at < %(before)s {_NEWEST}"
_FINISHED_ITEM: Final = (
    f"{_FINISHED_WHERE} AND claim.finished_at IS NOT NULL AND claim.item_id = %(item)s"
)
_FINISHED_LIST: Final = f"""{_FINISHED_WHERE} AND claim.state IN ('DONE', 'SKIPPED')
ORDER BY claim.finished_at DESC, claim.id DESC LIMIT %(most)s"""
# Claims of every state count: an item returned after a repeat stands between it and its first.
_LATELY_GIVEN: Final = """AND claim.state IN ('DONE', 'SKIPPED') AND claim.id IN (SELECT id FROM (
    SELECT own.id FROM annotation_claim own
    JOIN annotation_studyitem given ON given.id = own.item_id
    WHERE own.annotator_id = %(annotator)s AND given.study_id = %(study)s
    ORDER BY own.claimed_at DESC, own.id DESC LIMIT %(most)s
) lately)
ORDER BY claim.finished_at DESC, claim.id DESC"""
_FINISHED_LATELY: Final = f"{_FINISHED_WHERE} {_LATELY_GIVEN}"

_SKIPPED_AND_FREE: Final = """
SELECT claim.item_id
FROM annotation_claim claim JOIN annotation_studyitem item ON item.id = claim.item_id
WHERE claim.annotator_id = %(annotator)s AND item.study_id = %(study)s AND claim.state = 'SKIPPED'
AND (
    SELECT COUNT(*) FROM annotation_claim held
    WHERE held.item_id = claim.item_id AND held.annotator_id <> %(annotator)s
    AND (held.state = 'DONE' OR (held.state = 'ACTIVE' AND held.expires_at > %(now)s))
) < %(overlap)s
ORDER BY claim.finished_at DESC, claim.id DESC
"""

_COUNTS_A_SECOND: Final = 1000  # how long a count is kept: a second for so many rows counted
_KEPT_AT_MOST: Final = 60  # seconds
_ORDERS_KEPT: Final = 6 * 3600  # seconds
_ORDERS_BLOCK: Final = 20
_LISTED_AT_MOST: Final = 10_000

_Shown: TypeAlias = tuple[str, str, Order]


def progress_of(study: Study, annotator_id: int, now: datetime) -> Progress:
    """How many items this annotator answered, gave back, and may still get.

    Their own items count at once; of what others fill in a study of thousands of items, a page may
    know up to a minute later.
    """
    if study.repeat_rate:
        return _progress_with_repeats(study, annotator_id, now)
    states = dict(rows_of(_STATES, study=study.pk, annotator=annotator_id))
    done, skipped = states.get(ClaimState.DONE, 0), states.get(ClaimState.SKIPPED, 0)
    left = _open_items(study, annotator_id, now) - done - skipped
    return Progress(done=done, skipped=skipped, left=max(left, states.get(ClaimState.ACTIVE, 0)))


def _progress_with_repeats(study: Study, annotator_id: int, now: datetime) -> Progress:
    """The same where some items come again, so that no number tells which.

    A repeat counts as left from the beginning, and until everything else is done or filled by
    others; then the repeats count that the annotator can still get.
    """
    states = repeats.own_states(study, annotator_id)

    def number(state: ClaimState) -> int:
        return states.get((state, False), 0) + states.get((state, True), 0)

    done, skipped, active = map(number, (ClaimState.DONE, ClaimState.SKIPPED, ClaimState.ACTIVE))
    normal, again = _open_with_repeats(study, annotator_id, now)
    finished = (states.get((state, False), 0) for state in (ClaimState.DONE, ClaimState.SKIPPED))
    if normal > sum(finished):
        left = normal + again - done - skipped
    else:
        left = active + len(repeats.left_at_the_end(study, annotator_id, now))
    return Progress(done=done, skipped=skipped, left=max(left, active))


def _open_with_repeats(study: Study, annotator_id: int, now: datetime) -> tuple[int, int]:
    """As `_open_items`, repeats apart."""
    key = f"open-items-and-repeats:{study.pk}:{study.overlap}:{annotator_id}"
    kept: tuple[int, int] | None = cache.get(key)
    if kept is not None:
        return kept
    normal, again, items = repeats.open_items(study, annotator_id, now)
    _keep(key, (normal, again), counted=2 * items - normal - again)
    return normal, again


def _open_items(study: Study, annotator_id: int, now: datetime) -> int:
    """Items of the study but for those that others fill and this annotator never finished.

    What the annotator answers or skips leaves it as it is, so it can be kept while they work.
    """
    key = f"open-items:{study.pk}:{study.overlap}:{annotator_id}"
    kept: int | None = cache.get(key)
    if kept is not None:
        return kept
    ((items, full),) = rows_of(
        _ITEMS_AND_FULL, study=study.pk, annotator=annotator_id, overlap=study.overlap, now=now
    )
    _keep(key, items - full, counted=items + full)
    return int(items - full)


def _keep(key: str, counts: object, *, counted: int) -> None:
    """Keep counts the longer, the more rows were counted for them; few rows not at all."""
    seconds = min(counted // _COUNTS_A_SECOND, _KEPT_AT_MOST)
    if seconds:
        cache.set(key, counts, seconds)


def next_free_item(
    study: Study, annotator_id: int, now: datetime, language: str = ""
) -> StudyItem | None:
    """The first item after the last one given out that this annotator may take, else of all.

    Where the study has items of several languages, those of the one they begin in come first, with
    the repeats of those; to change the language of the site changes nothing. The last item itself
    comes first where they gave it back, as at signing out. Left out are items they answered,
    skipped or hold, and items that others hold in full. A hidden repeat of what they answered comes
    when it is due, and at the end.

    Call it within a transaction: where the database can lock a row, the item is locked, and one
    that somebody else is just claiming is passed over as long as there is another.
    """
    own: dict[str, Any] = {"study": study.pk, "annotator": annotator_id}
    if study.repeat_rate:
        follows = repeats.due(study, annotator_id, now)
        if follows.repeat is not None:
            return _item(follows.repeat)
        last, last_language = follows.after, follows.language
    else:
        rows = rows_of(_LAST_GIVEN, **own)
        ((position, given_back, last_language),) = rows or [(None, False, "")]
        last = None if position is None else position - bool(given_back)
    own |= {"overlap": study.overlap, "now": now}
    if last is None:
        last_language = language if language and _has_languages(study) else ""
    own["language"] = last_language
    if own["language"]:
        found = (
            _first_free(_NEXT_IN_LANGUAGE, last, own)
            or _left(study, annotator_id, now)
            or _first_free(_NEXT_IN_ANOTHER, None, own)
        )
    else:
        found = _first_free(_NEXT_FREE, last, own) or _left(study, annotator_id, now)
    return None if found is None else _item(found)


def _has_languages(study: Study) -> bool:
    """Whether items differ in language: then all of them bear one, else none does."""
    return any(language for (language,) in rows_of(_BEGINS_WITH, study=study.pk))


def _first_free(statement: str, last: int | None, own: Mapping[str, Any]) -> int | None:
    """The first item that the statement finds after a position, else from the beginning."""
    tries = [(statement, after) for after in ([-1] if last is None else [last, -1])]
    if connection.features.has_select_for_update_skip_locked:
        locked = [(f"{one} {_NOT_IN_HAND}", after) for one, after in tries]
        tries = [*locked, (statement, -1)]
    for one, after in tries:
        free = rows_of(one, **own, after=after)
        if free:
            return int(free[0][0])
    return None


def _left(study: Study, annotator_id: int, now: datetime) -> int | None:
    if not study.repeat_rate:
        return None
    left = repeats.left_at_the_end(study, annotator_id, now)
    return left[0] if left else None


def _item(number: int) -> StudyItem:
    (rows,) = _ITEM.rows(item=number)
    return _linked_item(rows)


def _linked_item(rows: dict[str, Any]) -> StudyItem:
    """The item with the rows behind it in their places."""
    item: StudyItem = rows["item"]
    comparison, session = rows["comparison"], rows["session"]
    session.scenario = rows["scenario"]
    item.comparison = comparison
    if comparison is None:
        item.session = session
        return item
    comparison.response_a, comparison.response_b = rows["response_a"], rows["response_b"]
    comparison.turn = rows["turn"]
    comparison.turn.session = session
    return item


def past_orders(annotator: User) -> list[PastOrder]:
    """The annotator's first presentations, counted by models and order.

    Hidden repeats are no first presentations; skipped and released claims are. Claims only ever
    grow in number and keep their order, so what was counted is kept, some at a time, and
    counting goes on from there.
    """
    key = f"past-orders:{annotator.pk}:{annotator.date_joined.timestamp()}"
    kept: tuple[int, Counter[_Shown]] = cache.get(key, (0, Counter()))
    last, counts = kept
    new = 0
    since = rows_of(_SHOWN_SINCE, annotator=annotator.pk, last=last)
    for model_a, model_b, order, n, newest in since:
        counts[model_a, model_b, Order(order)] += n
        last = max(last, newest)
        new += n
    if new >= _ORDERS_BLOCK:
        cache.set(key, (last, counts), _ORDERS_KEPT)
    return [PastOrder(*shown, n) for shown, n in counts.items()]


def claim_at_hand(study: Study, annotator_id: int) -> Claim | None:
    """The claim that waits for an answer, as `own_task_claim`; of several the oldest."""
    found = min(rows_of(_AT_HAND, study=study.pk, annotator=annotator_id), default=None)
    return own_task_claim(found[-1], study, annotator_id) if found else None


def own_task_claim(item: int, study: Study, annotator_id: int) -> Claim | None:
    """The annotator's claim on an item of a study, with all a task needs but the earlier turns."""
    for rows in _OWN_TASK.rows(item=item, study=study.pk, annotator=annotator_id):
        claim: Claim = rows["claim"]
        claim.item = _linked_item(rows)
        return claim
    return None


def claims_on(item: StudyItem) -> list[Claim]:
    """Everybody's claims on an item, the released ones too."""
    return [rows["claim"] for rows in _CLAIMS_ON.rows(item=item.pk)]


def own_claim_on(item: int, study: Study, annotator_id: int) -> Claim | None:
    """The annotator's claim on an item of a study, with the item."""
    for rows in _OWN_CLAIM.rows(item=item, study=study.pk, annotator=annotator_id):
        claim: Claim = rows["claim"]
        claim.item = rows["item"]
        return claim
    return None


def last_finished(
    study: Study, annotator_id: int, before: datetime | None = None
) -> FinishedItem | None:
    """The item that the annotator answered or skipped last (before a moment).

    While repeats are hidden, only as far back as `finished_items` goes.
    """
    if withholds(study) and before is not None:
        found = (row for row in _finished_lately(study, annotator_id) if moment_of(row[2]) < before)
        return next((_finished(*row) for row in found), None)
    own: dict[str, Any] = {"study": study.pk, "annotator": annotator_id}
    rows = rows_of(_FINISHED_BEFORE, **own, before=before) if before else rows_of(_FINISHED, **own)
    return _finished(*rows[0]) if rows else None


def finished_item(study: Study, annotator_id: int, item: int) -> FinishedItem | None:
    """An item that the annotator answered, skipped, or had to give back."""
    found = rows_of(_FINISHED_ITEM, study=study.pk, annotator=annotator_id, item=item)
    return _finished(*found[0]) if found else None


def finished_items(study: Study, annotator_id: int) -> list[FinishedItem]:
    """The items that the annotator answered or skipped, newest first.

    While repeats are hidden, only those among the last items that were given, fewer than a repeat
    comes after its first: the first answer is listed neither while its repeat is answered, nor
    just before, nor ever after.
    """
    if withholds(study):
        return [_finished(*row) for row in _finished_lately(study, annotator_id)]
    own = {"study": study.pk, "annotator": annotator_id, "most": _LISTED_AT_MOST}
    return [_finished(*row) for row in rows_of(_FINISHED_LIST, **own)]


def _finished_lately(study: Study, annotator_id: int) -> list[tuple[Any, ...]]:
    most = gap_of(StudyKind(study.kind)) - 1
    return rows_of(_FINISHED_LATELY, study=study.pk, annotator=annotator_id, most=most)


def open_skips(study: Study, annotator_id: int, now: datetime) -> list[int]:
    """The items that the annotator skipped and may still answer, newest first."""
    own = {"study": study.pk, "annotator": annotator_id}
    found = rows_of(_SKIPPED_AND_FREE, **own, overlap=study.overlap, now=now)
    return [int(item) for (item,) in found]


def _finished(item: int, state: str, finished_at: Any, order: str, verdict: str) -> FinishedItem:
    return FinishedItem(
        item,
        answered=state == ClaimState.DONE,
        answer=answer_of(Verdict(verdict), Order(order or Order.ORIGINAL)) if verdict else None,
        skipped_at=moment_of(finished_at) if state == ClaimState.SKIPPED else None,
    )


def repeat_index(item: StudyItem) -> int:
    """0 for a first presentation, n for the n-th hidden repeat of it."""
    if item.kind != ItemKind.REPEAT:
        return 0
    earlier = StudyItem.objects.filter(repeat_of_id=item.repeat_of_id, position__lt=item.position)
    return 1 + earlier.count()
