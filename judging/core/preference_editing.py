"""What a person may write as a preference: plain text that every prompt has room for."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from annotation.core.refusals import Refused
from judging.core.judge_prompts import PREFERENCE_TOKENS
from judging.core.prompts import neutralise
from judging.core.tokens import estimate_tokens

MOST_CHARACTERS: Final = 2000
_BLANK_LINES: Final = re.compile(r"\n{3,}")
_SPACE_AT_ENDS: Final = re.compile(r"[ \t]+(?=\n)")


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
