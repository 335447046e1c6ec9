"""Pairs of a chosen and a rejected response, to train by DPO or a reward model on.

A row is one person's, or one judge's, verdict on a comparison; ties, texts that are not available
and two responses of one text teach nothing and are left out. As in the figures a person counts with
their last label, hidden repeats left out, and a judge with the runs that a leaderboard reads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from annotation.core.choices import Verdict
from annotation.core.conversations import Speaker
from annotation.core.tables import Row
from annotation.exports.export import Export
from annotation.exports.sessions import dialogues_before
from annotation.exports.streams import in_order
from annotation.models import Comparison, Dataset, PairwiseLabel, Response
from annotation.queries.participants import names_of
from benchmark.core.trust import BASE, PERSONAL
from benchmark.queries.evidence import voice_opinions
from benchmark.queries.ranking import LeaderboardQuestion, Source, leaderboard_scope, runs_of
from judging.core.formats.pairs import PairSource

_DIGITS: Final = 6


class _Said(NamedTuple):
    """A verdict with a winner, by whom, and how sure it was."""

    annotator: str
    source: PairSource
    verdict: Verdict
    confidence: float | None = None
    strength: int | None = None


def _rows(dataset: Dataset) -> Iterator[Row]:
    names = names_of(dataset=dataset)
    judged = _judged(dataset, names)
    comparisons = Comparison.objects.filter(turn__session__dataset=dataset)
    rows = Comparison.objects.select_related("response_a", "response_b", "turn__session__scenario")
    for chunk in in_order(comparisons, rows, "position", "pk"):
        told = [each for each in chunk if _teaches(each)]
        labelled = _labelled(told, names)
        said = {each.pk: [*labelled.get(each.pk, ()), *judged.get(each.pk, ())] for each in told}
        told = [each for each in told if said[each.pk]]
        dialogues = dialogues_before({each.turn for each in told})
        for each in told:
            for one in said[each.pk]:
                yield _row(each, dialogues[each.turn_id], one)


def _teaches(comparison: Comparison) -> bool:
    """Whether there is a request and two different texts."""
    texts = {comparison.response_a.text, comparison.response_b.text}
    return comparison.turn.user_message is not None and None not in texts and len(texts) > 1


def _labelled(comparisons: Sequence[Comparison], names: dict[int, str]) -> dict[int, list[_Said]]:
    """What people said, in the order of entry."""
    last: dict[tuple[int, int], tuple[str, int | None]] = {}
    rows = PairwiseLabel.objects.filter(comparison__in=comparisons, repeat_index=0).order_by("pk")
    for comparison, annotator, verdict, strength in rows.values_list(
        "comparison_id", "annotator_id", "verdict", "strength"
    ):
        last.pop((comparison, annotator), None)  # so that it stands where it was entered
        last[comparison, annotator] = verdict, strength
    found: dict[int, list[_Said]] = defaultdict(list)
    for (comparison, annotator), (verdict, strength) in last.items():
        if verdict != Verdict.TIE:
            said = _Said(names[annotator], PairSource.HUMAN, Verdict(verdict), strength=strength)
            found[comparison].append(said)
    return found


def _judged(dataset: Dataset, names: dict[int, str]) -> dict[int, list[_Said]]:
    """What judges decided, by name: each without preferences, then in annotators' stead."""
    found: dict[int, list[_Said]] = defaultdict(list)
    scope = leaderboard_scope(LeaderboardQuestion(dataset=dataset.slug))
    decided: dict[str, dict[int, _Said]] = defaultdict(dict)
    for judge in scope.judges:
        for run in runs_of(scope, Source.BASE, judge):
            decided[judge].update(_opinions(run.pk, judge, personal=False))
        for run in runs_of(scope, Source.SELECTED, judge):
            if run.annotator is not None and run.config.get("sets_of"):
                whose = names.get(run.annotator.pk, run.annotator.username)
                name = f"{judge} for {whose}"
                decided[name].update(_opinions(run.pk, name, personal=True))
    for name in sorted(decided):
        for comparison, said in decided[name].items():
            if said.verdict is not Verdict.TIE:
                found[comparison].append(said)
    return found


def _opinions(run: int, name: str, *, personal: bool) -> Iterator[tuple[int, _Said]]:
    opinions = voice_opinions(run, PERSONAL if personal else BASE)
    for comparison, opinion in opinions.items():
        if opinion.verdict is not None:
            chance = opinion.winner_chance
            confidence = None if chance is None else round(chance, _DIGITS)
            yield comparison, _Said(name, PairSource.JUDGE, opinion.verdict, confidence)


def _row(comparison: Comparison, dialogue: list[dict[str, str]], said: _Said) -> Row:
    session = comparison.turn.session
    chosen, rejected = comparison.response_a, comparison.response_b
    if said.verdict is Verdict.B:
        chosen, rejected = rejected, chosen
    system = [_message(Speaker.SYSTEM, session.system_prompt)] if session.system_prompt else []
    return {
        "prompt": [*system, *dialogue],
        "chosen": _answer(chosen),
        "rejected": _answer(rejected),
        "chosen_model": chosen.model,
        "chosen_variant": chosen.variant,
        "rejected_model": rejected.model,
        "rejected_variant": rejected.variant,
        "annotator": said.annotator,
        "source": said.source.value,
        "confidence": said.confidence,
        "strength": said.strength,
        "scenario": session.scenario.name,
        "session": session.key,
        "comparison": comparison.key,
        "verdict": said.verdict.value,
    }


def _answer(response: Response) -> list[dict[str, str]]:
    return [_message(Speaker.ASSISTANT, response.text or "")]


def _message(speaker: Speaker, text: str) -> dict[str, str]:
    return {"role": speaker.value, "content": text}


PREFERENCE_PAIRS: Final = Export(
    "preference_pairs",
    (
        "prompt",
        "chosen",
        "rejected",
        "chosen_model",
        "chosen_variant",
        "rejected_model",
        "rejected_variant",
        "annotator",
        "source",
        "confidence",
        "strength",
        "scenario",
        "session",
        "comparison",
        "verdict",
    ),
    _rows,
)
