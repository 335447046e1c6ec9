from __future__ import annotations

from enum import StrEnum

import pytest
from django.utils.translation import override

from judging.core.rules import PairwiseSettings, SatisfactionSettings
from judging.queries.configurations import as_json, satisfaction_config
from judging.templatetags.run_settings import (
    evaluator_label,
    rate,
    setting_name,
    setting_value,
    step_label,
    time_left,
)


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


@pytest.mark.parametrize(("name", "shown"), [("demo:concise", "concise"), ("li", "li")])
def test_whose_preferences_are_applied_reads_as_on_other_pages(name, shown):
    assert setting_value(name, "sets_of") == shown


def test_a_setting_that_the_page_does_not_know_stays_as_it_is():
    assert setting_name("new_thing") == "new_thing"
    assert setting_value("ABC", "new_thing") == "ABC"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("history_cdf", "User's own distribution of scores"),
        ("fake", "fake"),
        ("fake: rated", "fake: rated"),
        ("fake@builder", "fake@builder"),
        ("fake:zero-shot", "fake (Plain question (zero-shot))"),
        ("learned+fake", "Learned evaluator with fake"),
        ("lexical:no-memory", "Lexical judge (Checklist without a memory)"),
        ("learned, history_mea…", "Learned evaluator, history_mea…"),
    ],
)
def test_evaluators_read_as_words_and_endpoints_by_their_name(name, shown):
    assert evaluator_label(name) == shown


def test_the_names_are_translated():
    with override("zh-hans"):
        assert setting_name("sets_of") != "preferences from"


@pytest.mark.parametrize(
    ("per_second", "told"),
    [(12.4, "12 per second"), (1.0, "1 per second"), (0.2, "12 per minute"), (0.01, "36 per hour")],
)
def test_a_rate_is_told_in_a_unit_in_which_it_can_be_read(per_second, told):
    assert rate(per_second) == told


@pytest.mark.parametrize(
    ("minutes", "told"),
    [
        (0.4, "less than a minute left"),
        (1.2, "about 1 minute left"),
        (89, "about 89 minutes left"),
        (150, "about 2 hours left"),
        (60 * 47, "about 47 hours left"),
        (60 * 24 * 3, "about 3 days left"),
    ],
)
def test_the_time_left_is_told_in_a_unit_in_which_it_can_be_read(minutes, told):
    assert time_left(minutes) == told


@pytest.mark.parametrize(
    ("name", "kind", "shown"),
    [
        ("personal data", "CONSTRUCT", "个人信息"),
        ("pairwise · fake", "ABLATE", "按通用评分标准比较 · fake"),
        ("score · lexical", "REPLAY", "为轮次评分 · lexical"),
        ("history_cdf", "EVALUATE", "用户自身的评分分布"),
        ("ann · all pairs · fake", "ABLATE", "ann · all pairs · fake"),
    ],
)
def test_steps_are_told_in_the_readers_words_and_names_stay(name, kind, shown):
    with override("zh-hans"):
        assert step_label(name, kind) == shown


def test_what_a_run_was_not_told_is_a_dash_and_a_rule_keeps_its_number():
    assert setting_value("", "strong") == "–"
    assert setting_value("", "scenario") == "all"
    assert setting_value("hard:300", "items") == "the paper's hard selection (300)"
    assert setting_value("version:bench-1", "items").endswith(" (bench-1)")
