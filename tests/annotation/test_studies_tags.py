from __future__ import annotations

import re
from pathlib import Path

import pytest

from annotation.templatetags.studies import (
    EVENTS,
    duration,
    event_text,
    flag_text,
    pause_reason,
    rule_name,
    skip_reason,
    told_value,
)

SOURCES = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, "–"),
        (0.0, "0.0 s"),
        (9.94, "9.9 s"),
        (35.4, "35 s"),
        (119.0, "119 s"),
        (120.0, "2 min"),
        (3599.0, "60 min"),
        (3600.0, "1 h 0 min"),
        (12_000.0, "3 h 20 min"),
        (172_800.0, "2 d 0 h"),
        (187_200.0, "2 d 4 h"),
    ],
)
def test_a_time_has_one_unit_or_two(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (skip_reason("BROKEN"), "Broken or unreadable"),
        (skip_reason("ELSEWHERE"), "ELSEWHERE"),
        (flag_text("FAULTY"), "Something is broken"),
        (pause_reason("GOLD"), "Gold accuracy too low"),
        (pause_reason(""), ""),
        (event_text("claim.given"), "Item assigned"),
        (event_text("something.else"), "something.else"),
        (rule_name("overlap"), "annotators per item"),
        (rule_name("before overlap"), "annotators per item, before"),
        (rule_name("after gold_rate"), "share of gold items, after"),
        (rule_name("joined_at"), "joined"),
        (rule_name("after both_bad"), "both bad, after"),
        (rule_name("before"), "before"),
        (rule_name("gold"), "gold items"),
        (rule_name("expires_at"), "expires"),
        (rule_name("below"), "threshold"),
        (rule_name("was"), "reason for the pause"),
        (rule_name("something"), "something"),
        (told_value("PAUSED"), "Paused"),
        (told_value("True"), "yes"),
        (told_value("12"), "12"),
        (told_value("2026-12-25T00:00:00+00:00"), "2026-12-25 00:00"),
        (rule_name("asked_again"), "people asked again"),
    ],
)
def test_stored_words_read_as_pages_say_them(said, text):
    assert str(said) == text


def test_every_event_of_a_study_that_the_services_write_has_a_text():
    written = set()
    for path in SOURCES.glob("*/services/**/*.py"):
        found = re.findall(
            r'"((?:study|claim|participation|invitation)\.[a-z-]+)"', path.read_text()
        )
        written.update(found)
    assert len(written) > 10
    assert written <= set(EVENTS)
