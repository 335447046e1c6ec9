import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.core.lexical.anatomy import read
from judging.core.lexical.lexicon import Cue

STRUCTURED = """# Plan

Here is **the plan**:

- first item
- second item
1. numbered one
2) numbered two

| a | b |
|---|---|
| 1 | 2 |

```python
total = 0

print(total)
```

See [the site](https://example.org). It costs 3.50 or 1,200 in 2021! Really? 😊
"""


class TestCounts:
    def test_it_sorts_lines_into_headings_lists_tables_and_code(self):
        text = read(STRUCTURED)
        assert (text.headings, text.bullets, text.numbered, text.items) == (1, 2, 2, 4)
        assert (text.table_rows, text.code_lines, text.bold) == (3, 2, 1)

    def test_it_counts_marks_and_numbers_outside_list_markers_and_code(self):
        text = read(STRUCTURED)
        # the table's 1 and 2, then 3.50, 1,200 and 2021; neither "1." nor the code's 0
        assert text.numbers == 5
        assert (text.exclamations, text.questions, text.emoji) == (1, 1, 1)
        assert text.links == 2  # the markdown link and its address

    @pytest.mark.parametrize(
        ("text", "units"),
        [
            ("", 0.0),
            ("three plain words", 3.0),
            ("don't stop", 2.0),
            ("今天天气好", 3.0),  # five characters at 0.6
            ("用 Python 写", 2.2),
        ],
    )
    def test_length_counts_words_and_six_tenths_of_a_cjk_character(self, text, units):
        assert read(text).units == pytest.approx(units)

    @pytest.mark.parametrize(
        ("text", "sentences"),
        [("One. Two! Three?", 3), ("3.5 is a number", 1), ("一。二！三", 2), ("a\nb", 2), ("", 0)],
    )
    def test_sentences(self, text, sentences):
        assert read(text).sentences == sentences

    def test_paragraphs_are_blocks_between_blank_lines(self):
        assert read("one\nstill one\n\n\ntwo").paragraphs == 2

    @pytest.mark.parametrize(
        "line", ["int x = 1;", "def go(x):", "import os; os.sep", "}", "while (true) {"]
    )
    def test_code_is_seen_without_a_fence(self, line):
        assert read(line).code_lines == 1

    @pytest.mark.parametrize("line", ["import duties rise", "For example:", "let us go"])
    def test_prose_that_begins_like_code_is_prose(self, line):
        assert read(line).code_lines == 0


class TestCues:
    @pytest.mark.parametrize(
        ("text", "cue"),
        [
            ("For example, a cat.", Cue.EXAMPLE),
            ("例如，一只猫。", Cue.EXAMPLE),
            ("I’m sorry, I cannot.", Cue.REFUSAL),
            ("根据统计，是这样。", Cue.SOURCE),
            ("You've got this", Cue.WARM),
        ],
    )
    def test_words_of_both_languages_are_counted(self, text, cue):
        assert read(text).cues[cue] >= 1

    def test_an_english_entry_is_a_whole_word(self):
        assert read("counterexample").cues[Cue.EXAMPLE] == 0


class TestShape:
    @pytest.mark.parametrize(
        ("text", "opens"),
        [
            ("Sure! Here it is.", -1),
            ("当然可以！", -1),
            ("**Hello** there", -1),
            ("The answer is 4.", 1),
            ("结论：可以。", 1),
            ("Boil the eggs.", 0),
            ("Surely not.", 0),
        ],
    )
    def test_opening(self, text, opens):
        assert read(text).opens_with == opens

    @pytest.mark.parametrize(
        ("text", "complete"),
        [
            ("It ends.", True),
            ("yes", True),
            ("Glad 😊", True),
            ("", False),
            ("one two three four five six seven eight nine ten eleven twelve and", False),
            ("```\nopen fence", False),
            ("```\nclosed\n```", True),
        ],
    )
    def test_completeness(self, text, complete):
        assert read(text).complete is complete

    def test_a_loop_is_not_distinct(self):
        # five tokens ten times: 47 shingles, 5 of them distinct
        assert read("how to write good code " * 10).distinct == pytest.approx(5 / 47)

    @pytest.mark.parametrize(
        ("text", "script"),
        [
            ("hello", "latin"),
            ("Größe", "latin"),
            ("你好", "han"),
            ("これは", "kana"),
            ("привет", "cyrillic"),
            ("안녕", "hangul"),
            ("γεια", "greek"),
            ("שלום", "other"),
            ("12 34", ""),
            ("用 Python 写一个排序函数吧", "han"),
        ],
    )
    def test_script(self, text, script):
        assert read(text).script == script

    def test_terms_are_cut_words_and_pairs_of_characters(self):
        assert read("The planning of 旅行").terms == {"planni", "旅行"}


@given(st.text(max_size=300))
def test_any_text_can_be_read(text):
    found = read(text)
    assert found.units >= 0
    assert 0 < found.distinct <= 1
    assert 0 <= found.variety <= 1


@pytest.mark.parametrize(
    "piece", ["a", "!", "*", "**a", "# ", "1.", "<a", "|", "[a](", " ", "。", "`", "\n- ", "旅"]
)
def test_a_text_of_200_kb_takes_time_in_proportion(piece):
    """Quadratic time would take minutes here."""
    text = (piece * (200_000 // len(piece))) + "x"
    start = time.process_time()
    read(text)
    assert time.process_time() - start < 5.0
