"""Comparisons as splits and judges need them: ids and hashes of many, texts of a few."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from django.db.models import Count, Exists, OuterRef, Q
from django.db.models.query import QuerySet

from annotation.core.choices import Verdict
from annotation.core.language import primary_language
from annotation.core.splits import (
    DEFAULT_DEV_SIZE,
    Pooling,
    SplitItem,
    dev_pairs,
    is_pooled,
    sessions_to_own_parts,
)
from annotation.models import Comparison, Dataset, PairwiseLabel, Response, StudyItem, Turn
from judging.core.judge_prompts import EarlierTurn, PairTexts, pair_texts
from judging.core.targets import RunTarget, Targets

FILE_ORDER = ("turn__session__position", "turn__session_id", "turn__position", "position", "id")


def split_items(dataset_id: int, targets: Targets | None = None) -> dict[int, list[SplitItem]]:
    """Comparisons that can be judged, by scenario id, in file order; hashes stand for texts.

    A response whose text is not available (vote files) cannot be judged. One query.

    Args:
        dataset_id: of this dataset.
        targets: the filters that they pass; kind and sample are the caller's.
    """
    rows = (
        Comparison.objects.filter(
            _passing(targets or Targets()),
            turn__session__dataset_id=dataset_id,
            response_a__text__isnull=False,
            response_b__text__isnull=False,
        )
        .order_by("turn__session__scenario__position", "turn__session__scenario_id", *FILE_ORDER)
        .values_list(
            "turn__session__scenario_id",
            "id",
            "turn_id",
            "response_a__text_hash",
            "response_b__text_hash",
            "turn__session__key",
            "key",
        )
    )
    items: dict[int, list[SplitItem]] = defaultdict(list)
    for scenario, number, turn, hash_a, hash_b, session, key in rows.iterator(chunk_size=2000):
        items[scenario].append(SplitItem(number, turn, hash_a, hash_b, session, key))
    return dict(items)


def with_comparisons() -> QuerySet[Dataset]:
    """The datasets that have a comparison with both texts, by name."""
    whole = Comparison.objects.filter(
        turn__session__dataset=OuterRef("pk"),
        response_a__text__isnull=False,
        response_b__text__isnull=False,
    )
    return Dataset.objects.filter(Exists(whole)).order_by("name")


def _passing(targets: Targets) -> Q:
    passing = Q()
    if targets.kind is RunTarget.STUDY:
        items = StudyItem.objects.filter(study__slug=targets.study, comparison__isnull=False)
        passing &= Q(pk__in=items.values("comparison_id"))
    if targets.kind is RunTarget.PLAN:
        passing &= Q(planned__plan=targets.plan)
    if targets.scenarios:
        passing &= Q(turn__session__scenario__name__in=targets.scenarios)
    if targets.models:
        passing &= Q(response_a__model__in=targets.models) | Q(response_b__model__in=targets.models)
    if targets.languages:
        passing &= in_languages(targets.languages, "turn__session__")
    return passing


def in_languages(codes: Iterable[str], path: str = "") -> Q:
    """Rows whose session, at a path, is in one of some languages, by primary language."""
    known = "|".join(re.escape(primary_language(code)) for code in codes)
    return Q(**{f"{path}language__iregex": rf"^({known})([-_].*)?$"})


def verdicts_of(annotator_id: int, *, dataset_id: int) -> dict[int, Verdict]:
    """An annotator's verdict by comparison, ties included: their last one, repeats left out."""
    rows = (
        PairwiseLabel.objects.filter(
            annotator_id=annotator_id,
            comparison__turn__session__dataset_id=dataset_id,
            repeat_index=0,
        )
        .order_by("id")
        .values_list("comparison_id", "verdict")
    )
    return {comparison_id: Verdict(verdict) for comparison_id, verdict in rows}


class LearnableLabels(NamedTuple):
    """What an annotator's labels leave to learn from: conversations with a winner, dev pairs.

    `pooled` says that one set serves all `scenarios`. `to_own_sets` more conversations would give
    each a set of its own, `to_full` more as many dev pairs in each as are learned from.
    """

    annotator: int
    conversations: int
    scenarios: int
    dev: int
    pooled: bool
    to_own_sets: int
    to_full: int


def learnable_labels(dataset_id: int) -> list[LearnableLabels]:
    """Every annotator who named a winner in a dataset, as the usual rules split. One query."""
    rows = (
        PairwiseLabel.objects.filter(
            comparison__turn__session__dataset_id=dataset_id,
            comparison__response_a__text__isnull=False,
            comparison__response_b__text__isnull=False,
            verdict__in=[Verdict.A, Verdict.B],
            repeat_index=0,
        )
        .order_by()
        .values_list("annotator_id", "comparison__turn__session__scenario_id")
        .annotate(sessions=Count("comparison__turn__session", distinct=True))
    )
    sessions: dict[int, dict[int, int]] = defaultdict(dict)
    for annotator, scenario, count in rows:
        sessions[annotator][scenario] = count
    return [
        LearnableLabels(annotator, sum(own.values()), len(own), *_dev_of(own))
        for annotator, own in sorted(sessions.items())
    ]


def _dev_of(sessions: Mapping[int, int]) -> tuple[int, bool, int, int]:
    pooled = is_pooled(sessions, Pooling.AUTO, size=DEFAULT_DEV_SIZE)
    groups = [sum(sessions.values())] if pooled else list(sessions.values())
    return (
        sum(dev_pairs(count, size=DEFAULT_DEV_SIZE) for count in groups),
        pooled,
        sessions_to_own_parts(sessions, size=DEFAULT_DEV_SIZE),
        sum(max(0, 2 * DEFAULT_DEV_SIZE - count) for count in sessions.values()),
    )


