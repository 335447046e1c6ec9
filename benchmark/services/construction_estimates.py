"""What a construction would ask and cost: its rules are tried at once, its calls put to nobody."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from annotation.models import Dataset
from benchmark.core.construction import DialogueLimits, privacy_fault, quality_fault, requests_of
from benchmark.core.duplicates import find_duplicates, folded
from benchmark.queries.construction import (
    SORT_KIND,
    SourceDialogue,
    limits_of,
    source_dialogues,
)
from benchmark.services.construction_runs import (
    ANSWERS,
    ConstructionRequest,
    plan_construction,
)
from benchmark.services.construction_sorting import SortTask, ask_sorting, sorting_run
from judging.core.estimates import ASSUMED_REFERENCE, RunEstimate
from judging.core.judge_prompts import PairTexts
from judging.core.questions import GenerationQuestion, Outcome, SortQuestion
from judging.core.rules import PairwiseSettings
from judging.core.runs import ORDERS, StageName
from judging.judges.protocol import Judge
from judging.models import JudgeRun, RunKind
from judging.queries.configurations import as_json
from judging.services.abilities import learn_abilities
from judging.services.estimate_tallies import tally_of
from judging.services.estimates import share_of_prompts
from judging.services.judges import endpoint_for
from judging.services.judgments import JudgmentQuestion, ask_judge
from judging.services.pairwise_runs import pairwise_run
from judging.services.run_requests import RunRequest

_AT_ONCE: Final = 500
MOST_COMPARED: Final = 5000
"""Of more dialogues an estimate, which a page waits for, leaves out the search for near copies."""


class ConstructionEstimate(NamedTuple):
    """The dialogues of the source, those that pass the rules, and the runs that are then needed.

    Of these each is estimated for all dialogues that pass: how many the judge finds of no use, or
    the two models answer alike, nobody knows before.
    """

    dialogues: int
    passing: int
    runs: Sequence[RunEstimate]


def estimate_construction(request: ConstructionRequest) -> ConstructionEstimate:
    """The calls of a construction, at most.

    The rules are tried as in the run, but among more than MOST_COMPARED dialogues only exact copies
    are found, so that nobody waits long: the run then asks less than is said here.

    Raises:
        Refused: as for `plan_construction`.
    """
    run = plan_construction(request)
    said = list(_passing(request.source, limits_of(run)))
    asked = [sorting_run(run, endpoint_for(request.sorter))]
    asked += [_answering(request, name) for name in (request.strong, request.weak) if name]
    judging = [_judging(request)] if request.strong else []
    runs = [*asked, *judging]
    learn_abilities(runs)
    most = share_of_prompts(len(runs))
    answered = [start for each in said for start in _answered(each)]
    found = [_try(one, said if one.kind == SORT_KIND else answered, most) for one in runs]
    return ConstructionEstimate(request.source.sessions.count(), len(said), found)


def _passing(source: Dataset, limits: DialogueLimits) -> Iterator[SourceDialogue]:
    keys = list(source.sessions.order_by("position", "pk").values_list("pk", flat=True))
    said = []
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        found = {each.session: each for each in source_dialogues(some)}
        said += [found[key] for key in some]
    texts = ["\n".join(requests_of(each.dialogue)) for each in said]
    if len(texts) > MOST_COMPARED:
        first: dict[str, int] = {}
        repeated = {at for at, one in enumerate(texts) if first.setdefault(folded(one), at) != at}
    else:
        repeated = set(find_duplicates(texts, percent=limits.near_percent))
    for place, each in enumerate(said):
        faults = (
            place in repeated,
            quality_fault(each.dialogue, limits),
            privacy_fault(each.whole),
        )
        if not any(faults):
            yield each


def _answering(request: ConstructionRequest, name: str) -> JudgeRun:
    return JudgeRun(
        kind=RunKind.GENERATE,
        dataset=request.source,
        judge=name,
        endpoint=endpoint_for(name),
        config=as_json(ANSWERS),
    )


def _judging(request: ConstructionRequest) -> JudgeRun:
    asked = RunRequest(
        kind=RunKind.TEST, dataset=request.source, judge=request.judge, with_sets=False
    )
    endpoint = endpoint_for(request.judge)
    return pairwise_run(asked, PairwiseSettings(), (), {}, judge=request.judge, endpoint=endpoint)


def _answered(said: SourceDialogue) -> Sequence[SourceDialogue]:
    """What the models answer of a dialogue: its end, or each message where none has a reply."""
    places = [at for at, (message, *_reply) in enumerate(said.turns, 1) if message is not None]
    if any(reply is not None for _message, reply, _model in said.turns):
        places = places[-1:]
    return [said._replace(turns=said.turns[:at]) for at in places]


class _Answered(NamedTuple):
    answer: Outcome[str]


async def _ask_answer(judge: Judge, question: GenerationQuestion) -> _Answered:
    return _Answered(await judge.generate(question))


def _try(run: JudgeRun, said: Sequence[SourceDialogue], most: int) -> RunEstimate:
    tally = tally_of(run, most=most)
    if run.kind == RunKind.GENERATE:
        tally.try_out(
            StageName.GENERATE,
            len(said),
            lambda places: [_generation(said[place]) for place in places],
            _ask_answer,
        )
    elif run.kind == RunKind.TEST:
        tally.try_out(
            StageName.JUDGE,
            len(ORDERS) * len(said),
            lambda places: [_judgment(said[place // 2], place % 2) for place in places],
            ask_judge,
        )
    else:
        tally.try_out(
            StageName.SORT,
            len(said),
            lambda places: [
                SortTask(0, SortQuestion(said[place].whole, said[place].language))
                for place in places
            ],
            ask_sorting,
        )
    return tally.total()


def _generation(said: SourceDialogue) -> GenerationQuestion:
    turns = tuple((message, reply) for message, reply, _model in said.turns)
    return GenerationQuestion(system=said.system_prompt, turns=turns, language=said.language)


def _judgment(said: SourceDialogue, order: int) -> JudgmentQuestion:
    texts = PairTexts(
        said.whole, ASSUMED_REFERENCE, f"{ASSUMED_REFERENCE}.", said.language, len(said.turns)
    )
    return JudgmentQuestion(0, ORDERS[order], texts, "", "")
