"""A preference text as a distiller wrote it, without its wrapping, and as a person edits it."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from annotation.core.refusals import Refused
from judging.core.judge_prompts import PREFERENCE_TOKENS
from judging.core.money import estimate_tokens
from judging.core.prompts import neutralise

_OPENING_FENCE: Final = re.compile(r"```[a-z]*+(?=[^\S\n]*+\n)\s*+")
_FENCE: Final = "```"
_LABEL: Final = re.compile(
    r"[*_#\s]*+(?:the\s++)?+(?:(?:persona|person|user)(?:['’]s)?\s++)?+preference"
    r"[*_\s]*+[:：][*_\s]*+"
    r"|[*_#\s]*+(?:用户)?(?:的)?偏好(?:描述)?[*_\s]*+[:：][*_\s]*+",
    re.IGNORECASE,
)
_QUOTES: Final = (('"', '"'), ("“", "”"), ("「", "」"))


EMPTY: Final = "preference:empty"


def read_preference(reply: str) -> str:
    """The description in a distiller's reply, without code fence, label or quotes around it.

    Raises:
        Refused: nothing is left.
    """
    text = reply.strip()
    opening = _OPENING_FENCE.match(text)
    if opening and text[opening.end() :].endswith(_FENCE):
        text = text[opening.end() :].removesuffix(_FENCE).strip()
    if label := _LABEL.match(text):
        text = text[label.end() :].strip()
    for left, right in _QUOTES:
        inner = text[1:-1]
        if text.startswith(left) and text.endswith(right) and left not in inner:
            text = inner.strip()
    if not text:
        raise Refused(EMPTY, "the reply holds no preference")
    return text


MOST_CHARACTERS: Final = 2000
_BLANK_LINES: Final = re.compile(r"\n{3,}")
_SPACE_AT_ENDS: Final = re.compile(r"(?<![ \t])[ \t]++(?=\n)")


BLANK: Final = "preference:blank"
TOO_LONG: Final = "preference:too-long"


def edited_text(typed: str) -> str:
    """The text as it is stored and asked with.

    Line ends are line feeds, invisible control and formatting characters are gone, and the
    prompts' own delimiters are neutralised as they are in a prompt, so that what a person reads is
    what a judge reads. Applying it twice changes nothing more.

    Raises:
        Refused: nothing is left, or a prompt has no room for it.
    """
    text = typed.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    text = "".join(character for character in text if _visible(character))
    text = _BLANK_LINES.sub("\n\n", _SPACE_AT_ENDS.sub("", neutralise(text))).strip()
    if not text:
        raise Refused(BLANK)
    if len(text) > MOST_CHARACTERS or estimate_tokens(text) > PREFERENCE_TOKENS:
        raise Refused(TOO_LONG)
    return text


def _visible(character: str) -> bool:
    """Whether a character is text: no control, and none that only changes how others are shown.

    The joiners that emoji and some scripts are written with stay.
    """
    if character in "\n\u200c\u200d":
        return True
    return unicodedata.category(character) not in {"Cc", "Cf"}
