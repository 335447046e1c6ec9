"""Runs with verdicts, of whatever annotator: what pages over a whole dataset choose from."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Exists, OuterRef

from annotation.core.choices import Verdict
from annotation.core.item_names import ItemKey
from annotation.core.refusals import Refused
from annotation.models import Comparison, Dataset, GoldLabel, PairwiseLabel
from annotation.queries.participants import names_of
from benchmark.core.bradley_terry import outcome_of
from benchmark.core.ranking import win_rates
from benchmark.core.trust import BASE, PERSONAL, SELECTED, STACK, Condition
from benchmark.core.vote_agreement import (
    AgreementTables,
    Votes,
    conservative,
    gap_agreement,
    scenario_agreement,
    vote_agreement,
)
from benchmark.queries.choices import (
    RUBRICS,
    STANDING,
    VERDICT_RUNS,
    DatasetChoice,
    RunChoice,
    best_last,
    dataset_of,
    datasets,
    picked_dataset,
    run_choices,
    scenarios,
)
from benchmark.queries.evidence import voice_decisions
from benchmark.queries.ranking import compared_by_models
from benchmark.queries.trust import SEED
from judging.models import JudgeRun, Judgment, RunKind, RunStatus
from judging.queries.preference_sets import runs_edited_late

OPENING_CHARS: Final = 160
_GOLD_SOURCES: Final = ("ADJUDICATION", "MANAGER", "DATASET")
"""Of several gold answers the last one here counts: what was published with the data."""
_LETTERS: Final = {SELECTED: "s", PERSONAL: "v"}


@dataclass(frozen=True, slots=True)
class JudgeOption:
    """One run's verdicts under one voice; `of` names the annotator that it stands in for.

    Where a weighted vote stands in, PERSONAL is a voice beside SELECTED.
    `key` is how addresses name it. `way` is the prompt by which the judge was asked where it takes
    no preferences, "" otherwise. `edited` says that the set heard was edited after its test
    verdicts were there to see.
    """

    run: int
    judge: str
    voice: Condition
    kind: RunKind
    of: str
    way: str = ""
    edited: bool = False

    @property
    def key(self) -> str:
        """The run's number, with `s` where its selected preferences are heard, `v` its vote."""
        return _key(self.run, self.voice)

    @property
    def recorded(self) -> bool:
        """Whether the verdicts were imported."""
        return self.kind is RunKind.RECORDED


def _key(run: int, voice: Condition) -> str:
    return f"{run}{_LETTERS.get(voice, '')}"


def voice_key(run: RunChoice, voice: Condition) -> str:
    """The key of the option of a run as which a voice of its trust page stands here.

    Without a weighted vote the selected set stands in for the annotator, without a set nothing.
    """
    if voice in (STACK, PERSONAL):
        voice = PERSONAL if run.stacked else SELECTED
    return _key(run.id, voice if run.sets_of else BASE)


def judge_options(dataset: DatasetChoice) -> tuple[JudgeOption, ...]:
    """Every finished run that gave verdicts in a dataset, with preferences and without.

    The run to read comes first, as what stands in for its annotator. Five to seven queries.
    """
    rows = best_last(
        JudgeRun.objects.filter(
            STANDING, dataset=dataset.id, kind__in=VERDICT_RUNS, status=RunStatus.DONE
        ).filter(Exists(Judgment.objects.filter(run=OuterRef("pk"))))
    ).reverse()
    names = names_of(dataset=Dataset(pk=dataset.id, slug=dataset.slug))
    people = dict(rows.values_list("pk", "annotator_id"))
    runs = run_choices(rows)
    late = runs_edited_late({run.id: run.parent for run in runs if run.sets_of})
    return tuple(
        JudgeOption(
            run.id,
            run.judge,
            voice,
            run.kind,
            names.get(people[run.id] or 0, ""),
            run.prompt if run.prompt in RUBRICS else "",
            edited=voice != BASE and run.id in late,
        )
        for run in runs
        for voice in (PERSONAL, SELECTED, BASE)
        if voice == BASE or (run.stacked if voice == PERSONAL else run.sets_of)
    )


def picked_judge(options: Sequence[JudgeOption], key: str) -> JudgeOption | None:
    """The option asked for, or the first one, or None where there is none.

    Raises:
        Refused: no such option.
    """
    if not key:
        return options[0] if options else None
    found = next((each for each in options if each.key == key), None)
    if found is None:
        raise Refused("benchmark:unknown-choice", f"no run {key!r} with verdicts here")
    return found


