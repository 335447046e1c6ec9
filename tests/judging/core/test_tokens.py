import pytest

from judging.core.tokens import aligned, byte_level, letter_of, readable_token, sentence_piece


@pytest.mark.parametrize(
    ("token", "raw", "text"),
    [
        ("A", None, "A"),
        ("ĠA", None, " A"),
        ("ĊB", None, "\nB"),
        ("▁A", None, " A"),
        ("<0x41>", None, "A"),
        ("ï¼¡", None, "Ａ"),
        ("é", None, "é"),
        ("甲", None, "甲"),
        ("token_id:32", b"A", "A"),
        ("token_id:32", None, "token_id:32"),
        ("bytes:\\xef\\xbc\\xa1", None, "Ａ"),
        ("bytes:\\xe4", None, "bytes:\\xe4"),
        ("<0xE4>", None, "<0xE4>"),
        ("\ud800", b"\xe4", "\ud800"),
        ("", None, ""),
    ],
)
def test_a_token_is_read_as_the_text_it_stands_for(token, raw, text):
    assert readable_token(token, raw) == text


@pytest.mark.parametrize(
    "token",
    ["A", " A", "\nA", "ĠA", "▁A", "ĊA", '"A"', "**A**", "A.", "(A)", "_A_", "A:", "Ａ", "「A」"],
)
def test_a_letter_is_read_whatever_stands_around_it(token):
    assert letter_of(token) == "A"


@pytest.mark.parametrize("token", ["", "C", "AB", "A/B", "The", "token_id:32", "Ā", "\n"])
def test_what_is_no_letter_is_none(token):
    assert letter_of(token) == ""


def test_small_letters_stay_small():
    assert letter_of("Ġb.") == "b"


@pytest.mark.parametrize(
    ("tokens", "given", "content", "pieces"),
    [
        (["Yes", " A"], [None, None], "Yes A", [b"Yes", b" A"]),
        (["ĠYes", "ĠA"], [None, None], " Yes A", [b" Yes", b" A"]),
        (["▁Yes", "▁A", "<0x0A>"], [None] * 3, "Yes A\n", [b" Yes", b" A", b"\n"]),
        (["ä", "½łĠA"], [None, None], "你 A", [b"\xe4", b"\xbd\xa0 A"]),
        (["甲", "ĠA"], [None, None], "乙 A", ["甲".encode(), "ĠA".encode()]),
        (["token_id:1", "x"], [b"Yes", b" A"], "Yes A", [b"Yes", b" A"]),
        ([], [], "Yes", []),
    ],
)
def test_tokens_add_up_to_the_text(tokens, given, content, pieces):
    assert aligned(tokens, given, content) == pieces


def test_tokens_of_bytes():
    assert byte_level("Ġä½ł") == " 你".encode()
    assert byte_level("你") is None
    assert sentence_piece("▁<0x41>") == b" <0x41>"
