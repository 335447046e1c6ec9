"""What a pairwise run was asked to do; stored with the run, so that its numbers say their rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from annotation.core.splits import DEFAULT_DEV_SIZE, DEFAULT_SEED, SplitSampling
from judging.core.judge_modes import DistilPrompt, JudgePrompt
from judging.core.verdicts import VerdictRule
from judging.core.windows import Window


@dataclass(frozen=True, slots=True)
class PairwiseSettings:
    """The rules of a distillation and of the test run that follows it (protocols A1)."""

    dev_size: int = DEFAULT_DEV_SIZE
    seed: int = DEFAULT_SEED
    sampling: SplitSampling = SplitSampling.DEFAULT
    verdict_rule: VerdictRule = VerdictRule.STRICT
    window: Window = Window.ALL
    aggregate_eligible: bool = False
    shuffled_control: bool = True
    prompt: JudgePrompt = JudgePrompt.PERSONAL
    distil_prompt: DistilPrompt = DistilPrompt.SENTENCES

    def to_config(self) -> dict[str, Any]:
        """As stored in a run's configuration."""
        return asdict(self)


def settings_from_config(config: Mapping[str, Any]) -> PairwiseSettings:
    """What `to_config` gave; keys of a run's configuration that are no settings are passed over."""
    known = {
        field.name: config[field.name] for field in fields(PairwiseSettings) if field.name in config
    }
    return PairwiseSettings(
        **{
            **known,
            "sampling": SplitSampling(known.get("sampling", SplitSampling.DEFAULT)),
            "verdict_rule": VerdictRule(known.get("verdict_rule", VerdictRule.STRICT)),
            "window": Window(known.get("window", Window.ALL)),
            "prompt": JudgePrompt(known.get("prompt", JudgePrompt.PERSONAL)),
            "distil_prompt": DistilPrompt(known.get("distil_prompt", DistilPrompt.SENTENCES)),
        }
    )
