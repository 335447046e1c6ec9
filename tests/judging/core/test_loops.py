from __future__ import annotations

import pytest

from judging.core.loops import loops

SENTENCE = "Prefers answers that are short and to the point"


@pytest.mark.parametrize(
    "text",
    [
        f"{SENTENCE}. " * 4,
        f"{SENTENCE}. {'Likes lists and ' * 5}Likes li",  # cut in the middle
        "\n".join(f"{number}. {SENTENCE}." for number in range(1, 6)),
        f"{SENTENCE}. Is formal. " * 4 + "In the end, nothing else matters at all.",
        "very " * 40,
        "偏好简短直接的回答，" * 10,
    ],
)
def test_a_text_that_says_the_same_again_and_again_loops(text):
    assert loops(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        SENTENCE,
        f"{SENTENCE}. " * 3,
        "Prefers short answers. Prefers lists. Prefers examples. Prefers formal words.",
        "Yes. Yes. Yes. Yes.",  # too short to tell
        f"{SENTENCE}.\n{'-' * 80}",
        "偏好简短直接的回答，并且要求给出例子；不喜欢重复和套话。",
    ],
)
def test_a_text_that_goes_on_does_not(text):
    assert not loops(text)
