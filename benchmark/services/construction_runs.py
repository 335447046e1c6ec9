"""Building a benchmark as a run: from the dialogues of a dataset to a queue for people to review.

Each stage is a unit, done in one transaction or by a run of its own, so that a kill anywhere leaves
what is done and the rest is done again alike. The judge sorts dialogues in a run of the kind SORT;
the two models answer, and the judge compares, in a dataset of candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from django.core.exceptions import ValidationError
from django.core.validators import validate_slug
from django.db import transaction
from django.db.models import Q

from annotation.core.choices import JudgmentStatus
from annotation.core.dataset_names import candidates_slug
from annotation.core.pairing import PairingKind, PairingRules
from annotation.core.refusals import Refused
from annotation.models import Dataset, Turn, User
from annotation.services.datasets import NewDialogue, add_dialogues
from benchmark.core.construction import (
    BuildStage,
    DialogueLimits,
    Dropped,
    DropReason,
    challenge_fault,
    privacy_fault,
    quality_fault,
    requests_of,
)
from benchmark.core.duplicates import find_duplicates, folded
from benchmark.models import BenchmarkVersion, ConstructionItem
from benchmark.queries.construction import (
    RUN_KIND,
    Challenge,
    SourceDialogue,
    challenges,
    child_at,
    in_play,
    limits_of,
    source_dialogues,
    version_of,
)
from benchmark.services.construction_sorting import plan_sorting
from benchmark.services.pairing import Verdicts, make_next_batch
from judging.core.rules import AnsweredTurns, GenerationSettings
from judging.core.runs import StageName
from judging.core.targets import RunTarget, Targets
from judging.llm.errors import PASSING
from judging.models import (
    GeneratedResponse,
    JudgeRun,
    Judgment,
    ModelEndpoint,
    RunKind,
    RunStatus,
    RunUnit,
)
from judging.queries.runs import UNFINISHED, unit_rows
from judging.services.batches import BatchWork, UnitStage
from judging.services.child_runs import choose_child, end_unit, ending, go_on, has_all_answers
from judging.services.endpoints import check_budget
from judging.services.heartbeats import Pulse, beat
from judging.services.judges import LEXICAL, check_chats, endpoint_for
from judging.services.kinds import Kind, plan
from judging.services.run_requests import RunRequest

SEED: Final = 42
_AT_ONCE: Final = 500
_CHUNK: Final = 1000
_STEPS: Final = {
    "duplicates": "duplicates",
    "quality": "length and quality",
    "privacy": "personal data",
    "sort": "denoising and categories",
}
_MODEL_STEPS: Final = {
    "candidates": "candidates",
    "strong": "answers of the strong model",
    "weak": "answers of the weak model",
    "pairs": "comparisons",
    "judge": "verdicts in both orders",
    "challenge": "strong against weak",
}


class ConstructionRequest(NamedTuple):
    """What is to be built of which dataset, by whom.

    `sorter` names the judge that says what is of use and sorts it, `judge` the one that compares.
    Without models, which go together, nothing is answered, and that is no ground for dropping.
    """

    source: Dataset
    version: str
    sorter: str = LEXICAL
    judge: str = LEXICAL
    strong: str = ""
    weak: str = ""
    limits: DialogueLimits = DialogueLimits()
    budget: Decimal | None = None
    created_by: User | None = None


def plan_construction(request: ConstructionRequest) -> JudgeRun:
    """A run that builds a benchmark up to its review; not saved.

    Raises:
        Refused: the version's name is no short name, or taken, or another construction's with other
            settings; the dataset has no dialogue; there
            is no such judge or endpoint, or it is no chat; one of two models is missing, or both
            are the same; there is a budget, but calls have no price.
    """
    _check_name(request.version)
    if not request.source.sessions.exists():
        raise Refused("construction:no-dialogues")
    if bool(request.strong) != bool(request.weak):
        raise Refused("construction:one-model")
    models = [_model(name) for name in (request.strong, request.weak) if name]
    if len({model.model for model in models}) == 1:
        raise Refused("construction:same-model")
    judges = [endpoint_for(name) for name in dict.fromkeys((request.sorter, request.judge))]
    for endpoint in judges:
        check_chats(endpoint)
    asked = [row for row in (*judges, *models) if row is not None]
    check_budget(request.budget, *asked)
    run = JudgeRun(
        kind=RUN_KIND,
        dataset=request.source,
        judge=request.judge if models else request.sorter,
        endpoint=asked[0] if asked else None,
        config={
            "version": request.version,
            "sorter": request.sorter,
            "judged_by": request.judge if models else "",
            "strong": request.strong,
            "weak": request.weak,
            "models": [model.model for model in models],
            "limits": request.limits._asdict(),
            "seed": SEED,
        },
        budget=request.budget,
        created_by=request.created_by,
    )
    _check_alone(run)
    return run


def _check_alone(wanted: JudgeRun) -> None:
    """Refuses to build a version that another construction builds otherwise."""
    version = wanted.config["version"]
    others = JudgeRun.objects.filter(
        kind=RUN_KIND, config__version=version, status__in=(*UNFINISHED, RunStatus.DONE)
    )
    for other in others:
        if (other.dataset_id, other.config) != (wanted.dataset_id, wanted.config):
            message = f"run {other.pk} builds {version} with other settings"
            raise Refused("construction:other-settings", message)


def _check_name(version: str) -> None:
    try:
        validate_slug(version)
    except ValidationError:
        raise Refused("construction:bad-name") from None
    most = BenchmarkVersion._meta.get_field("version").max_length  # noqa: SLF001 - documented API
    if most is not None and len(version) > most:
        raise Refused("construction:bad-name")
    taken = BenchmarkVersion.objects.filter(version=version)
    if taken.exists() or Dataset.with_staged.filter(slug=version).exists():
        raise Refused("construction:version-taken")


def _model(name: str) -> ModelEndpoint:
    endpoint = endpoint_for(name)
    if endpoint is None:
        raise Refused("generate:no-endpoint", f"{name} does not generate responses")
    check_chats(endpoint)
    return endpoint


def write_construction(run: JudgeRun) -> None:
    """Write a row for each dialogue, and the units."""
    steps = _STEPS | (_MODEL_STEPS if run.config["strong"] else {})
    RunUnit.objects.bulk_create(
        RunUnit(run=run, position=at, name=name, plan={"step": step})
        for at, (step, name) in enumerate(steps.items())
    )
    sessions = run.dataset.sessions.order_by("position", "pk").values_list("pk", flat=True)
    ConstructionItem.objects.bulk_create(
        (
            ConstructionItem(run=run, session_id=session, position=at)
            for at, session in enumerate(sessions)
        ),
        batch_size=_CHUNK,
    )


def work_construction(run: JudgeRun, unit: RunUnit, work: BatchWork) -> None:
    """Do a step, or go on with the run that does it.

    Raises:
        Refused: a step's run could not be started, or did not get its answers.
    """
    step = unit.plan["step"]
    if step in _PLANS:
        if unit.child_id is None:
            wanted = _PLANS[step](run)
            if wanted is None:
                end_unit(unit)
                return
            choose_child(run, unit, wanted)
        child = go_on(run, unit, work)
        if child.status in UNFINISHED:
            return
        if not has_all_answers(child):
            code = child.error_code or "run:failed"
            raise Refused(code, ending(child))
        with transaction.atomic():
            if step == "sort":
                _drop_unsorted(run)
            end_unit(unit)
        return
    compute = _COMPUTED[step](run, Pulse(run))
    with transaction.atomic():
        beat(run)
        compute()
        end_unit(unit)


Write = Callable[[], None]
"""What a computed step stores, inside a transaction."""


def _drop(stage: BuildStage, faults: Mapping[int, Dropped], run: JudgeRun) -> Write:
    """Store which dialogues a stage drops, by id of their row."""

    def write() -> None:
        dropped = list(ConstructionItem.objects.filter(run=run, pk__in=list(faults)))
        for row in dropped:
            row.dropped_at, row.reason = stage.value, faults[row.pk].reason.value
            row.details = row.details | dict(faults[row.pk].details)
        ConstructionItem.objects.bulk_update(
            dropped, ("dropped_at", "reason", "details"), batch_size=_AT_ONCE
        )

    return write


def _dialogues(
    run: JudgeRun, stage: BuildStage, pulse: Pulse
) -> Iterator[tuple[ConstructionItem, SourceDialogue]]:
    """What comes to a stage, in order."""
    items = list(in_play(run.pk, stage).defer("raw", "details"))
    for start in range(0, len(items), _AT_ONCE):
        some = items[start : start + _AT_ONCE]
        said = {each.session: each for each in source_dialogues([one.session_id for one in some])}
        pulse()
        yield from ((item, said[item.session_id]) for item in some)


def _duplicates(run: JudgeRun, pulse: Pulse) -> Write:
    items, texts = [], []
    for item, said in _dialogues(run, BuildStage.DUPLICATES, pulse):
        if folded(text := "\n".join(requests_of(said.dialogue))):  # the next stage sees empty ones
            items.append(item)
            texts.append(text)
    percent = limits_of(run).near_percent
    faults = {
        items[place].pk: Dropped(
            DropReason.EXACT if found.exact else DropReason.NEAR,
            {"of": items[found.of].position, "similarity": round(found.similarity, 3)},
        )
        for place, found in find_duplicates(texts, percent=percent, pulse=pulse).items()
    }
    return _drop(BuildStage.DUPLICATES, faults, run)


def _quality(run: JudgeRun, pulse: Pulse) -> Write:
    limits = limits_of(run)
    faults = {
        item.pk: fault
        for item, said in _dialogues(run, BuildStage.QUALITY, pulse)
        if (fault := quality_fault(said.dialogue, limits)) is not None
    }
    return _drop(BuildStage.QUALITY, faults, run)


def _privacy(run: JudgeRun, pulse: Pulse) -> Write:
    faults = {
        item.pk: fault
        for item, said in _dialogues(run, BuildStage.PRIVACY, pulse)
        if (fault := privacy_fault(said.whole)) is not None
    }
    return _drop(BuildStage.PRIVACY, faults, run)


def _drop_unsorted(run: JudgeRun) -> None:
    """What the judge gave no category, its error code is with the row."""
    rows = in_play(run.pk, BuildStage.SORTING).exclude(status=JudgmentStatus.DONE)
    here = BuildStage.SORTING.value
    rows.filter(_CALL_FAILED).update(dropped_at=here, reason=DropReason.CALL_FAILED.value)
    rows.exclude(_CALL_FAILED).update(dropped_at=here, reason=DropReason.NOT_SORTED.value)


_CALL_FAILED: Final = Q(status=JudgmentStatus.FAILED, error_code__in=PASSING)
"""Rows that another try may bring an answer: no ground for dropping a dialogue for good."""


def _candidates(run: JudgeRun, pulse: Pulse) -> Write:
    """Copy what is in play into a dataset of its own, where models answer it."""
    came = _dialogues(run, BuildStage.CHALLENGE, pulse)
    copies = [(item, copy_of(said, item.category)) for item, said in came]

    def write() -> None:
        dataset = candidates_of(run)
        sessions = add_dialogues(dataset, [copy for _item, copy in copies])
        for item, copy in copies:
            item.candidate_id = sessions[copy.key]
        ConstructionItem.objects.bulk_update(
            [item for item, _copy in copies], ("candidate",), batch_size=_AT_ONCE
        )

    return write


def copy_of(said: SourceDialogue, category: str, request: str = "") -> NewDialogue:
    """A dialogue for another dataset; `request` in the place of the last message, "" for it."""
    *earlier, (last, reply, model) = said.turns
    turns = (*earlier, (request or last, reply, model))
    return NewDialogue(said.key, category, said.language, said.system_prompt, turns)


def candidates_of(run: JudgeRun) -> Dataset:
    """The dataset in which the models of a construction answer; made where there is none."""
    version = run.config["version"]
    dataset, _made = Dataset.objects.get_or_create(
        slug=candidates_slug(version, run.pk),
        defaults={
            "name": f"{version} (candidates, run {run.pk})",
            "source": f"{run.dataset.slug}",
            "licence": run.dataset.licence,
        },
    )
    return dataset


ANSWERS: Final = GenerationSettings(turns=AnsweredTurns.LAST)
"""How the two models answer."""


def _plan_answers(name: str, run: JudgeRun) -> JudgeRun | None:
    dataset = candidates_of(run)
    turns = Turn.objects.filter(session__dataset=dataset).order_by("pk")
    if not turns:
        return None
    request = RunRequest(
        kind=RunKind.GENERATE,
        dataset=dataset,
        judge=run.config[name],
        targets=Targets(kind=RunTarget.ALL, only=tuple(turn.pk for turn in turns)),
        generation=ANSWERS,
        created_by=run.created_by,
    )
    return plan(request)[0]


def pairing_rules(models: Sequence[str]) -> PairingRules:
    """One comparison of two models a dialogue."""
    return PairingRules(kind=PairingKind.ALL, models=tuple(models), both_models=True)


def _plan_judging(run: JudgeRun) -> JudgeRun | None:
    request = RunRequest(
        kind=RunKind.TEST,
        dataset=candidates_of(run),
        judge=run.config["judged_by"],
        with_sets=False,
        targets=Targets(kind=RunTarget.ALL),
        created_by=run.created_by,
    )
    try:
        return plan(request)[0]
    except Refused as refused:
        if refused.code == "run:no-targets":  # no two answers that differ
            return None
        raise


def _pairs(run: JudgeRun, pulse: Pulse) -> Write:
    def write() -> None:
        rules, nobody = pairing_rules(run.config["models"]), Verdicts()
        try:
            make_next_batch(candidates_of(run), rules, nobody, by=run.created_by, pulse=pulse)
        except Refused as refused:
            if refused.code not in ("pairing:nothing", "pairing:nothing-left"):
                raise

    return write


def _challenge(run: JudgeRun, _pulse: Pulse) -> Write:
    judged = child_at(run.pk, "judge")
    items = dict(
        in_play(run.pk, BuildStage.CHALLENGE)
        .filter(candidate__isnull=False)
        .values_list("pk", "candidate_id")
    )
    judge_run = None if judged is None else judged.pk
    found = challenges(list(items.values()), run.config["models"], judge_run)
    unanswered = _unanswered(run)
    faults = {
        pk: Dropped(DropReason.CALL_FAILED if candidate in unanswered else reason, {})
        for pk, candidate in items.items()
        if (reason := _challenge_reason(found[candidate])) is not None
    }
    return _drop(BuildStage.CHALLENGE, faults, run)


def _unanswered(run: JudgeRun) -> set[int]:
    """The candidates' sessions about which a call failed that another try may not see fail."""
    children = list(unit_rows(run.pk).values_list("child", flat=True))
    answers = GeneratedResponse.objects.filter(_CALL_FAILED, run__in=children)
    verdicts = Judgment.objects.filter(_CALL_FAILED, run__in=children)
    return {
        *answers.values_list("turn__session_id", flat=True),
        *verdicts.values_list("comparison__turn__session_id", flat=True),
    }