def datasets_with_gold() -> tuple[DatasetChoice, ...]:
    """The datasets in which a comparison has a gold answer."""
    gold = GoldLabel.objects.filter(comparison__turn__session__dataset=OuterRef("pk"))
    return _those(Dataset.objects.filter(Exists(gold)).values_list("pk", flat=True))


def datasets_with_labels() -> tuple[DatasetChoice, ...]:
    """The datasets in which people compared responses and some run gave verdicts."""
    labels = PairwiseLabel.objects.filter(comparison__turn__session__dataset=OuterRef("pk"))
    runs = JudgeRun.objects.filter(STANDING, dataset=OuterRef("pk"), kind__in=VERDICT_RUNS)
    return _those(Dataset.objects.filter(Exists(labels), Exists(runs)).values_list("pk", flat=True))


def with_asked(known: tuple[DatasetChoice, ...], slug: str) -> tuple[DatasetChoice, ...]:
    """Those on offer, and the one asked for though it has nothing to show yet."""
    if not slug or any(each.slug == slug for each in known):
        return known
    return (*known, *(each for each in datasets() if each.slug == slug))


def _those(wanted: Iterable[int]) -> tuple[DatasetChoice, ...]:
    known = set(wanted)
    return tuple(each for each in datasets() if each.id in known)


def gold_answers(dataset: DatasetChoice) -> dict[int, tuple[str, str, int]]:
    """By comparison, its scenario, gold verdict and session, in file order.

    Of several answers that of the dataset comes before a manager's, and a manager's before one
    that annotators' labels were settled with.
    """
    rows = (
        GoldLabel.objects.filter(
            comparison__turn__session__dataset=dataset.id, verdict__isnull=False
        )
        .order_by(
            "comparison__turn__session__scenario__position",
            "comparison__turn__session__position",
            "comparison__position",
            "comparison_id",
        )
        .values_list(
            "comparison_id",
            "comparison__turn__session__scenario__name",
            "verdict",
            "source",
            "comparison__turn__session_id",
        )
    )
    found: dict[int, tuple[str, str, int]] = {}
    sources: dict[int, int] = {}
    for comparison, scenario, verdict, source, session in rows:
        rank = _GOLD_SOURCES.index(source)
        if rank >= sources.get(comparison or 0, 0):
            found[comparison or 0] = (scenario or "", verdict or "", session or 0)
            sources[comparison or 0] = rank
    return found


def openings(comparisons: Iterable[int]) -> dict[int, tuple[ItemKey, str, str]]:
    """By comparison, its key, its session's key and the user's message."""
    rows = Comparison.objects.filter(pk__in=list(comparisons)).values_list(
        "pk", "key", "position", "turn__session__key", "turn__user_message"
    )
    return {
        pk: (ItemKey.of(key, place, message), session, message or "")
        for pk, key, place, session, message in rows
    }


def labellers(comparisons: Iterable[int]) -> dict[int, int]:
    """By comparison, who labelled it first; one that nobody labelled is left out. One query."""
    rows = PairwiseLabel.objects.filter(comparison__in=list(comparisons), repeat_index=0)
    return dict(rows.order_by("-pk").values_list("comparison_id", "annotator_id"))


_NUMBERED: Final = re.compile(r"^(.+?)[ _-]?\d+$")


@dataclass(frozen=True, slots=True)
class PeopleQuestion:
    """What a reader asks: empty fields take the first choice; `people` is a group of annotators."""

    dataset: str = ""
    run: str = ""
    people: str = ""


@dataclass(frozen=True, slots=True)
class PeopleScope:
    """What was asked, resolved, with what else could be asked; `members` by annotator id."""

    question: PeopleQuestion
    datasets: tuple[DatasetChoice, ...]
    dataset: DatasetChoice | None
    judges: tuple[JudgeOption, ...]
    judge: JudgeOption | None
    groups: tuple[str, ...]
    members: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class PeoplePage:
    """The agreement of one judge and of people; `numbers` are those of scenarios, by name."""

    scope: PeopleScope
    tables: AgreementTables
    seed: int
    numbers: Mapping[str, int]


def group_of(name: str) -> str:
    """The group of an annotator: the name without its number, so expert_12 is one of expert."""
    numbered = _NUMBERED.match(name)
    return numbered.group(1) if numbered else name


