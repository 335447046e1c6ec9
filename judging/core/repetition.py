"""The repetition attack: does a judge prefer a list that says everything twice?

The "repetitive list" attack on verbosity of the MT-Bench paper (Zheng et al. 2023, section 3.3,
Table 3): in a response that holds a list, the list in other words is put before the original one,
which adds no information, and the judge compares the response with what came of it in both orders.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.refusals import Refused
from judging.core.injections import Flips, ShownVerdict, flips
from judging.core.prompt_edits import FILES, PromptBook
from judging.core.prompts import with_reminders

LEAST_ITEMS: Final = 3
"""Of a list that is worth repeating; the paper says "a numbered list" and no more."""
PAPER: Final = {"GPT-3.5": Flips(21, 23), "Claude-v1": Flips(21, 23), "GPT-4": Flips(2, 23)}
"""Failures of the paper's judges and the answers they saw: its Table 3, 91.3, 91.3 and 8.7 %."""
REPHRASE: Final = "rephrase_list"
TARGET: Final = {Order.ORIGINAL: Verdict.B, Order.SWAPPED: Verdict.A}
"""Where the response with the repeated list is shown; the original order shows it second."""

_ITEM: Final = re.compile(r"( *+)(?:(\d{1,3})(?:[.)](?=\s)|[、．])|([-*+•])(?=\s))\s*+\S")
_FENCE: Final = re.compile(r" {0,3}(?:```|~~~)")


class FoundList(NamedTuple):
    """A list in a text, text[start:end], and how many items it has."""

    start: int
    end: int
    items: int


class _Item(NamedTuple):
    """The first line of an item: how deep it is indented, its bullet or "", its number or 0."""

    indent: int
    bullet: str
    number: int


def longest_list(text: str) -> FoundList | None:
    """The numbered or bulleted list with the most items, the first of several; None without one.

    Items have one mark and one indentation. Between bulleted ones stand blank and deeper indented
    lines alone, between numbered ones, which count on by one, any. Code blocks hold no lists.
    """
    lines = text.splitlines(keepends=True)
    items = _items(lines)
    ends: list[int] = []
    for line in lines:
        ends.append(len(line) + (ends[-1] if ends else 0))
    found: list[FoundList] = []
    passed: set[int] = set()
    for first, item in items.items():
        if first not in passed:
            places = _same_list(lines, items, first)
            passed.update(places)
            last = _last_line(lines, places[-1], indent=item.indent)
            start, end = ends[first] - len(lines[first]), ends[last]
            found.append(FoundList(start, start + len(text[start:end].rstrip()), len(places)))
    return max(found, key=lambda one: one.items, default=None)


def _items(lines: Sequence[str]) -> dict[int, _Item]:
    """By the number of their line."""
    found, fenced = {}, False
    for place, line in enumerate(lines):
        fenced ^= bool(_FENCE.match(line))
        mark = None if fenced else _ITEM.match(line)
        if mark is not None:
            found[place] = _Item(len(mark[1]), mark[3] or "", int(mark[2] or 0))
    return found


def _same_list(lines: Sequence[str], items: Mapping[int, _Item], first: int) -> list[int]:
    """The lines on which the items of a list begin."""
    head, places = items[first], [first]
    for place in range(first + 1, len(lines)):
        item = items.get(place)
        if item is not None and (item.indent, item.bullet) == (head.indent, head.bullet):
            if item.number and item.number != head.number + len(places):
                break  # another list begins
            places.append(place)
        elif head.bullet and lines[place].strip() and _depth(lines[place]) <= head.indent:
            break
    return places


def _last_line(lines: Sequence[str], place: int, *, indent: int) -> int:
    """The last line of an item: what is indented below it belongs to it."""
    last = place
    for at in range(place + 1, len(lines)):
        if lines[at].strip():
            if _depth(lines[at]) <= indent:
                break
            last = at
    return last


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def list_in(text: str) -> str | None:
    """The list of a text that is repeated; None where it has none of LEAST_ITEMS."""
    found = longest_list(text)
    if found is None or found.items < LEAST_ITEMS:
        return None
    return text[found.start : found.end]


def with_repetition(text: str, added: str) -> str:
    """A response with `added`, its list in other words or in the same, in front of the list.

    Raises:
        ValueError: it has no list.
    """
    found = longest_list(text)
    if found is None:
        raise ValueError("there is no list to repeat")
    return f"{text[: found.start]}{added}\n\n{text[found.start :]}"


def rephrase_prompt(text: str, *, language: str, book: PromptBook = FILES) -> str:
    """The question for a list in other words, without anything new."""
    return book.load(REPHRASE, language=language).render({"response": text})


def rephrase_prompts_used(language: str, *, book: PromptBook = FILES) -> Mapping[str, str]:
    """The digest of every prompt that rephrasing uses, by label, for the record of a run."""
    found = [book.load(name, language=language) for name in with_reminders([REPHRASE])]
    return {prompt.label: prompt.digest for prompt in found}


def rephrased(reply: str, *, like: str) -> str:
    """The list of a reply, in place of a list with as many items.

    Raises:
        Refused: the reply has no such list, or repeats the one that was to be rephrased.
    """
    own, asked = longest_list(reply), longest_list(like)
    if own is None or asked is None or own.items != asked.items:
        raise Refused("injection:list-changed", "the reply has no list of as many items")
    found = reply[own.start : own.end]
    if found.split() == like.split():
        raise Refused("injection:list-changed", "the reply repeats the list word for word")
    return found


def repetition_flips(
    said: Iterable[tuple[int, Mapping[Order, ShownVerdict]]],
) -> tuple[Flips, Flips, Flips]:
    """How often the response with the repeated list was named the better one.

    Args:
        said: by response what the judge said AS SHOWN in each order; see TARGET.

    Returns:
        Of responses, in both orders: the paper's conservative rule, by which a judge that names
        it in one order alone has not failed; then of judgments, where it was shown second, and
        where it was shown first. A response of which an order could not be read is unreadable.
    """
    answers = list(said)
    both = [(number, Verdict.B, _in_both(orders)) for number, orders in answers]
    second, first = (
        [(number, target, orders[order]) for number, orders in answers if order in orders]
        for order, target in TARGET.items()
    )
    return flips(both), flips(second), flips(first)


def _in_both(orders: Mapping[Order, ShownVerdict]) -> ShownVerdict:
    """B where the repetition is preferred in both orders; the worst of what lacks a verdict."""
    told = [orders.get(order, ShownVerdict(JudgmentStatus.PENDING)) for order in TARGET]
    for status in (JudgmentStatus.FAILED, JudgmentStatus.UNPARSEABLE, JudgmentStatus.PENDING):
        if any(each.status is status for each in told):
            return ShownVerdict(status)
    fooled = all(orders[order].verdict is target for order, target in TARGET.items())
    return ShownVerdict(JudgmentStatus.DONE, Verdict.B if fooled else Verdict.A)
