"""What a judge leans to beside the annotator it stands in for: length, and its own family."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from annotation.core.choices import Verdict
from annotation.core.intervals import ends
from benchmark.core.length_bias import LengthBias, LengthErrors, Sized, length_bias, length_errors
from benchmark.core.self_preference import Rivals, SelfPreference, self_preference
from benchmark.core.trust import Condition, HumanLabel, JudgedComparison


@dataclass(frozen=True, slots=True)
class ResponsePair:
    """Who wrote the two responses, and how long they are; None where a text is not available."""

    model_a: str
    model_b: str
    length_a: int | None
    length_b: int | None


@dataclass(frozen=True, slots=True)
class ConditionBias:
    """One voice's leanings on the comparisons that it decided; `own` is None without a family."""

    voice: Condition
    length: LengthBias
    errors: LengthErrors
    own: SelfPreference | None


@dataclass(frozen=True, slots=True)
class ResponseBias:
    """The annotator's length bias on all their labels, and each voice's leanings.

    Voices without a decision on responses whose texts are known have no length figures.
    """

    human: LengthBias
    voices: tuple[ConditionBias, ...]
    seed: int

    @property
    def any_length(self) -> bool:
        """Whether any verdict is on responses of known and different length."""
        return bool(self.human.verdicts) or any(each.length.verdicts for each in self.voices)

    @property
    def any_own(self) -> bool:
        """Whether any voice met responses of its own family."""
        return any(each.own is not None for each in self.voices)


def leaning_records(annotator: str, found: ResponseBias) -> Iterator[dict[str, object]]:
    """Flat rows as scripts read them: the annotator's own length bias, then each voice's leanings.

    `voice` is human, base or selected; shares are 0..1, slopes log-odds for twice the length.
    """
    yield {"annotator": annotator, "voice": "human", **_length_record(found.human)}
    for each in found.voices:
        errors, own = each.errors, each.own
        yield {
            "annotator": annotator,
            "voice": each.voice.panel.lower(),
            **_length_record(each.length),
            "errors_lean_longer": errors.value,
            **ends(errors.interval, "errors_lean_longer_"),
            "own_family": own.family if own else None,
            "self_preference": own.value if own else None,
            **ends(own.interval if own else None, "self_preference_"),
            "self_preference_n": own.comparisons if own else 0,
        }


def _length_record(length: LengthBias) -> dict[str, object]:
    return {
        "longer_wins": length.value,
        **ends(length.interval, "longer_wins_"),
        "verdicts": length.verdicts,
        "length_slope": length.slope.value,
        **ends(length.slope.interval, "length_slope_"),
        "length_slope_unbounded": length.slope.unbounded,
    }


def leanings(
    cases: Iterable[JudgedComparison],
    labels: Iterable[HumanLabel],
    pairs: Mapping[int, ResponsePair],
    *,
    voices: Iterable[Condition],
    judge: str,
    seed: int,
) -> ResponseBias:
    """The leanings of an annotator and of a judge.

    Args:
        cases: the comparisons that the judge decided on, with the annotator's verdict.
        labels: all of the annotator's labels.
        pairs: what is known of the responses, by comparison.
        voices: without and with preferences; one that decided nothing is left out.
        judge: its name, or that of its model.
        seed: of every bootstrap.
    """
    rows = list(cases)
    said = [(label.comparison, label.session, label.verdict, (label.verdict,)) for label in labels]
    measured = (_voice(voice, rows, pairs, judge=judge, seed=seed) for voice in voices)
    return ResponseBias(
        human=length_bias(_sized(said, pairs)),
        voices=tuple(each for each in measured if each is not None),
        seed=seed,
    )


_Said = tuple[int, int | None, Verdict, tuple[Verdict | None, ...]]
"""A comparison, its session, the annotator's verdict, and the verdicts that are measured."""


def _voice(
    voice: Condition,
    cases: Iterable[JudgedComparison],
    pairs: Mapping[int, ResponsePair],
    *,
    judge: str,
    seed: int,
) -> ConditionBias | None:
    said = [
        (case.comparison, case.session, case.human, tuple(case.decisions[voice].values()))
        for case in cases
        if case.decisions.get(voice)
    ]
    if not said:
        return None
    sized = _sized(said, pairs)
    rivals = [
        Rivals(pairs[key].model_a, pairs[key].model_b, human, verdicts, session)
        for key, session, human, verdicts in said
        if key in pairs
    ]
    own = self_preference(rivals, judge=judge, seed=seed)
    return ConditionBias(
        voice=voice,
        length=length_bias(sized),
        errors=length_errors(sized, seed=seed),
        own=own if own.comparisons else None,
    )


def _sized(said: Iterable[_Said], pairs: Mapping[int, ResponsePair]) -> list[Sized]:
    """What was said of responses whose texts are known."""
    return [
        Sized(pair.length_a, pair.length_b, verdicts, human, session)
        for key, session, human, verdicts in said
        if (pair := pairs.get(key)) is not None
        and pair.length_a is not None
        and pair.length_b is not None
    ]
