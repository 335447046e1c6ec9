"""Replays as runs: have candidates answer, score them beside the originals, keep the figures.

A unit is a generation, one a candidate and context, or the scoring. One scoring run scores all
answers, so that every candidate meets the same evaluator: the same version, memories and cut
points. What is generated or scored already is used again; a candidate whose generation failed is
left out of the report, and joins it where the run is retried.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final, NamedTuple

from annotation.core.choices import JudgmentStatus, is_satisfied
from annotation.core.refusals import Refused
from annotation.models import Dataset, Response, User
from benchmark.core.replay_items import ItemRule, ReplaySelection, chosen_turns, frozen_turns
from benchmark.queries.construction import version_named
from benchmark.queries.replay import (
    RUN_KIND,
    Replayable,
    generated_answers,
    replayable_turns,
    stored_answers,
    stored_candidates,
)
from benchmark.services.evaluators import judge_and_variant, scoring_run
from benchmark.services.replay_report import CandidateAnswers, Item, keep_replay
from judging.core.estimates import RunEstimate
from judging.core.rules import LEARNED, AnsweredTurns, GenerationContext, GenerationSettings
from judging.core.runs import StageName
from judging.core.satisfaction_training import check_enough
from judging.core.targets import RunTarget, Targets
from judging.llm.errors import LlmCode
from judging.models import JudgeRun, ModelEndpoint, RunKind, RunUnit
from judging.queries.runs import UNFINISHED, unit_rows
from judging.queries.satisfaction.blocks import gold_ratings
from judging.services.batches import BatchWork, ComputingStage, UnitStage
from judging.services.child_runs import (
    choose_child,
    end_unit,
    ending,
    fail_with_child,
    go_on,
    has_all_answers,
    refuse_unit,
)
from judging.services.endpoints import check_budget
from judging.services.estimates import estimate_all
from judging.services.heartbeats import Pulse
from judging.services.judges import endpoint_for
from judging.services.kinds import Kind, plan
from judging.services.run_control import choose_anew
from judging.services.run_requests import RunRequest, finished_like

DEFAULT_SEED: Final = 42
STORED: Final = "responses:"
"""Before a model's name: its responses in the dataset, whatever endpoint has the same name."""


class ReplayRequest(NamedTuple):
    """What is to be replayed: the turns, who answers, in which contexts, and who scores.

    `candidates` are endpoints, or models with responses in the dataset: "NAME", or
    "responses:MODEL" for these alone; `contexts` tell such responses apart by their variant.
    `seed` draws a sample of the turns, and the users of the intervals.
    """

    dataset: Dataset
    evaluator: str
    candidates: Sequence[str]
    contexts: Sequence[GenerationContext] = (GenerationContext.PREFIX,)
    items: ReplaySelection = ReplaySelection(ItemRule.ALL)
    seed: int = DEFAULT_SEED
    temperature: float = GenerationSettings().temperature
    max_tokens: int = GenerationSettings().max_tokens
    budget: Decimal | None = None
    created_by: User | None = None


class Candidate(NamedTuple):
    """Who answers: an endpoint by its name, or a model whose responses are there ("")."""

    name: str
    endpoint: str
    model: str
    context: str

    @property
    def variant(self) -> str:
        """Of its responses."""
        return GenerationContext(self.context).variant


