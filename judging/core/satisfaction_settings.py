"""What a satisfaction run was asked to do; stored with the run, so that its numbers say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from annotation.core.refusals import Refused
from judging.core.calibration import Calibration
from judging.core.satisfaction_variants import SPECS, Level, Need, Variant

LEARNED: Final = "learned"
"""The judge that is trained on a dataset's ratings: it scores satisfaction, nothing else."""


@dataclass(frozen=True, slots=True)
class SatisfactionSettings:
    """The rules of a satisfaction run (protocols A2).

    `variant` is the way of asking, `level` what is scored. `memories_of` names an earlier run whose
    newest memories, people's edits included, are judged with instead of building them again.
    `train` is the slug of the dataset whose raters teach examples and rubrics; "" for the other
    raters of the dataset that is judged.

    Raises:
        Refused: there is no such prompt.
    """

    calibration: Calibration = Calibration.CDF
    variant: Variant = Variant.CHECKLIST
    level: Level = Level.TURN
    memories_of: int | None = None
    train: str = ""

    def __post_init__(self) -> None:
        if self.level not in SPECS[self.variant].prompts:
            raise Refused(
                "run:variant-level", f"{self.variant.word} has no prompt for {self.level.lower()}s"
            )

    @property
    def with_memory(self) -> bool:
        """Whether user memories are built."""
        return SPECS[self.variant].need is Need.MEMORY

    def to_config(self) -> dict[str, Any]:
        """As stored in a run's configuration; what teaches only where something is taught."""
        found: dict[str, Any] = {
            "calibration": self.calibration.value,
            "variant": self.variant.value,
            "level": self.level.value,
            "memories_of": self.memories_of,
        }
        return found | ({"train": self.train} if SPECS[self.variant].need.from_training else {})


def satisfaction_settings(config: Mapping[str, Any]) -> SatisfactionSettings:
    """What `to_config` gave; other keys of a run's configuration are passed over.

    Runs of before there were variants say `with_memory`.

    Raises:
        ValueError: a name is unknown, or the calibration needs references that a run does not have.
    """
    calibration = Calibration(config.get("calibration", Calibration.CDF))
    if calibration is Calibration.REFERENCE_CDF:
        raise ValueError("reference calibration belongs to replay")
    usual = Variant.CHECKLIST if config.get("with_memory", True) else Variant.NO_MEMORY
    memories_of = config.get("memories_of")
    return SatisfactionSettings(
        calibration=calibration,
        variant=Variant(config.get("variant", usual)),
        level=Level(config.get("level", Level.TURN)),
        memories_of=None if memories_of is None else int(memories_of),
        train=str(config.get("train", "")),
    )
