"""Pairs of a chosen and a rejected response, to train by DPO or a reward model on.

A file has the verdicts of one source: by default the majority of people, a row a comparison, else
each label, one annotator's labels, one judge's verdicts, or these as people's labels correct them.
Ties, texts that are not available and two responses of one text are left out. As in the figures a
person counts with their last label, hidden repeats left out, and a judge with the runs that a
leaderboard reads.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean
from typing import Final, NamedTuple

from django.db.models import F, QuerySet

from annotation.core.choices import Verdict
from annotation.core.conversations import Speaker
from annotation.core.refusals import Refused
from annotation.core.tables import Row
from annotation.exports.export import Export
from annotation.exports.sessions import dialogues_before
from annotation.exports.streams import in_order
from annotation.models import Comparison, Dataset, PairwiseLabel, Response, User
from annotation.queries.label_sampling import sessions_of_comparisons
from annotation.queries.participants import names_of, resolve_annotator
from benchmark.core.corrected_pairs import FEWEST_LABELS, JudgedWinner, corrected_confidences
from benchmark.core.corrected_ranking import JudgedPair
from benchmark.core.trust import BASE, PERSONAL
from benchmark.queries.corrected import labelled_rows
from benchmark.queries.evidence import voice_opinions
from benchmark.queries.ranking import LeaderboardQuestion, Source, leaderboard_scope, runs_of
from judging.core.chat import finite_number
from judging.core.formats.pairs import CORRECTED_ENDING, MARGIN, PairSource
from judging.models import JudgeRun

_DIGITS: Final = 6
MOST_STRENGTH: Final = 2
_COUNTED_AT_ONCE: Final = 5_000
_COLUMNS: Final = (
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
    "margin",
    "scenario",
    "session",
    "comparison",
    "verdict",
)


TRAINING_COLUMNS: Final = ("prompt", "chosen", "rejected", "margin")
"""What trainers read: TRL's conversational layout, with the dialogue as the prompt."""

MAJORITY: Final = "majority"
"""Name of the annotator in a row that several people's labels stand behind."""


@dataclass(frozen=True, slots=True)
class PairChoice:
    """The verdicts that become training pairs.

    Attributes:
        source: people, a judge, or a judge as people's labels correct it.
        judge: name of the judge; "" for people.
        annotator: name of one annotator, or of the one that the judge stands in for; "" for all.
        each_label: a row a label instead of a row a comparison; people only.
        training_columns: the rows have TRAINING_COLUMNS alone.
    """

    source: PairSource = PairSource.HUMAN
    judge: str = ""
    annotator: str = ""
    each_label: bool = False
    training_columns: bool = False

    @property
    def name(self) -> str:
        """The name of the judge in the rows."""
        judge = f"{self.judge} for {self.annotator}" if self.annotator else self.judge
        if self.source is PairSource.CORRECTED and not judge.endswith(CORRECTED_ENDING):
            return f"{judge}{CORRECTED_ENDING}"
        return judge

    def check(self, dataset: Dataset) -> None:
        """Raises Refused if the choice contradicts itself or names someone without verdicts."""
        if self.source is PairSource.HUMAN:
            if self.judge:
                raise Refused("pairs:judge-of-people")
            if self.annotator:
                resolve_annotator(dataset=dataset, name=self.annotator)
        elif self.each_label:
            raise Refused("pairs:each-label-of-judge")
        elif not self.judge:
            raise Refused("pairs:no-judge", f"name a judge, one of: {_judges_listed(dataset)}")
        elif self.name.removesuffix(CORRECTED_ENDING) not in {
            name.removesuffix(CORRECTED_ENDING) for name in judge_names(dataset)
        }:
            message = f"no judge {self.name!r} in this dataset; known: {_judges_listed(dataset)}"
            raise Refused("pairs:unknown-judge", message)


class PairCounts(NamedTuple):
    """Rows of a file of pairs, and comparisons left out because their majority is a tie."""

    rows: int
    tied: int


class _Decision(NamedTuple):
    """A verdict with a winner, by whom, and how sure it was."""

    annotator: str
    source: PairSource
    verdict: Verdict
    confidence: float | None = None
    strength: int | None = None
    margin: float = 1.0