def plan_replay(request: ReplayRequest) -> JudgeRun:
    """A run that replays turns; not saved.

    Raises:
        Refused: there is no such evaluator, candidate or context for one; nothing can be replayed;
            there is a budget, but calls have no price; the learned evaluator has too few ratings.
    """
    dataset = request.dataset
    candidates = _candidates(request)
    found = _replayable(request)
    places = chosen_turns([each.turn for each in found], request.items, seed=request.seed)
    if not places:
        raise Refused("replay:no-turns")
    items = [
        Item(each.turn.user, each.turn_id, each.response_id)
        for each in (found[at] for at in places)
    ]
    scoring = _scoring(dataset, request.evaluator, [each.response_id for each in items])
    if scoring.judge == LEARNED:
        gold = gold_ratings(dataset_id=dataset.pk)
        below = [not is_satisfied(score) for score, _reason in gold.values()]
        check_enough(len({user for user, _response in gold}), below)
    wanted = [_generation(dataset, each, items, _settings_of(request)) for each in candidates]
    writers = [each.endpoint for each in wanted if each is not None]
    check_budget(request.budget, scoring.endpoint, scoring.writer_endpoint, *writers)
    judge, _variant = judge_and_variant(request.evaluator)
    return JudgeRun(
        kind=RUN_KIND,
        dataset=dataset,
        judge=judge[:80],
        endpoint=scoring.endpoint,
        # Whoever answers first: a budget is kept for them, though they judge nothing.
        writer_endpoint=writers[0] if writers else scoring.writer_endpoint,
        config={
            "evaluator": request.evaluator,
            "items": request.items.word,
            "replayed": len(items),
            "seed": request.seed,
            "temperature": request.temperature,
            "max_tokens": request.max_tokens,
            "candidates": [each._asdict() for each in candidates],
            "chosen": [[each.user, each.response_id] for each in items],
        },
        budget=request.budget,
        created_by=request.created_by,
    )


def _replayable(request: ReplayRequest) -> list[Replayable]:
    """The turns to choose from: all of the dataset, or those of a version."""
    found = replayable_turns(request.dataset.pk)
    if request.items.rule is not ItemRule.VERSION:
        return found
    version = version_named(request.items.version)
    frozen = set(frozen_turns([each.turn for each in found], version.items))
    return [each for each in found if each.turn in frozen]


def estimate_replay(request: ReplayRequest) -> list[RunEstimate]:
    """The runs that a replay would start, without those that are finished.

    Answers that are not generated yet are scored at the length that is assumed of any.

    Raises:
        Refused: as for `plan_replay`.
    """
    run = plan_replay(request)
    items = _items(run)
    runs: list[tuple[str, JudgeRun]] = []
    stored, awaited = [], 0
    for each in _planned_candidates(run):
        wanted = _generation(request.dataset, each, items, run.config)
        done = None if wanted is None else finished_like(wanted)
        if wanted is not None and done is None:
            runs.append((_generation_name(each), wanted))
            awaited += 1
        else:
            stored.append(_answers(each, items, generated=None if done is None else done.pk))
    scoring = _scoring(request.dataset, request.evaluator, _responses(items, stored))
    scoring.awaited = awaited
    if awaited or finished_like(scoring) is None:
        runs.append((_scoring_name(request.evaluator), scoring))
    estimates = estimate_all([run for _, run in runs])
    return [replace(each, name=name) for each, (name, _) in zip(estimates, runs, strict=True)]


def _generation_name(candidate: Candidate) -> str:
    return f"generate · {candidate.name}"


def _scoring_name(evaluator: str) -> str:
    return f"score · {evaluator}"


def _candidates(request: ReplayRequest) -> list[Candidate]:
    stored = set(stored_candidates(request.dataset.pk))
    found: list[Candidate] = []
    for word in request.candidates:
        model = word.removeprefix(STORED)
        endpoint = None if word.startswith(STORED) else _endpoint(model)
        own = [
            Candidate(
                f"{model} ({context.word})" if context.variant else model,
                "" if endpoint is None else endpoint.name,
                model if endpoint is None else endpoint.model,
                context.value,
            )
            for context in request.contexts
            if endpoint is not None or (model, context.variant) in stored
        ]
        if not own:
            raise Refused("replay:unknown-candidate", _why_none(word, model, stored))
        found += own
    if not found:
        raise Refused("replay:no-candidate")
    # What an endpoint writes and what a model of its name wrote are told apart.
    taken = {each.name for each in found if each.endpoint}
    told = [
        each._replace(name=f"{STORED}{each.name}")
        if each.name in taken and not each.endpoint
        else each
        for each in found
    ]
    return list(dict.fromkeys(told))


