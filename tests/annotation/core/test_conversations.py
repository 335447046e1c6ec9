from __future__ import annotations

import pytest

from annotation.core.conversations import held_key, requirements_of


def test_a_key_stays_within_its_column():
    assert held_key("trip-1", 12) == "trip-1/12"
    assert held_key("x" * 200, 12) == "x" * 197 + "/12"


@pytest.mark.parametrize(
    ("extra", "found"),
    [
        ({}, ()),
        ({"requirements": None}, ()),
        ({"requirements": {"a": 1}}, ()),
        ({"requirements": ["two days", " ", 3, " a budget "]}, ("two days", "a budget")),
        ({"requirements": "two days\n\n a budget\n"}, ("two days", "a budget")),
    ],
)
def test_requirements_are_read_from_the_tasks_fields(extra, found):
    assert requirements_of(extra) == found
