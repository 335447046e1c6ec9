"""Pairs of a chosen and a rejected response, to train by DPO or a reward model on.

A row is one person's, or one judge's, verdict on a comparison, or a judge's as people's labels
correct it; ties, texts that are not available and two responses of one text teach nothing and are
left out. As in the figures a person counts with their last label, hidden repeats left out, and a
judge with the runs that a leaderboard reads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Final, NamedTuple

from annotation.core.choices import Verdict
from annotation.core.conversations import Speaker
from annotation.core.tables import Row
from annotation.exports.export import Export
from annotation.exports.sessions import dialogues_before
from annotation.exports.streams import in_order
from annotation.models import Comparison, Dataset, PairwiseLabel, Response, User
from annotation.queries.label_sampling import sessions_of_comparisons
from annotation.queries.participants import names_of
from benchmark.core.corrected_pairs import FEWEST_LABELS, JudgedWinner, corrected_confidences
from benchmark.core.corrected_ranking import JudgedPair
from benchmark.core.trust import BASE, PERSONAL
from benchmark.queries.corrected import labelled_rows
from benchmark.queries.evidence import voice_opinions
from benchmark.queries.ranking import LeaderboardQuestion, Source, leaderboard_scope, runs_of
from judging.core.formats.pairs import CORRECTED_ENDING, PairSource
from judging.models import JudgeRun

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


class _Voice(NamedTuple):
    """A judge, alone or in the stead of an annotator."""

    judge: str
    source: Source
    annotator: User | None

    def name(self, names: Mapping[int, str]) -> str:
        """As rows have it."""
        if self.annotator is None:
            return self.judge
        return f"{self.judge} for {names.get(self.annotator.pk, self.annotator.username)}"


def _judged(dataset: Dataset, names: Mapping[int, str]) -> dict[int, list[_Said]]:
    """What judges decided, by name: each alone, in annotators' stead, and corrected."""
    decided: dict[str, dict[int, _Said]] = defaultdict(dict)
    voices: dict[str, _Voice] = {}
    for voice, run in _runs(dataset):
        name = voice.name(names)
        voices[name] = voice
        decided[name].update(_opinions(run.pk, name, personal=voice.annotator is not None))
    corrected = {
        f"{name}{CORRECTED_ENDING}": _corrected(dataset, voice, decided[name])
        for name, voice in voices.items()
        if not name.endswith(CORRECTED_ENDING)
    }
    found: dict[int, list[_Said]] = defaultdict(list)
    for _name, said in sorted({**corrected, **decided}.items()):  # as a file had it, if it did
        for comparison, one in said.items():
            if one.verdict is not Verdict.TIE:
                found[comparison].append(one)
    return found


def _runs(dataset: Dataset) -> Iterator[tuple[_Voice, JudgeRun]]:
    """Those that a leaderboard reads, of each voice the one that decides last."""
    scope = leaderboard_scope(LeaderboardQuestion(dataset=dataset.slug))
    for judge in scope.judges:
        for run in runs_of(scope, Source.BASE, judge):
            yield _Voice(judge, Source.BASE, None), run
        for run in runs_of(scope, Source.SELECTED, judge):
            if run.annotator is not None and run.config.get("sets_of"):
                yield _Voice(judge, Source.SELECTED, run.annotator), run


def _corrected(dataset: Dataset, voice: _Voice, decided: Mapping[int, _Said]) -> dict[int, _Said]:
    """What a voice would have said by people's labels; an even chance says nothing."""
    labels = _labels_that_count(dataset, voice)
    won = {key: said for key, said in decided.items() if said.verdict is not Verdict.TIE}
    if len(labels.keys() & won.keys()) < FEWEST_LABELS:
        return {}
    sessions = sessions_of_comparisons(dataset.pk)
    rows = []
    for key, said in won.items():
        for_a, weight = labels.get(key, (None, 1.0))
        agreed = for_a if for_a is None or said.verdict is Verdict.A else 1 - for_a
        rows.append(JudgedWinner(said.confidence or 0.0, sessions[key], agreed, weight))
    found = {}
    for (key, said), chance in zip(won.items(), corrected_confidences(rows) or (), strict=False):
        confidence = round(max(chance, 1 - chance), _DIGITS)
        if confidence > 0.5:
            found[key] = said._replace(
                annotator=f"{said.annotator}{CORRECTED_ENDING}",
                source=PairSource.CORRECTED,
                verdict=said.verdict if chance > 0.5 else said.verdict.flipped(),
                confidence=confidence,
            )
    return found


def _labels_that_count(dataset: Dataset, voice: _Voice) -> dict[int, tuple[float, float]]:
    """By comparison A's share of people's labels, and for how many comparisons it stands.

    They are those by which the leaderboard corrects the judge's win rates.
    """
    owner = None if voice.annotator is None else voice.annotator.pk
    given_here = PairwiseLabel.objects.filter(comparison__turn__session__dataset=dataset)
    if owner is not None and not given_here.filter(annotator=owner).exists():
        return {}  # they labelled elsewhere
    question = LeaderboardQuestion(dataset=dataset.slug, judge=voice.judge, annotator=owner)
    given: dict[int, list[JudgedPair]] = defaultdict(list)
    for row in labelled_rows(question, voice.source):
        given[row.comparison].append(row.pair)
    return {
        comparison: (
            fmean(each.label or 0.0 for each in pairs),
            sum(1 / (each.chance or 1) for each in pairs),
        )
        for comparison, pairs in given.items()
    }


def _opinions(run: int, name: str, *, personal: bool) -> Iterator[tuple[int, _Said]]:
    source = PairSource.CORRECTED if name.endswith(CORRECTED_ENDING) else PairSource.JUDGE
    opinions = voice_opinions(run, PERSONAL if personal else BASE)
    for comparison, opinion in opinions.items():
        if opinion.verdict is not None:
            chance = opinion.winner_chance
            confidence = None if chance is None else round(chance, _DIGITS)
            yield comparison, _Said(name, source, opinion.verdict, confidence)


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