@dataclass(frozen=True, slots=True)
class _Line:
    """The replies that lead to a response: those it continues, then the original ones."""

    own: Mapping[int, Response]
    original: Mapping[int, Response]

    def reply(self, position: int) -> Response | None:
        return self.own.get(position) or self.original.get(position)


def texts_of(comparison_ids: Collection[int]) -> dict[int, PairTexts]:
    """What a judge is shown of each comparison that has both texts.

    Three queries, and one more for each turn that a response goes back on a line of its own.
    """
    rows = Comparison.objects.filter(id__in=comparison_ids)
    comparisons = rows.select_related("turn__session", "response_a", "response_b")
    texts = _pair_texts(
        (each.response_a, each.response_b, each.turn)
        for each in comparisons
        if each.response_a.text is not None and each.response_b.text is not None
    )
    return {
        each.id: texts[each.response_a_id, each.response_b_id]
        for each in comparisons
        if (each.response_a_id, each.response_b_id) in texts
    }


def texts_of_responses(
    pairs: Collection[tuple[int, int]],
) -> dict[tuple[int, int], PairTexts]:
    """What a judge would be shown of two responses of one turn, compared or not; as `texts_of`."""
    numbers = {number for pair in pairs for number in pair}
    rows = Response.objects.filter(text__isnull=False).select_related("turn__session")
    found = rows.in_bulk(numbers)
    return _pair_texts(
        (found[a], found[b], found[a].turn) for a, b in pairs if a in found and b in found
    )


def _pair_texts(
    shown: Iterable[tuple[Response, Response, Turn]],
) -> dict[tuple[int, int], PairTexts]:
    pairs = list(shown)
    turns = _earlier_turns({turn.session_id for _a, _b, turn in pairs if turn.position})
    originals = _original_replies({turn.session_id for *_, turn in pairs} if turns else set())
    own = own_lines(response for a, b, _turn in pairs for response in (a, b))
    return {
        (a.id, b.id): _texts(
            a,
            b,
            turn,
            earlier=[
                each for each in turns.get(turn.session_id, ()) if each.position < turn.position
            ],
            line_a=_Line(own[a.id], originals[turn.session_id]),
            line_b=_Line(own[b.id], originals[turn.session_id]),
        )
        for a, b, turn in pairs
    }


def response_texts_of(response_ids: Collection[int]) -> dict[int, PairTexts]:
    """What a judge is shown of each response that has a text: the conversation of its own line.

    Both texts are the response's. Queries as for `texts_of`.
    """
    responses = list(
        Response.objects.filter(id__in=response_ids, text__isnull=False).select_related(
            "turn__session"
        )
    )
    sessions = {response.turn.session_id for response in responses if response.turn.position}
    turns, originals = _earlier_turns(sessions), _original_replies(sessions)
    own = own_lines(responses)
    found = {}
    for response in responses:
        session = response.turn.session
        line = _Line(own[response.id], originals[session.id])
        found[response.id] = pair_texts(
            system_prompt=session.system_prompt,
            earlier=[
                _earlier(turn, line, line)
                for turn in turns.get(session.id, ())
                if turn.position < response.turn.position
            ],
            user_message=response.turn.user_message,
            text_a=response.text or "",
            text_b=response.text or "",
            language=session.language,
        )
    return found


def _texts(
    a: Response,
    b: Response,
    turn: Turn,
    *,
    earlier: Collection[Turn],
    line_a: _Line,
    line_b: _Line,
) -> PairTexts:
    return pair_texts(
        system_prompt=turn.session.system_prompt,
        earlier=[_earlier(each, line_a, line_b) for each in earlier],
        user_message=turn.user_message,
        text_a=a.text or "",
        text_b=b.text or "",
        language=turn.session.language,
    )


def _earlier(turn: Turn, line_a: _Line, line_b: _Line) -> EarlierTurn:
    reply_a, reply_b = line_a.reply(turn.position), line_b.reply(turn.position)
    return EarlierTurn(
        user_message=turn.user_message,
        reply_a=reply_a.text if reply_a else None,
        reply_b=reply_b.text if reply_b else None,
        same_reply=(reply_a and reply_a.id) == (reply_b and reply_b.id),
    )


def _earlier_turns(session_ids: Collection[int]) -> dict[int, list[Turn]]:
    """Turns by session, in order; none are fetched where every comparison is on a first turn."""
    turns: dict[int, list[Turn]] = defaultdict(list)
    if session_ids:
        for turn in Turn.objects.filter(session_id__in=session_ids).order_by("position"):
            turns[turn.session_id].append(turn)
    return turns


def _original_replies(session_ids: Collection[int]) -> dict[int, dict[int, Response]]:
    """Original responses by session and turn position."""
    found: dict[int, dict[int, Response]] = defaultdict(dict)
    if session_ids:
        for response in Response.objects.filter(
            turn__session_id__in=session_ids, original=True
        ).select_related("turn"):
            found[response.turn.session_id][response.turn.position] = response
    return found


def own_lines(responses: Iterable[Response]) -> dict[int, dict[int, Response]]:
    """By response, the earlier responses that it continues, by turn position."""
    lines: dict[int, dict[int, Response]] = {}
    ahead: dict[int, int] = {}
    for response in responses:
        lines[response.id] = {}
        if response.continues_id is not None:
            ahead[response.id] = response.continues_id
    while ahead:
        met = Response.objects.select_related("turn").in_bulk(set(ahead.values()))
        following: dict[int, int] = {}
        for end, response_id in ahead.items():
            response = met[response_id]
            if response.turn.position in lines[end]:
                continue  # a circle, which no import makes, must not hang a worker
            lines[end][response.turn.position] = response
            if response.continues_id is not None:
                following[end] = response.continues_id
        ahead = following
    return lines
