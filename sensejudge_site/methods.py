"""How each figure is computed: docs/methods.md and its Chinese twin as a page."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from django.conf import settings
from django.utils.safestring import SafeString

from annotation.templatetags.look import markdown

_HEADING: Final = re.compile(r'^<a id="([a-z0-9-]+)"></a>\n(##+) (.+)\n', re.MULTILINE)
_WRAPPED: Final = re.compile(r"(?<=[^\n|])\n {0,2}(?=[^\s|#>*-])")
"""A line break within a sentence. Elsewhere the renderer keeps them, for messages need theirs."""


class MethodSection(NamedTuple):
    """A figure, or a chapter of figures, with the id that addresses lead to."""

    anchor: str
    title: str
    text: SafeString


class MethodChapter(NamedTuple):
    """A chapter with the figures that stand in it."""

    opening: MethodSection
    figures: list[MethodSection]


@cache
def chapters(language: str) -> tuple[SafeString, list[MethodChapter]]:
    """What stands before the chapters, and the chapters: in Chinese for "zh…", else in English."""
    name = "methods.zh.md" if language.startswith("zh") else "methods.md"
    source = (settings.BASE_DIR / "docs" / name).read_text("utf-8")
    before, *parts = _HEADING.split(source.partition("\n")[2])
    found: list[MethodChapter] = []
    for anchor, level, title, text in zip(*(parts[at::4] for at in range(4)), strict=True):
        section = MethodSection(anchor, title, _rendered(text))
        if level == "##":
            found.append(MethodChapter(section, []))
        else:
            found[-1].figures.append(section)
    return _rendered(before), found


def _rendered(text: str) -> SafeString:
    return markdown(_WRAPPED.sub(" ", text.strip()))
