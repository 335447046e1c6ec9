"""How figures are computed, what terms mean, what files hold: docs/*.md, in Chinese too."""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from django.conf import settings
from django.utils.safestring import SafeString
from django.utils.text import slugify

from annotation.templatetags.look import markdown

_HEADING: Final = re.compile(r'^<a id="([a-z0-9-]+)"></a>\n(##+) (.+)\n', re.MULTILINE)
_WRAPPED: Final = re.compile(r"(?<=[^\n|])\n {0,2}(?=[^\s|#>*-])")
"""A line break within a sentence. Elsewhere the renderer keeps them, for messages need theirs."""


_TERM: Final = re.compile(
    r'^<a id="([a-z0-9-]+)"></a>\n### (.+)\n(.+)\n(?:\[.+\]\(methods(?:\.zh)?\.md#([a-z0-9-]+)\))?',
    re.MULTILINE,
)


class Term(NamedTuple):
    """A term with its explanation in plain text, and the section of its method, "" without one."""

    title: str
    text: str
    method: str


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
    before, *parts = _HEADING.split(_source("methods", language).partition("\n")[2])
    found: list[MethodChapter] = []
    for anchor, level, title, text in zip(*(parts[at::4] for at in range(4)), strict=True):
        section = MethodSection(anchor, title, _rendered(text))
        if level == "##":
            found.append(MethodChapter(section, []))
        else:
            found[-1].figures.append(section)
    return _rendered(before), found


@cache
def glossary(language: str) -> dict[str, Term]:
    """The terms by anchor, in the order of the English ones; the language as for `chapters`."""
    return {anchor: Term(*rest) for anchor, *rest in _TERM.findall(_source("glossary", language))}


_PART: Final = re.compile(r"^(#{1,3}) (.+)\n", re.MULTILINE)
_LINK: Final = re.compile(r"\[([^\]]+)\]\([^)]+\)")
"""What leads to another file or place in Markdown: on the page its text stands alone."""


@cache
def formats(language: str) -> list[MethodChapter]:
    """What can be imported, exported and read by commands; the language as for `chapters`.

    A format's anchor is its name, another's its English title.
    """
    _before, *parts = _PART.split(_source("formats", language))
    english = _PART.split(_source("formats", "en"))[2::3]
    found: list[MethodChapter] = []
    for level, title, text, original in zip(
        *(parts[at::3] for at in range(3)), english, strict=True
    ):
        name, colon, _rest = original.partition(":")
        anchor = name if colon and level == "##" else slugify(original)
        plain = title.replace("`", "")
        section = MethodSection(anchor, plain, _rendered(_LINK.sub(r"\1", text)))
        if level == "#":
            found.append(MethodChapter(section, []))
        else:
            found[-1].figures.append(section)
    return found


def _source(name: str, language: str) -> str:
    file = f"{name}.zh.md" if language.startswith("zh") else f"{name}.md"
    return (settings.BASE_DIR / "docs" / file).read_text("utf-8")


def _rendered(text: str) -> SafeString:
    return markdown(_WRAPPED.sub(" ", text.strip()))