def preference_pairs(choice: PairChoice) -> Export:
    """The export of the chosen verdicts."""
    columns = TRAINING_COLUMNS if choice.training_columns else _COLUMNS
    rows = partial(_rows, choice=choice)
    return Export("preference_pairs", columns, rows, empty="pairs:empty")


def count_pairs(dataset: Dataset, choice: PairChoice) -> PairCounts:
    """Counts what `preference_pairs` writes, without reading a text."""
    rows = tied = 0
    decide = _decider(dataset, choice)
    keys = list(_teaching(dataset).order_by().values_list("pk", flat=True))
    for start in range(0, len(keys), _COUNTED_AT_ONCE):
        decisions = decide(keys[start : start + _COUNTED_AT_ONCE])
        rows += sum(map(len, decisions.values()))
        tied += sum(not each for each in decisions.values())
    return PairCounts(rows, tied)


def judge_names(dataset: Dataset) -> list[str]:
    """Names of the judges with verdicts: alone, and as `NAME for ANNOTATOR` in someone's stead."""
    names = names_of(dataset=dataset)
    return sorted({voice.name(names) for voice, _run in _runs(dataset)})


def _judges_listed(dataset: Dataset) -> str:
    return ", ".join(judge_names(dataset)) or "none"


def _rows(dataset: Dataset, choice: PairChoice) -> Iterator[Row]:
    decide, narrow = _decider(dataset, choice), choice.training_columns
    rows = Comparison.objects.select_related("response_a", "response_b", "turn__session__scenario")
    for chunk in in_order(_teaching(dataset), rows, "position", "pk"):
        decisions = decide([each.pk for each in chunk])
        decided = [each for each in chunk if decisions.get(each.pk)]
        dialogues = dialogues_before({each.turn for each in decided})
        for each in decided:
            for decision in decisions[each.pk]:
                row = _row(each, dialogues[each.turn_id], decision)
                yield {name: row[name] for name in TRAINING_COLUMNS} if narrow else row


def _teaching(dataset: Dataset) -> QuerySet[Comparison]:
    """Comparisons with a request and two different texts."""
    return Comparison.objects.filter(
        turn__session__dataset=dataset,
        turn__user_message__isnull=False,
        response_a__text__isnull=False,
        response_b__text__isnull=False,
    ).exclude(response_a__text=F("response_b__text"))


_Decider = Callable[[Sequence[int]], Mapping[int, Sequence[_Decision]]]


def _decider(dataset: Dataset, choice: PairChoice) -> _Decider:
    """Returns a function of comparisons' ids that gives their decisions by id.

    A comparison whose majority is a tie has an empty list.
    """
    choice.check(dataset)
    if choice.source is not PairSource.HUMAN:
        judged = _judged(dataset, choice)
        return lambda keys: {key: [judged[key]] for key in keys if key in judged}
    names = names_of(dataset=dataset)
    if choice.annotator:
        owner = resolve_annotator(dataset=dataset, name=choice.annotator).id
        return lambda keys: _winners(_labels(keys, names, annotator=owner))
    if choice.each_label:
        return lambda keys: _winners(_labels(keys, names))
    return lambda keys: _majorities(_labels(keys, names))


def _labels(
    comparisons: Sequence[int], names: Mapping[int, str], *, annotator: int | None = None
) -> dict[int, list[_Decision]]:
    """Each person's last label on each comparison, ties included, in the order of entry."""
    last: dict[tuple[int, int], tuple[str, int | None, float | None]] = {}
    rows = PairwiseLabel.objects.filter(comparison__in=comparisons, repeat_index=0)
    if annotator is not None:
        rows = rows.filter(annotator=annotator)
    for comparison, person, verdict, strength, extra in rows.order_by("pk").values_list(
        "comparison_id", "annotator_id", "verdict", "strength", "extra"
    ):
        last.pop((comparison, person), None)  # a later label takes its place in the order too
        last[comparison, person] = verdict, strength, finite_number(extra.get(MARGIN))
    labels: dict[int, list[_Decision]] = defaultdict(list)
    for (comparison, person), (verdict, strength, stated) in last.items():
        margin = strength / MOST_STRENGTH if strength else 1.0
        labels[comparison].append(
            _Decision(
                names[person],
                PairSource.HUMAN,
                Verdict(verdict),
                strength=strength,
                margin=margin if stated is None else stated,
            )
        )
    return labels


