import json

import pytest

from judging.core.calibration import Calibration
from judging.core.satisfaction_settings import SatisfactionSettings, satisfaction_settings


@pytest.mark.parametrize(
    "settings",
    [
        SatisfactionSettings(),
        SatisfactionSettings(Calibration.MEAN_SHIFT, with_memory=False, memories_of=3),
    ],
)
def test_settings_survive_storage_beside_other_keys(settings):
    stored = json.loads(json.dumps({**settings.to_config(), "judge": "lexical"}))
    assert satisfaction_settings(stored) == settings


def test_defaults():
    assert satisfaction_settings({}) == SatisfactionSettings(
        Calibration.CDF, with_memory=True, memories_of=None
    )


@pytest.mark.parametrize("calibration", ["REFERENCE_CDF", "BEST"])
def test_calibrations_that_a_run_cannot_do_are_refused(calibration):
    with pytest.raises(ValueError, match=r"replay|BEST"):
        satisfaction_settings({"calibration": calibration})
