"""A preference text as a distiller wrote it, without its wrapping."""

from __future__ import annotations

import re
from typing import Final

from annotation.core.refusals import Refused

_FENCE: Final = re.compile(r"\A```[a-z]*\s*\n(.*?)\n?```\Z", re.DOTALL)
_LABEL: Final = re.compile(
    r"\A[*_#\s]*(?:the\s+)?(?:(?:persona|person|user)(?:['’]s)?\s+)?preference[*_\s]*[:：][*_\s]*"
    r"|\A[*_#\s]*(?:用户)?(?:的)?偏好(?:描述)?[*_\s]*[:：][*_\s]*",
    re.IGNORECASE,
)
_QUOTES: Final = (('"', '"'), ("“", "”"), ("「", "」"))


def read_preference(reply: str) -> str:
    """The description in a distiller's reply, without code fence, label or quotes around it.

    Raises:
        Refused: nothing is left.
    """
    text = reply.strip()
    if fenced := _FENCE.match(text):
        text = fenced.group(1).strip()
    text = _LABEL.sub("", text).strip()
    for left, right in _QUOTES:
        inner = text[1:-1]
        if text.startswith(left) and text.endswith(right) and left not in inner:
            text = inner.strip()
    if not text:
        raise Refused("preference:empty", "the reply holds no preference")
    return text