def _winners(labels: Mapping[int, Sequence[_Decision]]) -> dict[int, list[_Decision]]:
    return {
        comparison: decided
        for comparison, given in labels.items()
        if (decided := [each for each in given if each.verdict is not Verdict.TIE])
    }


def _majorities(labels: Mapping[int, Sequence[_Decision]]) -> dict[int, list[_Decision]]:
    """The verdict that more people gave than any other; none if that is a tie or shared."""
    majorities: dict[int, list[_Decision]] = {}
    for comparison, given in labels.items():
        (verdict, most), *others = Counter(each.verdict for each in given).most_common()
        has_winner = verdict is not Verdict.TIE and (not others or others[0][1] < most)
        against = sum(each.verdict is verdict.flipped() for each in given)
        margin = round((most - against) / len(given), _DIGITS)
        if len(given) == 1 and given[0].annotator == MAJORITY:
            margin = given[0].margin  # it was imported
        majority = _Decision(MAJORITY, PairSource.HUMAN, verdict, margin=margin)
        majorities[comparison] = [majority] if has_winner else []
    return majorities


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


def _judged(dataset: Dataset, choice: PairChoice) -> dict[int, _Decision]:
    """The chosen judge's verdicts by comparison, ties left out."""
    names = names_of(dataset=dataset)
    decided: dict[int, _Decision] = {}
    plain: dict[int, _Decision] = {}
    plain_voice = None
    for voice, run in _runs(dataset):
        name = voice.name(names)
        personal = voice.annotator is not None
        if name == choice.name:
            decided.update(_opinions(run.pk, name, personal=personal))
        elif f"{name}{CORRECTED_ENDING}" == choice.name:
            plain_voice = voice
            plain.update(_opinions(run.pk, name, personal=personal))
    if plain_voice is not None and not decided:
        # A file of corrected verdicts that was imported is exported as it came.
        return _corrected(dataset, plain_voice, plain)
    return {key: each for key, each in decided.items() if each.verdict is not Verdict.TIE}


def _runs(dataset: Dataset) -> Iterator[tuple[_Voice, JudgeRun]]:
    """Those that a leaderboard reads, of each voice the one that decides last."""
    scope = leaderboard_scope(LeaderboardQuestion(dataset=dataset.slug))
    for judge in scope.judges:
        for run in runs_of(scope, Source.BASE, judge):
            yield _Voice(judge, Source.BASE, None), run
        for run in runs_of(scope, Source.SELECTED, judge):
            if run.annotator is not None and run.config.get("sets_of"):
                yield _Voice(judge, Source.SELECTED, run.annotator), run


def _corrected(
    dataset: Dataset, voice: _Voice, decided: Mapping[int, _Decision]
) -> dict[int, _Decision]:
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


def _opinions(run: int, name: str, *, personal: bool) -> Iterator[tuple[int, _Decision]]:
    source = PairSource.CORRECTED if name.endswith(CORRECTED_ENDING) else PairSource.JUDGE
    opinions = voice_opinions(run, PERSONAL if personal else BASE)
    for comparison, opinion in opinions.items():
        if opinion.verdict is not None:
            chance = opinion.winner_chance
            confidence = None if chance is None else round(chance, _DIGITS)
            yield comparison, _Decision(name, source, opinion.verdict, confidence)


def _row(comparison: Comparison, dialogue: list[dict[str, str]], said: _Decision) -> Row:
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
        MARGIN: said.margin if said.confidence is None else _advantage(said.confidence),
        "scenario": session.scenario.name,
        "session": session.key,
        "comparison": comparison.key,
        "verdict": said.verdict.value,
    }


def _advantage(confidence: float) -> float:
    """The chance of the chosen response less that of the other one."""
    return round(2 * confidence - 1, _DIGITS)


def _answer(response: Response) -> list[dict[str, str]]:
    return [_message(Speaker.ASSISTANT, response.text or "")]


def _message(speaker: Speaker, text: str) -> dict[str, str]:
    return {"role": speaker.value, "content": text}


PREFERENCE_PAIRS: Final = preference_pairs(PairChoice())
