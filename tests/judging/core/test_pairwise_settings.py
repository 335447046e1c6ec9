from __future__ import annotations

import json

from annotation.core.splits import SplitSampling
from judging.core.rules import PairwiseSettings, Window, settings_from_config
from judging.core.verdicts import VerdictRule


def test_settings_survive_a_configuration_with_other_keys():
    settings = PairwiseSettings(
        dev_size=4,
        seed=7,
        sampling=SplitSampling.PAPER,
        verdict_rule=VerdictRule.LOGPROB,
        window=Window.LAST_TURN,
        aggregate_eligible=True,
        shuffled_control=False,
    )
    config = json.loads(json.dumps({**settings.to_config(), "scenarios": []}))
    assert settings_from_config(config) == settings


def test_an_empty_configuration_has_the_usual_settings():
    assert settings_from_config({}) == PairwiseSettings()