def _why_none(word: str, model: str, stored: Collection[tuple[str, str]]) -> str:
    there = [each.word for each in GenerationContext if (model, each.variant) in stored]
    if there:
        return f"{model!r} has responses only with the context {' or '.join(there)}: ask for it"
    return f"{word!r} is no endpoint, and no response of a model of that name is there"


def _endpoint(name: str) -> ModelEndpoint | None:
    try:
        return endpoint_for(name)
    except Refused:
        return None


def _settings_of(request: ReplayRequest) -> Mapping[str, Any]:
    return {"temperature": request.temperature, "max_tokens": request.max_tokens}


def _generation(
    dataset: Dataset, candidate: Candidate, items: Sequence[Item], settings: Mapping[str, Any]
) -> JudgeRun | None:
    """A run in which a candidate answers the turns, planned; None where its answers are there."""
    if not candidate.endpoint:
        return None
    request = RunRequest(
        kind=RunKind.GENERATE,
        dataset=dataset,
        judge=candidate.endpoint,
        targets=Targets(kind=RunTarget.ALL, only=_turns(items)),
        generation=GenerationSettings(
            context=GenerationContext(candidate.context),
            turns=AnsweredTurns.ALL,
            temperature=settings["temperature"],
            max_tokens=settings["max_tokens"],
        ),
    )
    return plan(request)[0]


def _scoring(dataset: Dataset, evaluator: str, responses: Sequence[int]) -> JudgeRun:
    targets = Targets(kind=RunTarget.ALL, only=tuple(sorted(set(responses))))
    return scoring_run(evaluator, dataset=dataset, targets=targets)


def write_replay(run: JudgeRun) -> None:
    """Write the units: a generation for each endpoint and context, then the scoring of all."""
    plans = [
        (_generation_name(each), {"candidate": place})
        for place, each in enumerate(_planned_candidates(run))
        if each.endpoint
    ]
    plans.append((_scoring_name(run.config["evaluator"]), {"scores": True}))
    RunUnit.objects.bulk_create(
        RunUnit(run=run, position=place, name=name[:200], plan=unit)
        for place, (name, unit) in enumerate(plans)
    )


def work_replay(run: JudgeRun, unit: RunUnit, work: BatchWork) -> None:
    """Go on with a unit's run.

    Raises:
        Refused: no candidate has an answer, or the scoring did not come to its end.
    """
    if "scores" in unit.plan:
        _score(run, unit, work)
    else:
        _generate(run, unit, work)


def _generate(run: JudgeRun, unit: RunUnit, work: BatchWork) -> None:
    candidate = _planned_candidates(run)[unit.plan["candidate"]]
    if unit.child_id is None:
        try:
            wanted = _generation(_dataset(run), candidate, _items(run), run.config)
            assert wanted is not None  # noqa: S101 - the unit is there for its endpoint
            choose_child(run, unit, wanted)
        except Refused as refused:
            refuse_unit(unit, refused)
            return
    child = go_on(run, unit, work)
    if child.status in UNFINISHED:
        return
    if has_all_answers(child):
        _score_anew(run)
        end_unit(unit)
    else:
        fail_with_child(unit, child)


def _score_anew(run: JudgeRun) -> None:
    """Where a generation was retried after the others were scored, or were to be: with it."""
    unit = unit_rows(run.pk).get(plan__has_key="scores")
    if unit.child_id is not None:
        choose_anew(unit)


def _score(run: JudgeRun, unit: RunUnit, work: BatchWork) -> None:
    if unit.child_id is None:
        items = _items(run)
        answers = _candidate_answers(run, items)
        if not any(each.responses for each in answers):
            raise _nobody_answered(run)
        responses = _responses(items, [each.responses for each in answers])
        choose_child(run, unit, _scoring(_dataset(run), run.config["evaluator"], responses))
    child = go_on(run, unit, work)
    if child.status in UNFINISHED:
        return
    if not has_all_answers(child):
        raise Refused(child.error_code or "run:failed", ending(child))
    end_unit(unit)


