"""What a run's configuration says: its rules, and what it is about. Other keys are passed over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

from judging.core.calibration import Calibration
from judging.core.rules import (
    SPECS,
    Combine,
    GenerationSettings,
    PairwiseSettings,
    SatisfactionSettings,
    Variant,
)
from judging.core.runs import (
    COLUMNS,
    OTHERS,
    SCENARIOS,
    SELECTION,
    TARGETS,
    AppliedPlan,
    ColumnPlan,
    DistilPlan,
)
from judging.core.targets import Basis, Targets
from judging.core.verdicts import VerdictRule
from judging.judges.lexical import NAME as LEXICAL

if TYPE_CHECKING:
    from pydantic import TypeAdapter

WRITER: Final = "writer"
"""In a configuration: the snapshot of who wrote what was judged by, where the judge did not."""

Stored = TypeVar("Stored")


@cache
def _adapter(stored_type: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # a tenth of a second, which no start has to wait for

    return TypeAdapter(stored_type)


def _read(stored_type: type[Stored], stored: object) -> Stored:
    hashable: Any = stored_type  # as all types are, which mypy doubts
    value: Stored = _adapter(hashable).validate_python(stored)
    return value


def read_sent(stored_type: Any, sent: object) -> tuple[Any, list[tuple[str, str, str]]]:
    """A value that a script sent, or all that is wrong with it: place, code and reason of each.

    Unlike in a stored configuration an unknown key is wrong.
    """
    from pydantic import ValidationError

    try:
        value = _adapter(stored_type).validate_python(sent, extra="forbid")
        reason = "Expected a number, not true or false."
        return value, [(place, "number_type", reason) for place in _booleans(sent, value)]
    except ValidationError as error:
        found = error.errors(include_url=False, include_context=False, include_input=False)
        return None, [
            (".".join(map(str, each["loc"])), each["type"], each["msg"]) for each in found
        ]


def _booleans(sent: object, value: object, place: str = "") -> Iterator[str]:
    """The places where true or false was taken for the number 1 or 0."""
    if isinstance(sent, bool):
        if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
            yield place
    elif isinstance(sent, Mapping):
        for name, inner in sent.items():
            taken = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
            yield from _booleans(inner, taken, f"{place}.{name}".strip("."))
    elif isinstance(sent, list | tuple) and isinstance(value, list | tuple):
        for number, (inner, taken) in enumerate(zip(sent, value, strict=False)):
            yield from _booleans(inner, taken, f"{place}.{number}".strip("."))


def as_json(value: Any) -> Any:
    """Rules or a plan as they are stored."""
    hashable: Any = type(value)
    return _adapter(hashable).dump_python(value, mode="json")


_UNTOLD: Final = {"sorts"}
"""What a run's kind says already."""
_OF_PREFERENCES: Final = (
    *("set_dataset", "distil_prompt", "aggregate_eligible", "shuffled_control", "control_draws"),
    *("combine", "mode", "difference_penalty"),
)


def told_settings(config: Mapping[str, Any]) -> list[tuple[str, object]]:
    """What the page of a run tells of its rules, by name; the filters of a plan one by one.

    A run without preferences does not say how they would be learned and selected.
    """
    is_base = config.get("sets_of", "") is None
    unused = _OF_PREFERENCES if is_base else ()
    own = [
        (name, value)
        for name, value in config.items()
        if value is None or isinstance(value, str | int | float) or name in {TARGETS, OTHERS}
        if name not in unused and name not in _UNTOLD
    ]
    return own if is_base else [*own, *config.get(SELECTION, {}).items()]


def pairwise_settings(config: Mapping[str, Any]) -> PairwiseSettings:
    """The rules of a pairwise run; the usual ones where it says nothing."""
    return _read(PairwiseSettings, config)


def decides_by_log_odds(config: Mapping[str, Any], *, judge: str) -> bool:
    """Whether the verdicts of a run are read by l*, from both orders together (protocols A1.4).

    They are where the run's verdict rule is LOGPROB: its rows then carry log-odds of the letters.
    The embedded judge stores log-odds too, but of its own score: it is no model of letters, leans
    to no place, and so decides by its verdicts whatever its run says, as do imported verdicts.
    """
    return judge != LEXICAL and config.get("verdict_rule") == VerdictRule.LOGPROB


def cross_fits(config: Mapping[str, Any], *, judge: str) -> bool:
    """Whether a distillation weighs several ways to judge by what it distils without each pair.

    The embedded judge does so by itself, from its features.
    """
    return judge != LEXICAL and pairwise_settings(config).combine is Combine.STACK


def satisfaction_settings(config: Mapping[str, Any]) -> SatisfactionSettings:
    """The rules of a satisfaction run; the usual ones where it says nothing.

    Raises:
        ValueError: a name is unknown, or the calibration needs references that a run over rated
            turns does not have.
    """
    if config.get("calibration") == Calibration.REFERENCE_CDF and TARGETS not in config:
        raise ValueError("reference calibration belongs to runs with targets")
    # Runs of before there were variants say `with_memory`.
    usual = Variant.CHECKLIST if config.get("with_memory", True) else Variant.NO_MEMORY
    return _read(SatisfactionSettings, {"variant": usual, **config})


def satisfaction_config(settings: SatisfactionSettings) -> dict[str, Any]:
    """As stored in a run's configuration; what teaches only where something is taught."""
    config: dict[str, Any] = as_json(settings)
    if not SPECS[settings.variant].need.from_training:
        del config["train"]
    return config


def generation_settings(config: Mapping[str, Any]) -> GenerationSettings:
    """The rules of a run that generates responses."""
    return _read(GenerationSettings, config)


def stored_targets(targets: Targets) -> dict[str, Any]:
    """Targets as they are stored: without ids unless there are some, as they always were."""
    stored: dict[str, Any] = as_json(targets)
    return stored if targets.only else {k: v for k, v in stored.items() if k != "only"}


def targets_of(config: Mapping[str, Any]) -> Targets:
    """What a run was to judge or to answer; the test part where it says nothing."""
    return _read(Targets, config.get(TARGETS, {}))


def distil_plans(config: Mapping[str, Any]) -> tuple[DistilPlan, ...]:
    """What a distillation is about, by scenario."""
    return _read(tuple[DistilPlan, ...], config.get(SCENARIOS, ()))


def applied_plans(config: Mapping[str, Any]) -> tuple[AppliedPlan, ...]:
    """What a run over test comparisons is about, by scenario."""
    return _read(tuple[AppliedPlan, ...], config.get(SCENARIOS, ()))


def basis_by_scenario(config: Mapping[str, Any]) -> dict[int | None, Basis]:
    """Under which set a run over test comparisons judged each scenario."""
    return {plan.scenario_id: plan.basis for plan in applied_plans(config)}


def column_plans(config: Mapping[str, Any]) -> tuple[ColumnPlan, ...]:
    """The columns in a configuration; none for a run that distils its own."""
    return _read(tuple[ColumnPlan, ...], config.get(COLUMNS, ()))
