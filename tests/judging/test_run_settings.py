from __future__ import annotations

from enum import StrEnum

import pytest
from django.utils.translation import override

from judging.core.rules import PairwiseSettings, SatisfactionSettings
from judging.queries.configurations import as_json, satisfaction_config
from judging.templatetags.run_settings import setting_name, setting_value


@pytest.mark.parametrize(
    "config", [as_json(PairwiseSettings()), satisfaction_config(SatisfactionSettings())]
)
def test_every_setting_of_a_run_has_a_name_and_every_choice_a_word(config):
    for name, value in config.items():
        assert setting_name(name) != name or name in {"seed", "calibration"}, name
        if not isinstance(value, bool | int | None):
            assert setting_value(value, name) != value, name


def test_every_word_of_a_choice_is_its_own():
    choices = [type(getattr(PairwiseSettings(), name)) for name in ("sampling", "verdict_rule")]
    for name, choice in zip(("sampling", "verdict_rule"), choices, strict=True):
        assert issubclass(choice, StrEnum)
        words = [setting_value(each.value, name) for each in choice]
        assert len(set(words)) == len(words)
        assert not {each.value for each in choice} & set(words)


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "none"), (True, "yes"), (False, "no"), (10, "10"), ("x", "x")]
)
def test_plain_values_read_as_words(value, shown):
    assert setting_value(value, "with_memory") == shown


def test_a_setting_that_the_page_does_not_know_stays_as_it_is():
    assert setting_name("new_thing") == "new_thing"
    assert setting_value("ABC", "new_thing") == "ABC"


def test_the_names_are_translated():
    with override("zh-hans"):
        assert setting_name("sets_of") != "preferences from"
