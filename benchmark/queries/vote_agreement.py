"""Agreement of judges with people beside that of people with each other, turn by turn."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from annotation.core.choices import Verdict
from annotation.core.refusals import Refused
from annotation.models import Comparison, Dataset, PairwiseLabel
from annotation.queries.annotators import names_of
from benchmark.core.decisions import decide
from benchmark.core.vote_agreement import VoteAgreement, Votes, conservative, vote_agreement
from benchmark.queries.choices import DatasetChoice, dataset_of, picked_dataset
from benchmark.queries.evidence import heard_replies
from benchmark.queries.trust import SEED
from benchmark.queries.verdict_runs import (
    JudgeOption,
    datasets_with_labels,
    judge_options,
    picked_judge,
    with_asked,
)

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
    """The agreement of one judge and of people, by turn."""

    scope: PeopleScope
    rows: tuple[VoteAgreement, ...]
    seed: int


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
    return PeoplePage(scope, _agreement(scope, scope.judge), SEED)


def dataset_vote_agreement(
    dataset: str, *, people: str = ""
) -> tuple[tuple[JudgeOption, tuple[VoteAgreement, ...]], ...]:
    """Every judge of a dataset with its agreement with a group of people, or with all.

    Raises:
        Refused: there is no such dataset; nobody of the group labelled in it.
    """
    scope = _scope(PeopleQuestion(dataset, people=people), (), dataset_of(dataset))
    found = ((judge, _agreement(scope, judge)) for judge in scope.judges)
    return tuple((judge, rows) for judge, rows in found if rows)


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


def _agreement(scope: PeopleScope, judge: JudgeOption | None) -> tuple[VoteAgreement, ...]:
    if scope.dataset is None or judge is None:
        return ()
    people = human_verdicts(scope.dataset, scope.members)
    said = {
        heard.comparison: conservative(decide(heard.replies, heard.members))
        for heard in heard_replies({judge.run}, judge.voice)
    }
    votes = [
        Votes(turn, said.get(comparison), tuple(people.get(comparison, {}).values()))
        for comparison, turn in _turns(scope.dataset).items()
        if comparison in people
    ]
    return vote_agreement(votes, seed=SEED)


def human_verdicts(
    dataset: DatasetChoice, members: Mapping[int, str]
) -> dict[int, dict[int, Verdict]]:
    """By comparison, what each of some annotators said; of repeats the first."""
    rows = PairwiseLabel.objects.filter(
        comparison__turn__session__dataset=dataset.id, annotator__in=list(members)
    ).order_by("repeat_index", "id")
    found: dict[int, dict[int, Verdict]] = defaultdict(dict)
    for comparison, annotator, verdict in rows.values_list(
        "comparison_id", "annotator_id", "verdict"
    ):
        found[comparison].setdefault(annotator, Verdict(verdict))
    return found


def _turns(dataset: DatasetChoice) -> dict[int, int]:
    """The number of each comparison's turn, from 1."""
    rows = Comparison.objects.filter(turn__session__dataset=dataset.id).order_by("pk")
    return {pk: place + 1 for pk, place in rows.values_list("pk", "turn__position")}
