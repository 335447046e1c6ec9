"""Building a benchmark from raw dialogues: by which rules one is dropped, and what is left.

As seed 001, section 3.1.2 and protocols A5 have it. A dialogue ends with the request that models
will answer. Each rule and threshold is in the datasheet of the version that is frozen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from annotation.core.choices import LabelledEnum, Verdict
from annotation.core.conversations import Dialogue, Speaker
from annotation.core.refusals import gettext_noop
from annotation.core.splits import rank_of
from benchmark.core.duplicates import GRAM_WORDS, NEAR_PERCENT, folded, word_grams
from benchmark.core.personal_data import PersonalDataKind, personal_data
from judging.core.categories import SUBCATEGORIES, Category, Usefulness
from judging.core.money import estimate_tokens


class BuildStage(LabelledEnum):
    """A step of a construction at which a dialogue can be dropped, in their order."""

    DUPLICATES = "DUPLICATES", gettext_noop("Duplicates")
    QUALITY = "QUALITY", gettext_noop("Length and quality")
    PRIVACY = "PRIVACY", gettext_noop("Personal data")
    SORTING = "SORTING", gettext_noop("Denoising and categories")
    CHALLENGE = "CHALLENGE", gettext_noop("Strong model against weak model")
    REVIEW = "REVIEW", gettext_noop("Manual review")
    BALANCE = "BALANCE", gettext_noop("Balance over categories")


class DropReason(LabelledEnum):
    """Why a dialogue was dropped."""

    EXACT = "EXACT", gettext_noop("Exact duplicate")
    NEAR = "NEAR", gettext_noop("Near duplicate")
    EMPTY = "EMPTY", gettext_noop("No request at the end")
    SHORT = "SHORT", gettext_noop("Too short")
    LONG = "LONG", gettext_noop("Too long")
    TURNS = "TURNS", gettext_noop("Too many turns")
    BROKEN = "BROKEN", gettext_noop("Broken characters")
    SYMBOLS = "SYMBOLS", gettext_noop("Mostly symbols")
    REPEATS = "REPEATS", gettext_noop("Repeats itself")
    EMAIL = PersonalDataKind.EMAIL.value, PersonalDataKind.EMAIL.label
    PHONE = PersonalDataKind.PHONE.value, PersonalDataKind.PHONE.label
    IDENTITY = PersonalDataKind.IDENTITY.value, PersonalDataKind.IDENTITY.label
    CARD = PersonalDataKind.CARD.value, PersonalDataKind.CARD.label
    REDUNDANT = Usefulness.REDUNDANT.value, Usefulness.REDUNDANT.label
    AMBIGUOUS = Usefulness.AMBIGUOUS.value, Usefulness.AMBIGUOUS.label
    LOW_QUALITY = Usefulness.LOW_QUALITY.value, Usefulness.LOW_QUALITY.label
    TOO_SIMPLE = Usefulness.TOO_SIMPLE.value, Usefulness.TOO_SIMPLE.label
    CALL_FAILED = "CALL_FAILED", gettext_noop("A call failed")
    NOT_SORTED = "NOT_SORTED", gettext_noop("The judge gave no category")
    NO_ANSWER = "NO_ANSWER", gettext_noop("A model gave no answer")
    EQUAL = "EQUAL", gettext_noop("Both models gave the same answer")
    NOT_JUDGED = "NOT_JUDGED", gettext_noop("The judge gave no verdict in both orders")
    UNCLEAR = "UNCLEAR", gettext_noop("The verdict depends on the order, or is a tie")
    WEAK_WINS = "WEAK_WINS", gettext_noop("The weak model wins")
    ALIKE = "ALIKE", gettext_noop("The answers do not differ visibly")
    UNFIT = "UNFIT", gettext_noop("The prompt cannot be repaired")
    PERSONAL = "PERSONAL", gettext_noop("The prompt contains personal data")
    OTHER = "OTHER", gettext_noop("Another reason")
    SURPLUS = "SURPLUS", gettext_noop("Category is full")


REVIEW_REASONS: Final = (
    DropReason.ALIKE,
    DropReason.UNFIT,
    DropReason.PERSONAL,
    DropReason.OTHER,
)
"""What a reviewer can choose from."""


class ReviewDecision(LabelledEnum):
    """What a reviewer made of a dialogue."""

    KEEP = "KEEP", gettext_noop("Keep")
    EDIT = "EDIT", gettext_noop("Keep with an edited prompt")
    DROP = "DROP", gettext_noop("Drop")


class DialogueLimits(NamedTuple):
    """The thresholds, as a run's configuration and a datasheet hold them."""

    near_percent: int = NEAR_PERCENT
    fewest_tokens: int = 10
    most_tokens: int = 12_000
    most_turns: int = 20
    most_broken_percent: int = 1
    fewest_letters_percent: int = 25
    most_repeats_percent: int = 80
    repeats_from_words: int = 50


