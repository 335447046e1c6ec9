"""Comparisons of responses whose better one, or whose order, a file tells.

Which of two responses is A follows from their content, so that the letter is no hint of the answer.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from annotation.core.choices import Verdict
from annotation.core.formats.fields import Fields
from annotation.core.formats.records import (
    ComparisonRecord,
    Extra,
    GoldRecord,
    LabelDetails,
    PairwiseRecord,
    ResponseRecord,
    TurnRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop

BENCHMARK: Final = "benchmark"
"""The annotator whose labels are the gold answers of a file that names nobody."""

SAME_TEXTS: Final = gettext_noop("Both responses have the same text, so neither is better")
"""Why a row that only says which response was chosen is skipped."""

_NAME_CHARS: Final = 100


def chosen_turn(
    message: str | None,
    chosen: ResponseRecord,
    rejected: ResponseRecord,
    *,
    name: str = "",
    extra: Extra | None = None,
    is_tie: bool = False,
    strength: int | None = None,
) -> TurnRecord:
    """A turn that two responses answer, the first of them held to be better."""
    comparison = chosen_comparison(
        message, chosen, rejected, name=name, extra=extra, is_tie=is_tie, strength=strength
    )
    pair = (chosen, rejected) if comparison.a == chosen.key else (rejected, chosen)
    return TurnRecord(message, pair, (comparison,))


def chosen_comparison(
    message: str | None,
    chosen: ResponseRecord,
    rejected: ResponseRecord,
    *,
    name: str = "",
    extra: Extra | None = None,
    is_tie: bool = False,
    strength: int | None = None,
) -> ComparisonRecord:
    """A comparison whose gold answer is the chosen response, or a tie.

    The gold answer is also the label of an annotator named BENCHMARK: preferences can be distilled
    from a part of it and judges run on the rest, as seed 001 does for its table 3.

    Args:
        message: The user message that both answer.
        chosen: The better one.
        rejected: The other one.
        name: What the file calls the row, if anything: the key begins with it.
        extra: What else is kept with the comparison.
        is_tie: Whether they are equally good after all.
        strength: How much better, 1 or 2.
    """
    chosen_is_a = _is_first(message, chosen, rejected)
    better = Verdict.A if chosen_is_a else Verdict.B
    verdict = Verdict.TIE if is_tie else better
    label = PairwiseRecord(LabelDetails(BENCHMARK), verdict, strength)
    return ComparisonRecord(
        key=comparison_key(message, chosen, rejected, name=name),
        a=chosen.key if chosen_is_a else rejected.key,
        b=rejected.key if chosen_is_a else chosen.key,
        extra=extra or {},
        labels=(label,),
        gold=(GoldRecord("DATASET", verdict),),
    )


def ranked_comparisons(
    message: str | None,
    responses: Sequence[ResponseRecord],
    values: Mapping[str, float],
    *,
    details: LabelDetails | None = None,
    is_gold: bool = False,
    name: str = "",
) -> Iterator[ComparisonRecord]:
    """A comparison of every two responses that have a value, the higher one better.

    Of those of one model, variant and text the first is compared alone: they are one response.

    Args:
        message: The user message that they answer.
        responses: The responses.
        values: How good each is, by its key.
        details: Who says so and when; None for a label of BENCHMARK.
        is_gold: Whether that is held to be right.
        name: What the file calls the row, if anything.
    """
    valued = [each for each in responses if each.key in values]
    for pair in paired(message, valued, name=name):
        gain = values[pair.a] - values[pair.b]
        verdict = Verdict.TIE if gain == 0 else Verdict.A if gain > 0 else Verdict.B
        yield replace(
            pair,
            labels=(PairwiseRecord(details or LabelDetails(BENCHMARK), verdict),),
            gold=(GoldRecord("DATASET", verdict),) if is_gold else (),
        )


def paired(
    message: str | None, responses: Sequence[ResponseRecord], *, name: str = ""
) -> Iterator[ComparisonRecord]:
    """A comparison of every two responses, unlabelled.

    Of those of one model, variant and text the first is compared alone: they are one response.
    """
    different = {_content(each): each for each in reversed(responses)}
    for pair in combinations(reversed(different.values()), 2):
        one, other = sorted(pair, key=_content)
        first, second = (one, other) if _is_first(message, one, other) else (other, one)
        yield ComparisonRecord(
            key=comparison_key(message, one, other, name=name), a=first.key, b=second.key
        )


def told_apart(responses: Iterable[ResponseRecord]) -> tuple[ResponseRecord, ...]:
    """Responses of one turn, those of one model with one text as its variants B, C and so on."""
    seen: Counter[tuple[str, str | None]] = Counter()
    apart = []
    for each in responses:
        times = seen[each.model, each.text]
        seen[each.model, each.text] += 1
        apart.append(replace(each, variant=_letter(times)) if times else each)
    return tuple(apart)


def _letter(place: int) -> str:
    """A, B and so on; numbers after Z."""
    return chr(ord("A") + place) if place < 26 else str(place + 1)


def compared(
    message: str | None,
    responses: tuple[ResponseRecord, ResponseRecord],
    *,
    labels: Sequence[PairwiseRecord] = (),
    gold: GoldRecord | None = None,
    strength: int | None = None,
    key: str = "",
    name: str = "",
    extra: Extra | None = None,
) -> TurnRecord:
    """A turn with two responses, the first of which is A, as their file has them.

    Args:
        message: The user message that both answer.
        responses: The two; equal ones are told apart.
        labels: What people said of them.
        gold: The answer held to be right, also the label of BENCHMARK.
        strength: How much better it says that one is, 1 or 2.
        key: The comparison's key, if the file has one.
        name: What the file calls the row; else the key is made of it and the content.
        extra: What else is kept with the comparison.
    """
    one, other = told_apart(responses)
    agreed = [] if gold is None or gold.verdict is None else [gold.verdict]
    comparison = ComparisonRecord(
        key=key or comparison_key(message, one, other, name=name),
        a=one.key,
        b=other.key,
        extra=extra or {},
        labels=(
            *(PairwiseRecord(LabelDetails(BENCHMARK), each, strength) for each in agreed),
            *labels,
        ),
        gold=() if gold is None else (gold,),
    )
    return TurnRecord(message, (one, other), (comparison,))


def comparison_key(
    message: str | None, one: ResponseRecord, other: ResponseRecord, *, name: str = ""
) -> str:
    """A key made of the name and the content of a row."""
    content = content_key(message or "", *_content(one), *_content(other))
    return f"{name}-{content[:12]}" if name else content[:12]


def name_of(fields: Fields, *names: str) -> str:
    """The name of a row: the first of these fields (by default `id`) with a short value."""
    for each in names or ("id",):
        told = fields.data.get(each)
        is_name = isinstance(told, str | int) and not isinstance(told, bool)
        if is_name and 0 < len(str(told)) <= _NAME_CHARS:
            return str(told)
    return ""


def _content(response: ResponseRecord) -> tuple[str, str]:
    """The model of a response, with its variant if it has one, and its text."""
    model = f"{response.model}\n{response.variant}" if response.variant else response.model
    return model, response.text or ""


def _is_first(message: str | None, one: ResponseRecord, other: ResponseRecord) -> bool:
    """Whether the first of two responses is A."""
    content = content_key(message or "", *_content(one), *_content(other))
    return hashlib.sha256(content.encode()).digest()[0] % 2 == 0
