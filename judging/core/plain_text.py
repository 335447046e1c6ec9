"""Text that can be sent and stored everywhere."""

from __future__ import annotations

import re
from typing import Final

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with U+FFFD for what UTF-8 or PostgreSQL cannot hold: lone surrogates and NUL."""
    return _UNSTORABLE.sub("\ufffd", text)