LIMIT_LABELS: Final[Mapping[str, str]] = {
    "near_percent": gettext_noop("Near-duplicate threshold: Jaccard similarity of 5-grams (%)"),
    "fewest_tokens": gettext_noop("Min tokens"),
    "most_tokens": gettext_noop("Max tokens"),
    "most_turns": gettext_noop("Max turns"),
    "most_broken_percent": gettext_noop("Max broken or control characters (%)"),
    "fewest_letters_percent": gettext_noop("Min letters and digits (%)"),
    "most_repeats_percent": gettext_noop("Max repeated 5-grams (%)"),
    "repeats_from_words": gettext_noop("Min words before checking repetition"),
}

_LINE_CONTROLS: Final = "\n\r\t"


class Dropped(NamedTuple):
    """That a dialogue is dropped, why, and what was measured or found (JSON)."""

    reason: DropReason
    details: Mapping[str, Any]


def requests_of(dialogue: Dialogue) -> list[str]:
    """What the user wrote, message by message."""
    return [each.text for each in dialogue if each.role is Speaker.USER]


def tokens_of(dialogue: Dialogue) -> int:
    """The estimated tokens of all messages."""
    return sum(estimate_tokens(each.text) for each in dialogue)


def quality_fault(dialogue: Dialogue, limits: DialogueLimits) -> Dropped | None:
    """The first rule of length and quality that a dialogue breaks, with what was measured."""
    if not dialogue or dialogue[-1].role is not Speaker.USER or not dialogue[-1].text.strip():
        return Dropped(DropReason.EMPTY, {})
    requests = requests_of(dialogue)
    text = "\n".join(requests)
    tokens = tokens_of(dialogue)
    measured: Mapping[DropReason, tuple[float, bool]] = {
        DropReason.SHORT: (tokens, tokens < limits.fewest_tokens),
        DropReason.LONG: (tokens, tokens > limits.most_tokens),
        DropReason.TURNS: (len(requests), len(requests) > limits.most_turns),
        DropReason.BROKEN: (broken := _percent_broken(text), broken > limits.most_broken_percent),
        DropReason.SYMBOLS: (
            letters := _percent_letters(text),
            letters < limits.fewest_letters_percent,
        ),
        DropReason.REPEATS: (
            repeats := _percent_repeats(text, limits.repeats_from_words),
            repeats > limits.most_repeats_percent,
        ),
    }
    for reason, (number, breaks) in measured.items():
        if breaks:
            return Dropped(reason, {"measured": round(number, 1)})
    return None


def _percent_broken(text: str) -> float:
    """Replacement and control characters among all."""
    broken = sum(
        each == "\ufffd" or (not each.isprintable() and ord(each) < ord(" "))
        for each in text
        if each not in _LINE_CONTROLS
    )
    return 100 * broken / len(text)


def _percent_letters(text: str) -> float:
    """Letters and digits of any script among all that is no white space."""
    shown = [each for each in text if not each.isspace()]
    return 100 * sum(each.isalnum() for each in shown) / len(shown)


def _percent_repeats(text: str, least: int) -> float:
    """5-grams that were there before among all; 0 in a text of fewer words than `least`."""
    every = word_grams(folded(text))
    if len(every) + GRAM_WORDS - 1 < least:
        return 0.0
    return 100 * (1 - len(set(every)) / len(every))


