"""Languages: by their codes, and of a text, so that a judge is asked in the annotator's."""

from __future__ import annotations

import re
from typing import Final

CHINESE: Final = "zh"
ENGLISH: Final = "en"
UNDETERMINED: Final = "und"
_HAN: Final = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_LATIN_WORD: Final = re.compile(r"[A-Za-z]+")


def primary_language(code: str) -> str:
    """The language of a code such as `zh-Hans`, without script and country."""
    return code.lower().replace("_", "-").partition("-")[0]


def language_of(text: str) -> str:
    """`zh` where Chinese characters are at least as many as Latin words, else `en`.

    A Chinese request that quotes an English phrase stays Chinese, and the other way round.
    """
    han = len(_HAN.findall(text))
    return CHINESE if han and han >= len(_LATIN_WORD.findall(text)) else ENGLISH
