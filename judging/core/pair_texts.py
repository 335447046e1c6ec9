"""The conversation that two responses share, and the two texts to compare after it.

Where both responses follow the same earlier turns, that is the conversation. Where each follows
its own (the second turns of MT-Bench), what differs belongs to the texts: each then carries its
own earlier replies and the messages between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from annotation.core.choices import Verdict
from annotation.core.dialogue import Dialogue, Message, Speaker
from annotation.core.language import language_of
from judging.core.questions import LabelledPair


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """A turn before the compared one, with the reply that each line has in it (None: none)."""

    user_message: str | None
    reply_a: str | None
    reply_b: str | None
    same_reply: bool


@dataclass(frozen=True, slots=True)
class PairTexts:
    """What a judge is shown of a comparison, A and B in the comparison's own coordinates.

    `turns` counts the turns of the conversation, the compared one included; `following` are what
    the user said after the shared dialogue, which stands in both texts.
    """

    dialogue: Dialogue
    text_a: str
    text_b: str
    language: str
    turns: int = 1
    following: tuple[str, ...] = ()

    def labelled(self, winner: Verdict) -> LabelledPair:
        """What a distiller is shown, where A or B won."""
        if winner is Verdict.A:
            return LabelledPair(self.dialogue, chosen=self.text_a, rejected=self.text_b)
        return LabelledPair(self.dialogue, chosen=self.text_b, rejected=self.text_a)


def pair_texts(
    *,
    system_prompt: str,
    earlier: Sequence[EarlierTurn],
    user_message: str | None,
    text_a: str,
    text_b: str,
    language: str = "",
) -> PairTexts:
    """Puts a comparison together; `language` "" is found from what the user wrote."""
    shared = next(
        (place for place, turn in enumerate(earlier) if not turn.same_reply), len(earlier)
    )
    messages = [Message(Speaker.SYSTEM, system_prompt)] if system_prompt else []
    for turn in earlier[:shared]:
        _add(messages, turn.user_message, turn.reply_a)
    own = earlier[shared:]
    _add(messages, own[0].user_message if own else user_message, None)
    following = [*(turn.user_message for turn in own[1:]), user_message]
    said = "\n".join(turn.user_message or "" for turn in earlier) + (user_message or "")
    return PairTexts(
        dialogue=tuple(messages),
        text_a=_line([turn.reply_a for turn in own], following, text_a),
        text_b=_line([turn.reply_b for turn in own], following, text_b),
        language=language or language_of(said),
        turns=len(earlier) + 1,
        following=tuple(message or "" for message in following) if own else (),
    )


def _add(messages: list[Message], user: str | None, reply: str | None) -> None:
    if user is not None:
        messages.append(Message(Speaker.USER, user))
    if reply is not None:
        messages.append(Message(Speaker.ASSISTANT, reply))


def _line(replies: Sequence[str | None], following: Sequence[str | None], text: str) -> str:
    """A response with the replies of its own that lead to it."""
    if not replies:
        return text
    parts = []
    for reply, message in zip(replies, following, strict=True):
        parts.append(f"[Assistant]\n{reply or ''}")
        parts.append(f"[User]\n{message or ''}")
    return "\n\n".join([*parts, f"[Assistant]\n{text}"])
