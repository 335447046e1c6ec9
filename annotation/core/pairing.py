"""Which comparisons can be made of stored responses, and which of them a plan makes.

Two responses of a turn by different named models can be compared. A plan is all of them, those
with an anchor model, a balanced sample, or batches that the verdicts so far decide on (adaptive:
benchmark.core.pairing).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, NamedTuple

from annotation.core.assignment import Strata, draw_evenly
from annotation.core.choices import LabelledEnum
from annotation.core.formats.fields import KEY_CHARS, MODEL_CHARS, VARIANT_CHARS
from annotation.core.formats.records import content_key
from annotation.core.numbers import number_in
from annotation.core.refusals import Refused, gettext_noop
from annotation.core.splits import DEFAULT_SEED, rank_of

CANDIDATE_CHARS: Final = MODEL_CHARS + VARIANT_CHARS + len(" ()")
"""The longest name under which something competes: a model and its variant, "MODEL (VARIANT)"."""

MOST_SAMPLED: Final = 10_000_000
"""A larger sample or batch is no number that anybody means."""


class PairingKind(LabelledEnum):
    """Which comparisons a plan makes."""

    ALL = "ALL", gettext_noop("Every two models")
    ANCHOR = "ANCHOR", gettext_noop("Each model with an anchor model")
    SAMPLE = "SAMPLE", gettext_noop("A balanced sample")
    ADAPTIVE = "ADAPTIVE", gettext_noop("In batches, where they tell most")


@dataclass(frozen=True, slots=True, kw_only=True)
class PairingRules:
    """What a plan of comparisons is to be.

    Attributes:
        kind: which comparisons.
        anchor: of ANCHOR, the model that all others are compared with.
        size: of SAMPLE how many; of ADAPTIVE how many a batch, None for a tenth of all possible.
        cap: at most so many comparisons of two models on one turn; more than one where models
            gave several responses to it.
        seed: decides among what is equally good.
        scenarios: only these, by name; all without.
        models: only comparisons with a response by one of these; all without.
        both_models: both responses must be by one of `models`.
        variants: responses with a variant are compared too, each variant as a model of its own
            by the name `candidate_name` gives; else only those without.
    """

    kind: PairingKind = PairingKind.ALL
    anchor: str = ""
    size: int | None = None
    cap: int = 1
    seed: int = DEFAULT_SEED
    scenarios: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    both_models: bool = False
    variants: bool = False

    def __post_init__(self) -> None:
        """Refuses what no plan can be.

        Raises:
            Refused: a number is out of range, an anchor or a sample size is missing.
        """
        if self.cap < 1 or (self.size is not None and not 1 <= self.size <= MOST_SAMPLED):
            raise Refused("pairing:plan", "numbers of a plan start at 1")
        if self.kind is PairingKind.ANCHOR and not self.anchor:
            raise Refused("pairing:plan", "an anchor plan names its model")
        if self.kind is PairingKind.SAMPLE and self.size is None:
            raise Refused("pairing:plan", "a sample has a size")

    def selection(self) -> dict[str, Any]:
        """The filters as they are stored, sorted; those that are not used are left out."""
        filters: Mapping[str, Any] = {
            "scenarios": sorted(self.scenarios),
            "models": sorted(self.models),
            "both_models": self.both_models and bool(self.models),
            "variants": self.variants,
        }
        return {name: value for name, value in filters.items() if value}

    def admits(self, *models: str) -> bool:
        """Whether two models are among those that are asked for."""
        wanted = [model in self.models for model in models]
        return not self.models or (all(wanted) if self.both_models else any(wanted))


def rules_named(word: str) -> tuple[PairingKind, str, int | None]:
    """The kind that an argument names, its anchor model ("" without), its size (None without).

    Args:
        word: all, anchor:MODEL, sample:N or adaptive.

    Raises:
        Refused: it is none of these.
    """
    name, _colon, value = word.partition(":")
    if word == "all":
        return PairingKind.ALL, "", None
    if word == "adaptive":
        return PairingKind.ADAPTIVE, "", None
    if name == "anchor" and value:
        return PairingKind.ANCHOR, value, None
    number = number_in(value)
    if name == "sample" and number is not None:
        return PairingKind.SAMPLE, "", number
    raise Refused(
        "pairing:plan", f"a plan is all, anchor:MODEL, sample:N or adaptive, not {word!r}"
    )


class CandidateText(NamedTuple):
    """A response that can be compared: its candidate's name, its number, a hash of its text."""

    model: str
    response: int
    text_hash: str


class StoredPair(NamedTuple):
    """A comparison that is there: its number, its key, and its two responses."""

    comparison: int
    key: str
    a: int
    b: int


