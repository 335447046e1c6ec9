from __future__ import annotations

import pytest

from judging.core.preferences import read_preference
from tests.refusals import refuses


@pytest.mark.parametrize(
    "reply",
    [
        "Likes detail.",
        "  Likes detail.\n",
        "Preference: Likes detail.",
        "**Persona Preference:** Likes detail.",
        "The user's preference: Likes detail.",
        "### User Preference：\nLikes detail.",
        '"Likes detail."',
        "“Likes detail.”",
        "```\nLikes detail.\n```",
        "```text\nPreference: Likes detail.\n```",
        "用户偏好：Likes detail.",
        "偏好描述：「Likes detail.」",
    ],
)
def test_the_wrapping_is_taken_off(reply):
    assert read_preference(reply) == "Likes detail."


@pytest.mark.parametrize(
    "reply",
    [
        '"Brief" is what they want, not "long".',
        "They have a preference for lists: short ones.",
        "“Brief” beats “long”",
        "Likes `code` and ```fences``` inside.",
    ],
)
def test_what_belongs_to_the_text_stays(reply):
    assert read_preference(reply) == reply


@pytest.mark.parametrize("reply", ["", "  \n", "Preference:", '""', "```\n\n```", '"'])
def test_nothing_is_no_preference(reply):
    with refuses("preference:empty") as empty:
        read_preference(reply)
    assert empty.value.code == "preference:empty"
