"""A handful of pairs of the demo study for trying an endpoint, or what talks a judge round."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from annotation.core.dialogue import Message, Speaker
from judging.core.questions import LabelledPair
from judging.services.endpoint_check import CheckPair
from judging.services.injection_check import TriedPair
from sensejudge_site.demo.sessions import WrittenSession, written_sessions

PAIRS_A_LANGUAGE: Final = 2
CLOSE_PAIRS_A_LANGUAGE: Final = 3


def check_pairs() -> list[CheckPair]:
    """The shortest conversations of each language, each with its shortest and longest response.

    The shorter response is chosen.
    """
    return [
        CheckPair(_pair(session), language)
        for language in ("en", "zh")
        for session in _shortest(language)[:PAIRS_A_LANGUAGE]
    ]


def close_pairs() -> list[TriedPair]:
    """The shortest conversations of each language, each with the two responses nearest in length.

    A judge that weighs length is not sure of them, so what an attempt adds can show.
    """
    return [
        _close_pair(session)
        for language in ("en", "zh")
        for session in _shortest(language)[:CLOSE_PAIRS_A_LANGUAGE]
    ]


def _shortest(language: str) -> list[WrittenSession]:
    sessions = [session for session in written_sessions() if session.language == language]
    return sorted(sessions, key=lambda session: (_length(session), session.key))


def _close_pair(session: WrittenSession) -> TriedPair:
    texts = sorted((response.text for response in session.turns[-1].responses), key=len)
    first, second = min(pairwise(texts), key=lambda pair: len(pair[1]) - len(pair[0]))
    return TriedPair(_pair(session).dialogue, first, second, session.language)


def _pair(session: WrittenSession) -> LabelledPair:
    *earlier, last = session.turns
    messages = [Message(Speaker.SYSTEM, session.system_prompt)] if session.system_prompt else []
    for turn in earlier:
        messages += [
            Message(Speaker.USER, turn.user_message),
            Message(Speaker.ASSISTANT, turn.responses[0].text),
        ]
    messages.append(Message(Speaker.USER, last.user_message))
    texts = sorted((response.text for response in last.responses), key=len)
    return LabelledPair(tuple(messages), chosen=texts[0], rejected=texts[-1])


def _length(session: WrittenSession) -> int:
    pair = _pair(session)
    return sum(len(message.text) for message in pair.dialogue) + len(pair.chosen + pair.rejected)
