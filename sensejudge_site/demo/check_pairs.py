"""A handful of pairs of the demo study for trying an endpoint: the shorter response is chosen."""

from __future__ import annotations

from typing import Final

from annotation.core.dialogue import Message, Role
from judging.core.questions import LabelledPair
from judging.services.endpoint_check import CheckPair
from sensejudge_site.demo.sessions import WrittenSession, written_sessions

PAIRS_A_LANGUAGE: Final = 2


def check_pairs() -> list[CheckPair]:
    """The shortest conversations of each language, each with its shortest and longest response."""
    pairs: list[CheckPair] = []
    for language in ("en", "zh"):
        sessions = [session for session in written_sessions() if session.language == language]
        shortest = sorted(sessions, key=lambda session: (_length(session), session.key))
        pairs += [CheckPair(_pair(session), language) for session in shortest[:PAIRS_A_LANGUAGE]]
    return pairs


def _pair(session: WrittenSession) -> LabelledPair:
    *earlier, last = session.turns
    messages = [Message(Role.SYSTEM, session.system_prompt)] if session.system_prompt else []
    for turn in earlier:
        messages += [
            Message(Role.USER, turn.user_message),
            Message(Role.ASSISTANT, turn.responses[0].text),
        ]
    messages.append(Message(Role.USER, last.user_message))
    texts = sorted((response.text for response in last.responses), key=len)
    return LabelledPair(tuple(messages), chosen=texts[0], rejected=texts[-1])


def _length(session: WrittenSession) -> int:
    pair = _pair(session)
    return sum(len(message.text) for message in pair.dialogue) + len(pair.chosen + pair.rejected)