class TurnPair(NamedTuple):
    """A comparison that can be, or is, on a turn; `comparison` is None until it is stored."""

    a: CandidateText
    b: CandidateText
    key: str
    comparison: int | None


def pairs_on_turn(
    texts: Sequence[CandidateText], stored: Iterable[StoredPair], *, cap: int
) -> Iterator[TurnPair]:
    """The comparisons of a turn, at most `cap` of every two models, those that are stored first.

    Equal pairs of texts collapse as in a split: the second is never judged, so it is not made; nor
    is a pair of two equal texts. A new comparison has A from the model whose name comes first, and
    the key that judgments of the two models have in files, so that they go to it.

    Args:
        texts: in file order.
        stored: in file order; those of other responses only keep their keys.
        cap: 1 or more.
    """
    by_number = {text.response: text for text in texts}
    keys: dict[str, frozenset[str]] = {}
    seen: set[frozenset[str]] = set()
    counts: dict[tuple[str, str], int] = {}

    def stands(a: CandidateText, b: CandidateText) -> bool:
        models = (min(a.model, b.model), max(a.model, b.model))
        hashes = frozenset((a.text_hash, b.text_hash))
        if hashes in seen or counts.get(models, 0) >= cap:
            return False
        seen.add(hashes)
        counts[models] = counts.get(models, 0) + 1
        return True

    for pair in stored:
        a, b = by_number.get(pair.a), by_number.get(pair.b)
        keys[pair.key] = frozenset((a.model, b.model)) if a and b else frozenset()
        if a and b and a.model != b.model and stands(a, b):
            yield TurnPair(a, b, pair.key, pair.comparison)
    for a, b, key in _new_pairs(texts, cap=cap):
        models = frozenset((a.model, b.model))
        # "a | b" with "c" would have the key of "a" with "b | c".
        is_clear = keys.get(key, models) in (models, frozenset())
        own = key if is_clear else content_key(a.model, b.model, key)
        if own not in keys and a.text_hash != b.text_hash and stands(a, b):
            keys[own] = models
            yield TurnPair(a, b, own, None)


def _new_pairs(
    texts: Sequence[CandidateText], *, cap: int
) -> Iterator[tuple[CandidateText, CandidateText, str]]:
    """Every two models' first responses, then their second ones, each with its key."""
    by_model: dict[str, list[CandidateText]] = {}
    for text in texts:
        by_model.setdefault(text.model, []).append(text)
    for one, other in combinations(sorted(by_model), 2):
        places = [
            (i, j)
            for i in range(min(cap, len(by_model[one])))
            for j in range(min(cap, len(by_model[other])))
        ]
        for i, j in sorted(places, key=lambda place: (max(place), sum(place), place)):
            key = f"{one} | {other}" if i == j == 0 else f"{one} | {other} | {i + 1}.{j + 1}"
            key = key if len(key) <= KEY_CHARS else content_key(key)
            yield by_model[one][i], by_model[other][j], key


class PossiblePair(NamedTuple):
    """A comparison that a plan may make, with all that plans go by; models in order of name."""

    turn: int
    session: str
    place: int
    scenario: str
    models: tuple[str, str]
    a: int
    b: int
    key: str
    comparison: int | None

    @property
    def strata(self) -> Strata:
        """Unordered pair of models, then scenario."""
        return " | ".join(self.models), self.scenario

    def rank(self, seed: int) -> tuple[int, tuple[str, ...]]:
        """A place that looks at no text and no label: the sha256 of the keys."""
        return rank_of(str(seed), self.session, str(self.place), self.key)


def planned_pairs(
    possible: Sequence[PossiblePair], rules: PairingRules, *, planned: Sequence[PossiblePair] = ()
) -> list[PossiblePair]:
    """What an ALL, ANCHOR or SAMPLE plan still adds, of what is possible and not in it yet.

    Args:
        possible: in file order, without those in `planned`.
        rules: the plan.
        planned: what is in it already; a sample is filled up to its size.

    Raises:
        Refused: the anchor gave no response that can be compared.
    """
    if rules.kind is PairingKind.ALL:
        return list(possible)
    if rules.kind is PairingKind.ANCHOR:
        pairs = [pair for pair in possible if rules.anchor in pair.models]
        if not pairs and not planned:
            raise Refused("pairing:unknown-anchor", f"nothing to compare with {rules.anchor!r}")
        return pairs
    ranked = sorted(possible, key=lambda pair: pair.rank(rules.seed))
    return draw_evenly(
        [(pair, pair.strata) for pair in ranked],
        max(0, (rules.size or 0) - len(planned)),
        drawn=[pair.strata for pair in planned],
    )