def _nobody_answered(run: JudgeRun) -> Refused:
    failed = unit_rows(run.pk).filter(status=JudgmentStatus.FAILED).order_by("position").first()
    if failed is None:
        return Refused("replay:no-candidate")
    is_money = failed.error_code == LlmCode.BUDGET_SPENT
    return Refused(failed.error_code if is_money else "run:failed", failed.result["ending"])


def report_replay(run: JudgeRun) -> None:
    """Keep the scores of all answers, and the figures."""
    items = _items(run)
    scored = unit_rows(run.pk).select_related("child").get(plan__has_key="scores")
    assert scored.child is not None  # noqa: S101 - its unit is done
    left_out = [
        {
            "candidate": _planned_candidates(run)[unit.plan["candidate"]].name,
            "code": unit.error_code,
            "detail": unit.result["detail"],
            "run": unit.result["run"],
        }
        for unit in unit_rows(run.pk).filter(status=JudgmentStatus.FAILED).order_by("position")
    ]
    keep_replay(
        run,
        scored.child,
        items=items,
        candidates=_candidate_answers(run, items),
        left_out=left_out,
        pulse=Pulse(run),
    )


def _dataset(run: JudgeRun) -> Dataset:
    return Dataset.objects.get(pk=run.dataset_id)


def _planned_candidates(run: JudgeRun) -> list[Candidate]:
    return [Candidate(**each) for each in run.config["candidates"]]


def _items(run: JudgeRun) -> list[Item]:
    """What was chosen as the run was planned; whose original response is gone is left out."""
    chosen = [(user, response) for user, response in run.config["chosen"]]
    rows = Response.objects.filter(turn__session__dataset=run.dataset_id, original=True)
    turns = dict(rows.values_list("pk", "turn_id"))
    return [Item(user, turns[response], response) for user, response in chosen if response in turns]


def _turns(items: Sequence[Item]) -> tuple[int, ...]:
    return tuple(sorted({each.turn_id for each in items}))


def _answers(
    candidate: Candidate, items: Sequence[Item], *, generated: int | None
) -> dict[int, int]:
    """By turn a candidate's response; `generated` is the run that made them."""
    if generated is not None:
        return generated_answers(_turns(items), run_id=generated)
    return stored_answers(_turns(items), model=candidate.model, variant=candidate.variant)


def _candidate_answers(run: JudgeRun, items: Sequence[Item]) -> list[CandidateAnswers]:
    """The candidates with their answers, but those whose generation failed."""
    return list(_answered(run, items))


def _answered(run: JudgeRun, items: Sequence[Item]) -> Iterator[CandidateAnswers]:
    units = {
        unit.plan["candidate"]: unit for unit in unit_rows(run.pk).filter(plan__has_key="candidate")
    }
    for place, each in enumerate(_planned_candidates(run)):
        unit = units.get(place)
        if unit is None or unit.status == JudgmentStatus.DONE:
            generated = None if unit is None else unit.child_id
            responses = _answers(each, items, generated=generated)
            context = each.context if each.endpoint or each.variant else ""
            yield CandidateAnswers(each.name, each.model, context, generated, responses)


def _responses(items: Sequence[Item], answers: Sequence[Mapping[int, int]]) -> list[int]:
    """The originals and every candidate's, to be scored."""
    return [*(each.response_id for each in items), *(pk for own in answers for pk in own.values())]


REPLAY: Final = Kind(
    None,
    write_replay,
    (
        UnitStage(StageName.UNIT, work_replay),
        ComputingStage(StageName.REPORT, report_replay),
    ),
    lambda _run, _again: (),  # what is scored is chosen anew once a generation ended
)
