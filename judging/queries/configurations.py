"""What a run's configuration says: its rules, and what it is about. Other keys are passed over."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from judging.core.calibration import Calibration
from judging.core.rules import SPECS, PairwiseSettings, SatisfactionSettings, Variant
from judging.core.runs import COLUMNS, SCENARIOS, AppliedPlan, ColumnPlan, DistilPlan

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Stored = TypeVar("Stored")


@cache
def _adapter(stored_type: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # a tenth of a second, which no start has to wait for

    return TypeAdapter(stored_type)


def _read(stored_type: type[Stored], stored: object) -> Stored:
    hashable: Any = stored_type  # as all types are, which mypy doubts
    value: Stored = _adapter(hashable).validate_python(stored)
    return value


def as_json(value: Any) -> Any:
    """Rules or a plan as they are stored."""
    hashable: Any = type(value)
    return _adapter(hashable).dump_python(value, mode="json")


def pairwise_settings(config: Mapping[str, Any]) -> PairwiseSettings:
    """The rules of a pairwise run; the usual ones where it says nothing."""
    return _read(PairwiseSettings, config)


def satisfaction_settings(config: Mapping[str, Any]) -> SatisfactionSettings:
    """The rules of a satisfaction run; the usual ones where it says nothing.

    Raises:
        ValueError: a name is unknown, or the calibration needs references that a run does not have.
    """
    if config.get("calibration") == Calibration.REFERENCE_CDF:
        raise ValueError("reference calibration belongs to replay")
    # Runs of before there were variants say `with_memory`.
    usual = Variant.CHECKLIST if config.get("with_memory", True) else Variant.NO_MEMORY
    return _read(SatisfactionSettings, {"variant": usual, **config})


def satisfaction_config(settings: SatisfactionSettings) -> dict[str, Any]:
    """As stored in a run's configuration; what teaches only where something is taught."""
    config: dict[str, Any] = as_json(settings)
    if not SPECS[settings.variant].need.from_training:
        del config["train"]
    return config


def distil_plans(config: Mapping[str, Any]) -> tuple[DistilPlan, ...]:
    """What a distillation is about, by scenario."""
    return _read(tuple[DistilPlan, ...], config.get(SCENARIOS, ()))


def applied_plans(config: Mapping[str, Any]) -> tuple[AppliedPlan, ...]:
    """What a run over test comparisons is about, by scenario."""
    return _read(tuple[AppliedPlan, ...], config.get(SCENARIOS, ()))


def column_plans(config: Mapping[str, Any]) -> tuple[ColumnPlan, ...]:
    """The columns in a configuration; none for a run that distils its own."""
    return _read(tuple[ColumnPlan, ...], config.get(COLUMNS, ()))
