"""What a satisfaction run was asked to do; stored with the run, so that its numbers say it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from judging.core.calibration import Calibration

LEARNED: Final = "learned"
"""The judge that is trained on a dataset's ratings: it scores satisfaction, nothing else."""


@dataclass(frozen=True, slots=True)
class SatisfactionSettings:
    """The rules of a satisfaction run (protocols A2).

    `with_memory` False is the no-memory judge. `memories_of` names an earlier run whose newest
    memories, people's edits included, are judged with instead of building them again.
    """

    calibration: Calibration = Calibration.CDF
    with_memory: bool = True
    memories_of: int | None = None

    def to_config(self) -> dict[str, Any]:
        """As stored in a run's configuration."""
        return {
            "calibration": self.calibration.value,
            "with_memory": self.with_memory,
            "memories_of": self.memories_of,
        }


def satisfaction_settings(config: Mapping[str, Any]) -> SatisfactionSettings:
    """What `to_config` gave; other keys of a run's configuration are passed over.

    Raises:
        ValueError: the calibration is unknown, or needs references that a run does not have.
    """
    calibration = Calibration(config.get("calibration", Calibration.CDF))
    if calibration is Calibration.REFERENCE_CDF:
        raise ValueError("reference calibration belongs to replay")
    memories_of = config.get("memories_of")
    return SatisfactionSettings(
        calibration=calibration,
        with_memory=bool(config.get("with_memory", True)),
        memories_of=None if memories_of is None else int(memories_of),
    )