def people_scope(question: PeopleQuestion) -> PeopleScope:
    """Resolve a question to rows.

    Raises:
        Refused: something asked for does not exist.
    """
    known = with_asked(datasets_with_labels(), question.dataset)
    return _scope(question, known, picked_dataset(known, question.dataset))


def people_page(question: PeopleQuestion) -> PeoplePage:
    """The page of a question.

    Raises:
        Refused: something asked for does not exist.
    """
    scope = people_scope(question)
    found = _agreement(scope, [scope.judge] if scope.judge else [])
    numbers = {each.name: each.id for each in scenarios(scope.dataset)} if scope.dataset else {}
    return PeoplePage(scope, found[0][1] if found else AgreementTables(), SEED, numbers)


def dataset_vote_agreement(
    dataset: str, *, people: str = ""
) -> tuple[tuple[JudgeOption, AgreementTables], ...]:
    """Every judge of a dataset with its agreement with a group of people, or with all.

    Raises:
        Refused: there is no such dataset; nobody of the group labelled in it.
    """
    scope = _scope(PeopleQuestion(dataset, people=people), (), dataset_of(dataset))
    return tuple(
        (judge, tables) for judge, tables in _agreement(scope, scope.judges) if tables.turns
    )


def _scope(
    question: PeopleQuestion,
    known: tuple[DatasetChoice, ...],
    dataset: DatasetChoice | None,
) -> PeopleScope:
    if dataset is None:
        return PeopleScope(question, known, None, (), None, (), {})
    names = names_of(dataset=Dataset(pk=dataset.id, slug=dataset.slug))
    groups = tuple(sorted({group_of(name) for name in names.values()}))
    if question.people and question.people not in groups:
        raise Refused("benchmark:unknown-choice", f"nobody of {question.people!r} labelled here")
    judges = judge_options(dataset)
    return PeopleScope(
        question=question,
        datasets=known,
        dataset=dataset,
        judges=judges,
        judge=picked_judge(judges, question.run),
        groups=groups,
        members={
            key: name for key, name in names.items() if question.people in {"", group_of(name)}
        },
    )


def _agreement(
    scope: PeopleScope, judges: Sequence[JudgeOption]
) -> list[tuple[JudgeOption, AgreementTables]]:
    """What each judge has in common with the people asked about; win rates are by everybody's."""
    if scope.dataset is None or not judges:
        return []
    places = compared_by_models(scope.dataset)
    people = human_verdicts(scope.dataset)
    rates = win_rates(
        outcome_of(one, other, people[comparison].values(), session)
        for comparison, (_scenario, one, other, session, _turn) in places.items()
        if comparison in people and one and other
    )
    order = {each.name: place for place, each in enumerate(scenarios(scope.dataset))}
    found = []
    for judge in judges:
        said = {
            comparison: conservative(decisions)
            for each in voice_decisions({judge.run}, judge.voice)
            for comparison, decisions in each.decided.items()
        }
        votes = [
            Votes(turn, said.get(comparison), own, session, scenario, (one, other))
            for comparison, (scenario, one, other, session, turn) in places.items()
            if (own := _of_members(people.get(comparison, {}), scope.members))
        ]
        votes.sort(key=lambda row: order[row.scenario])
        tables = AgreementTables(
            vote_agreement(votes),
            scenario_agreement(votes),
            gap_agreement(votes, {rate.model: rate.value for rate in rates}),
        )
        found.append((judge, tables))
    return found


def _of_members(given: Mapping[int, Verdict], members: Mapping[int, str]) -> tuple[Verdict, ...]:
    return tuple(verdict for annotator, verdict in given.items() if annotator in members)


def human_verdicts(
    dataset: DatasetChoice, members: Mapping[int, str] | None = None
) -> dict[int, dict[int, Verdict]]:
    """By comparison, what each of some annotators said, or everybody; of repeats the first."""
    labels = PairwiseLabel.objects.filter(comparison__turn__session__dataset=dataset.id)
    if members is not None:
        labels = labels.filter(annotator__in=list(members))
    rows = labels.order_by("repeat_index", "id")
    found: dict[int, dict[int, Verdict]] = defaultdict(dict)
    for comparison, annotator, verdict in rows.values_list(
        "comparison_id", "annotator_id", "verdict"
    ):
        found[comparison].setdefault(annotator, Verdict(verdict))
    return found
