"""What was said before the responses of a turn, for many turns at once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from annotation.core.dialogue import Speaker
from annotation.models import Response, Turn


def dialogues_before(turns: Iterable[Turn]) -> dict[int, list[dict[str, str]]]:
    """The messages up to and with each turn's user message, by turn id (at most two queries).

    Earlier answers are the originals; a text that is not available is left out.
    """
    wanted = list(turns)
    later = [turn.session_id for turn in wanted if turn.position > 0]
    earlier: dict[int, list[Turn]] = defaultdict(list)
    answers: dict[int, str] = {}
    if later:
        for turn in Turn.objects.filter(session__in=later).order_by("session_id", "position"):
            earlier[turn.session_id].append(turn)
        originals = Response.objects.filter(
            turn__session__in=later, original=True, text__isnull=False
        )
        answers = {turn: text or "" for turn, text in originals.values_list("turn_id", "text")}
    dialogues = {}
    for turn in wanted:
        messages: list[dict[str, str]] = []
        for before in earlier[turn.session_id]:
            if before.position < turn.position:
                _say(messages, Speaker.USER, before.user_message)
                _say(messages, Speaker.ASSISTANT, answers.get(before.pk))
        _say(messages, Speaker.USER, turn.user_message)
        dialogues[turn.pk] = messages
    return dialogues


def _say(messages: list[dict[str, str]], role: Speaker, text: str | None) -> None:
    if text is not None:
        messages.append({"role": role.value, "content": text})