def _challenge_reason(challenge: Challenge) -> DropReason | None:
    strong, weak = challenge.answers
    if strong is None or weak is None:
        return DropReason.NO_ANSWER
    if strong == weak:
        return DropReason.EQUAL
    return challenge_fault(challenge.original, challenge.swapped)


_PLANS: Final[Mapping[str, Callable[[JudgeRun], JudgeRun | None]]] = {
    "sort": plan_sorting,
    "strong": lambda run: _plan_answers("strong", run),
    "weak": lambda run: _plan_answers("weak", run),
    "judge": _plan_judging,
}
"""The steps that are runs of their own."""
_COMPUTED: Final[Mapping[str, Callable[[JudgeRun, Pulse], Write]]] = {
    "duplicates": _duplicates,
    "quality": _quality,
    "privacy": _privacy,
    "candidates": _candidates,
    "pairs": _pairs,
    "challenge": _challenge,
}

_RESTING: Final[Mapping[str, frozenset[str]]] = {
    "sort": frozenset(_MODEL_STEPS),
    "strong": frozenset({"pairs", "judge", "challenge"}),
    "weak": frozenset({"pairs", "judge", "challenge"}),
    "judge": frozenset({"challenge"}),
}
"""By a step whose calls are asked again, the steps that are done again after it."""


def steps_resting(run: JudgeRun, again: Sequence[RunUnit]) -> list[RunUnit]:
    """The steps to be done again, and what they dropped in play until they are.

    Reviews stay: what they decided on was answered.

    Raises:
        Refused: the benchmark is frozen.
    """
    if version_of(run) is not None:
        raise Refused("construction:frozen")
    rows = ConstructionItem.objects.filter(run=run)
    steps = {unit.plan["step"] for unit in again}
    resting = {step for each in steps for step in _RESTING[each]}
    if "sort" in steps:
        unsorted = rows.filter(dropped_at=BuildStage.SORTING, status=JudgmentStatus.FAILED)
        unsorted.update(dropped_at="", reason="")
    if "challenge" in resting:
        rows.filter(dropped_at=BuildStage.CHALLENGE).update(dropped_at="", reason="")
    return list(unit_rows(run.pk).filter(plan__step__in=resting))


CONSTRUCT: Final = Kind(
    None,
    write_construction,
    (UnitStage(StageName.UNIT, work_construction),),
    steps_resting,
)
