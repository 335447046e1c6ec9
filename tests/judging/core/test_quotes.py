import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.core.quotes import blank_quotes, blank_spans

LINES = [
    "a",
    "",
    "> a",
    "   > a",
    "    > a",
    "```",
    "````",
    "```json",
    "~~~",
    "``` `",
    "  ~~~ x",
    "好",
]


@pytest.mark.parametrize(
    ("lines", "stated"),
    [
        (["a", "> b", "c"], ["a", "", "c"]),
        (["a", "   > b", "    > c"], ["a", "", "    > c"]),
        (["a", "```", "b", "```", "c"], ["a", "", "", "", "c"]),
        (["a", "~~~~ text", "b", "```", "~~~", "c", "~~~~~ ", "d"], ["a", *[""] * 6, "d"]),
        (["a", "```", "b"], ["a", "", ""]),
        (["a", "``` ` b", "c"], ["a", "``` ` b", "c"]),
        (["a `> b`", "``c``"], ["a `> b`", "``c``"]),
        # A fence around everything, closed or not, is no quote; quotes within it are.
        (["", "```json", "a", "> b", "```", ""], ["", "", "a", "", "", ""]),
        (["```", "a"], ["", "a"]),
        (["````", "a", "```", "b", "```", "c", "````"], ["", "a", "", "", "", "c", ""]),
        (["```", "a", "```", "b"], ["", "", "", "b"]),
        ([""], [""]),
    ],
)
def test_block_quotes_and_code_blocks_are_blanked(lines, stated):
    assert [line.rstrip() for line in blank_quotes("\n".join(lines)).split("\n")] == stated


def test_code_blocks_can_stay():
    text = "a\n```\nb\n> c\n```\n> d"
    assert blank_quotes(text, code=False) == "a\n```\nb\n> c\n```\n   "


@given(st.lists(st.sampled_from(LINES), max_size=12), st.booleans())
def test_places_in_bytes_stay(lines, code):
    text = "\n".join(lines)
    blanked = blank_quotes(text, code=code)
    assert len(blanked.encode()) == len(text.encode())
    assert blanked.count("\n") == text.count("\n")


def test_spans_are_blanked_by_their_bytes():
    assert blank_spans("a好b\ud800c", [(1, 2), (3, 4)]) == "a   b   c"
    assert blank_spans("abc", []) == "abc"
