import json

import pytest

from judging.core.calibration import Calibration
from judging.core.rules import (
    Level,
    SatisfactionSettings,
    Variant,
    satisfaction_settings,
    variant_of,
    variants_at,
)
from tests.refusals import refuses


@pytest.mark.parametrize(
    "settings",
    [
        SatisfactionSettings(),
        SatisfactionSettings(Calibration.MEAN_SHIFT, Variant.NO_MEMORY, memories_of=3),
        SatisfactionSettings(variant=Variant.SPUR, train="others"),
        SatisfactionSettings(variant=Variant.TASK_GUARDED, level=Level.SESSION),
    ],
)
def test_settings_survive_storage_beside_other_keys(settings):
    stored = json.loads(json.dumps({**settings.to_config(), "judge": "lexical"}))
    assert satisfaction_settings(stored) == settings


def test_defaults():
    usual = SatisfactionSettings()
    assert satisfaction_settings({}) == usual
    assert usual == SatisfactionSettings(Calibration.CDF, Variant.CHECKLIST, Level.TURN, None, "")
    assert usual.with_memory


def test_runs_of_before_there_were_variants_are_understood():
    assert satisfaction_settings({"with_memory": False}).variant is Variant.NO_MEMORY
    assert satisfaction_settings({"with_memory": True}).variant is Variant.CHECKLIST


def test_the_training_dataset_is_kept_only_where_something_is_taught():
    assert "train" not in SatisfactionSettings(train="others").to_config()
    assert SatisfactionSettings(variant=Variant.FEW_SHOT, train="x").to_config()["train"] == "x"


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("variant", Variant)
def test_a_variant_without_a_prompt_at_a_level_is_refused(variant, level):
    if variant in variants_at(level):
        assert SatisfactionSettings(variant=variant, level=level).level is level
    else:
        with refuses("run:variant-level") as caught:
            SatisfactionSettings(variant=variant, level=level)
        assert caught.value.code == "run:variant-level"


def test_a_variant_is_named_by_its_word():
    assert [variant_of(variant.word) for variant in Variant] == list(Variant)
    with pytest.raises(ValueError, match="GUESS"):
        variant_of("guess")


@pytest.mark.parametrize("calibration", ["REFERENCE_CDF", "BEST"])
def test_calibrations_that_a_run_cannot_do_are_refused(calibration):
    with pytest.raises(ValueError, match=r"replay|BEST"):
        satisfaction_settings({"calibration": calibration})