def privacy_fault(dialogue: Dialogue) -> Dropped | None:
    """The personal data that a dialogue holds, masked, by the first kind found."""
    hits = [hit for each in dialogue for hit in personal_data(each.text)]
    if not hits:
        return None
    found = [{"kind": hit.kind.value, "masked": hit.masked} for hit in hits]
    return Dropped(DropReason(hits[0].kind.value), {"found": found})


def challenge_fault(original: Verdict | None, swapped: Verdict | None) -> DropReason | None:
    """Why strong against weak does not tell them apart; None where strong (A) wins in both orders.

    Args:
        original: the verdict with the strong answer shown first, A for strong; None for none.
        swapped: the same with the weak answer shown first.
    """
    if original is None or swapped is None:
        return DropReason.NOT_JUDGED
    if original is not swapped or original is Verdict.TIE:
        return DropReason.UNCLEAR
    return None if original is Verdict.A else DropReason.WEAK_WINS


def surplus(
    categories: Mapping[str, str], *, most: int | None, first: Collection[str], seed: int
) -> set[str]:
    """The dialogues beyond `most` of each category, so that categories are of one size.

    Of a category those that somebody reviewed come first, then by the rank of the key, which does
    not depend on what else is there.

    Args:
        categories: by the key of a dialogue its category.
        most: of each category; None for all.
        first: keys of those that somebody reviewed.
        seed: of the ranks.
    """
    if most is None:
        return set()
    left = Counter[str]()
    over = set()
    for key in sorted(categories, key=lambda each: (each not in first, *_rank(seed, each))):
        left[categories[key]] += 1
        if left[categories[key]] > most:
            over.add(key)
    return over


def _rank(seed: int, key: str) -> tuple[Any, ...]:
    return rank_of(str(seed), key)


class StagePassage(NamedTuple):
    """What a stage kept and dropped, by reason in order of frequency."""

    stage: BuildStage
    came: int
    dropped: int
    reasons: tuple[tuple[DropReason, int], ...]

    @property
    def kept(self) -> int:
        """How many went on."""
        return self.came - self.dropped


def passages(counts: Mapping[tuple[str, str], int], total: int) -> list[StagePassage]:
    """Every stage in order.

    Args:
        counts: dropped dialogues by stage and reason.
        total: dialogues at the start.
    """
    found = []
    for stage in BuildStage:
        own = {DropReason(why): n for (where, why), n in counts.items() if where == stage}
        reasons = sorted(own.items(), key=lambda one: (-one[1], one[0]))
        found.append(StagePassage(stage, total, sum(own.values()), tuple(reasons)))
        total = found[-1].kept
    return found


def statistics(dialogues: Sequence[Dialogue]) -> dict[str, float | int | None]:
    """Table 5 of seed 001: count, tokens and messages of the dialogues; None without any.

    Tokens are the project's estimate, which errs on the high side. What the paper calls dialogue
    turns are messages of either side (in its file 1 to 9, 3.5 on average); `turns` are the user's.
    """
    figures: dict[str, float | int | None] = {"count": len(dialogues)}
    for name, numbers in (
        ("tokens", [tokens_of(each) for each in dialogues]),
        ("messages", [len(each) for each in dialogues]),
        ("turns", [len(requests_of(each)) for each in dialogues]),
    ):
        figures[f"{name}_mean"] = round(sum(numbers) / len(numbers), 1) if numbers else None
        figures[f"{name}_most"] = max(numbers, default=None)
        figures[f"{name}_fewest"] = min(numbers, default=None)
    return figures


def distribution(places: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Table 7 of seed 001 with counts: every category with its subcategories, empty ones too.

    Args:
        places: category and subcategory of each dialogue.
    """
    counts = Counter(places)
    rows = []
    for category in Category:
        own = {name: counts[category.value, name] for name in SUBCATEGORIES[category]}
        rows.append({"category": category.value, "count": sum(own.values()), "subcategories": own})
    return rows
