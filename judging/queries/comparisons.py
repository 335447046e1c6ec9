"""Comparisons as splits and judges need them: ids and hashes of many, texts of a few."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from annotation.core.choices import Verdict
from annotation.core.splits import SplitItem
from annotation.models import Comparison, PairwiseLabel, Response, Turn
from judging.core.judge_prompts import EarlierTurn, PairTexts, pair_texts

FILE_ORDER = ("turn__session__position", "turn__session_id", "turn__position", "position", "id")


def split_items(dataset_id: int) -> dict[int, list[SplitItem]]:
    """Comparisons that can be judged, by scenario id, in file order; hashes stand for texts.

    A response whose text is not available (vote files) cannot be judged. One query.
    """
    rows = (
        Comparison.objects.filter(
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
        )
    )
    items: dict[int, list[SplitItem]] = defaultdict(list)
    for scenario_id, comparison_id, turn_id, hash_a, hash_b in rows.iterator(chunk_size=2000):
        items[scenario_id].append(SplitItem(comparison_id, turn_id, hash_a, hash_b))
    return dict(items)


def verdicts_of(annotator_id: int, *, dataset_id: int) -> dict[int, Verdict]:
    """An annotator's verdict by comparison, ties included; of repeated labels the first counts."""
    rows = (
        PairwiseLabel.objects.filter(
            annotator_id=annotator_id, comparison__turn__session__dataset_id=dataset_id
        )
        .order_by("-repeat_index", "-id")
        .values_list("comparison_id", "verdict")
    )
    return {comparison_id: Verdict(verdict) for comparison_id, verdict in rows}


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
    comparisons = [
        comparison
        for comparison in Comparison.objects.filter(id__in=comparison_ids).select_related(
            "turn__session", "response_a", "response_b"
        )
        if comparison.response_a.text is not None and comparison.response_b.text is not None
    ]
    sessions = {comparison.turn.session_id for comparison in comparisons}
    turns = _earlier_turns({c.turn.session_id for c in comparisons if c.turn.position})
    originals = _original_replies(sessions if turns else set())
    own = _own_lines(
        response for each in comparisons for response in (each.response_a, each.response_b)
    )
    return {
        comparison.id: _texts(
            comparison,
            earlier=[
                turn
                for turn in turns.get(comparison.turn.session_id, ())
                if turn.position < comparison.turn.position
            ],
            line_a=_Line(own[comparison.response_a_id], originals[comparison.turn.session_id]),
            line_b=_Line(own[comparison.response_b_id], originals[comparison.turn.session_id]),
        )
        for comparison in comparisons
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
    own = _own_lines(responses)
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
    comparison: Comparison, *, earlier: Collection[Turn], line_a: _Line, line_b: _Line
) -> PairTexts:
    session = comparison.turn.session
    return pair_texts(
        system_prompt=session.system_prompt,
        earlier=[_earlier(turn, line_a, line_b) for turn in earlier],
        user_message=comparison.turn.user_message,
        text_a=comparison.response_a.text or "",
        text_b=comparison.response_b.text or "",
        language=session.language,
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


def _own_lines(responses: Iterable[Response]) -> dict[int, dict[int, Response]]:
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
