"""Every prompt against the parser that reads its replies, and the prefix that judging relies on."""

from __future__ import annotations

import json
import re

import pytest

from annotation.core.choices import Reason, Verdict
from annotation.core.conversations import Message, Speaker
from judging.core.generation import generation_prompts_used
from judging.core.judge_prompts import (
    INDUCTION,
    distil_prompt,
    memory_prompt,
    memory_schema,
    pair_prompt,
    phrases_schema,
    prompts_used,
    sort_prompts_used,
    turn_aliases,
    turn_prompt,
    turn_prompts_used,
    turn_schema,
)
from judging.core.memory import TEXT_FIELDS
from judging.core.memory_parsing import read_memory
from judging.core.preferences import read_preference
from judging.core.prompts import (
    FOLDER,
    LANGUAGES,
    Prompt,
    load_prompt,
    reason_words,
    with_reminders,
)
from judging.core.questions import (
    HistoryTurn,
    LabelledPair,
    MemoryQuestion,
    ShownPair,
    TurnQuestion,
)
from judging.core.repetition import rephrase_prompts_used
from judging.core.rubrics import read_phrases
from judging.core.rules import SPECS, DistilPrompt, GenerationContext, JudgePrompt, Need, Window
from judging.core.structured import Repair, parse_bracketed, parse_grade, parse_turn
from judging.core.verdicts import TokenLogprob, letter_log_odds, parse_paper, parse_strict

DIALOGUE = (
    Message(Speaker.SYSTEM, "Be kind."),
    Message(Speaker.USER, "First question 第一问"),
    Message(Speaker.ASSISTANT, "First answer"),
    Message(Speaker.USER, "Second question"),
)
PAIR = ShownPair(DIALOGUE, "Answer one", "Answer two")
LABELLED = LabelledPair(DIALOGUE, "Answer one", "Answer two")
TURN = HistoryTurn("481", "travel", "A weekend", "Where to?", "To the sea", 3, Reason.OTHER, "s")
LANGUAGE = pytest.mark.parametrize("language", LANGUAGES)
REMINDERS = ("remind_grade", "remind_json", "remind_mark", "remind_text", "remind_verdict")
TESTED = {
    "judge_pair",
    "judge_pair_base",
    "judge_pair_letter",
    "judge_pair_letter_base",
    "distil_preference",
    "distil_sentence",
    "distil_aggregate",
    "build_memory",
    *(name for spec in SPECS.values() for name in spec.prompts.values()),
    *INDUCTION,
    *(
        f"rubric_pair_{style}{letter}{turns}"
        for style in ("generic", "reference", "thought")
        for letter in ("", "_letter")
        for turns in ("", "_turns")
    ),
    "grade_generic",
    "grade_generic_turns",
    "grade_reference",
    "grade_reference_turns",
    "write_reference",
    "rephrase_list",  # tests/judging/core/test_repetition.py
    "generate_with_history",  # tests/judging/core/test_generation.py
    "generate_with_memory",
    *REMINDERS,
    "sort_dialogue",  # tests/judging/core/test_categories.py
}


def pair(preference="Likes detail.", *, language="en", letter=False, budget=5_000, shown=PAIR):
    return pair_prompt(
        shown,
        preference=preference,
        language=language,
        letter=letter,
        window=Window.ALL,
        budget=budget,
    )


def example_object(text):
    """The JSON object at the end of a prompt."""
    return text[text.rindex("\n{\n") + 1 :]


def test_every_prompt_has_a_contract():
    assert {path.name.split(".")[0] for path in FOLDER.glob("*.txt")} == TESTED
    used = {**prompts_used("en", letter=False), **prompts_used("en", letter=True)}
    used |= prompts_used("en", letter=False, style=DistilPrompt.SENTENCE)
    for mode in JudgePrompt:
        used |= prompts_used("en", letter=False, mode=mode)
        used |= prompts_used("en", letter=mode.compares, mode=mode)
    for variant, spec in SPECS.items():
        for level in spec.prompts:
            used |= turn_prompts_used("en", variant=variant, level=level)
    for context in GenerationContext:
        used |= generation_prompts_used("en", context=context)
    used |= sort_prompts_used("en")
    used |= rephrase_prompts_used("en")
    assert {label.split(".")[0] for label in used} == TESTED


def test_prompts_used_gives_the_digest_of_each():
    used = prompts_used("zh-hans", letter=True)
    letter = load_prompt("judge_pair_letter", language="zh")
    assert used["judge_pair_letter.v1.zh"] == letter.digest
    assert "judge_pair.v1.zh" not in used


@LANGUAGE
@pytest.mark.parametrize("name", ["judge_pair", "judge_pair_base"])
def test_the_verdicts_that_the_prompt_dictates_are_read(name, language):
    lines = load_prompt(name, language=language).text.splitlines()[-2:]
    said = [re.split(r": |：", line, maxsplit=1)[1] for line in lines]
    assert [parse_strict(text) for text in said] == [Verdict.A, Verdict.B]
    assert [parse_paper(text) for text in said] == [Verdict.A, Verdict.B]
    assert parse_strict(f"7 and 9.\n\n{said[0]}\n{said[1]}") is Verdict.B


@LANGUAGE
def test_a_reminder_dictates_what_is_read_once_its_place_is_filled_and_not_before(language):
    forms = {name: load_prompt(name, language=language).text for name in REMINDERS}
    sentence, mark, grade = (
        forms[name].splitlines()[-1] for name in ("remind_verdict", "remind_mark", "remind_grade")
    )
    assert (parse_strict(sentence), parse_bracketed(mark), parse_grade(grade)) == (None, None, None)
    assert parse_strict(sentence.replace("X", "B")) is Verdict.B
    assert parse_bracketed(mark.replace("X", "C")) is Verdict.TIE
    assert parse_grade(grade.replace("N", "7")) == 7
    assert not any(Prompt("", 1, language, text).placeholders for text in forms.values())


def test_a_prompt_is_reminded_of_by_what_its_reply_must_be():
    assert with_reminders(["judge_pair", "judge_pair_base", "judge_pair_letter"]) == [
        "judge_pair",
        "judge_pair_base",
        "judge_pair_letter",
        "remind_verdict",
    ]
    assert with_reminders(["generate_with_memory"]) == ["generate_with_memory"]
    unheard = {*(name for name in TESTED if "_letter" in name), *REMINDERS}
    unheard |= {name for name in TESTED if name.startswith("generate_")}
    for name in TESTED:
        assert len(with_reminders([name])) == (1 if name in unheard else 2), name


@LANGUAGE
@pytest.mark.parametrize("name", sorted(name for name in TESTED if "_letter" in name))
def test_the_letters_that_the_prompt_asks_for_are_read(name, language):
    last = load_prompt(name, language=language).text.splitlines()[-1]
    letters = re.findall(r"(?<![A-Za-z])[AB](?![A-Za-z])", last)
    assert letters == ["A", "B"]
    top = [TokenLogprob("A", -0.2), TokenLogprob("B", -2.2)]
    assert letter_log_odds(top) == pytest.approx(2.0)


SCORING = pytest.mark.parametrize(
    ("variant", "level"),
    [(variant, level) for variant, spec in SPECS.items() for level in spec.prompts],
)


@LANGUAGE
@SCORING
def test_the_example_of_a_score_is_read(variant, level, language):
    spec = SPECS[variant]
    text = load_prompt(spec.prompts[level], language=language).text
    read = parse_turn(example_object(text), spec.form)
    assert (read.score, read.reason, read.repair) == (3, Reason.INSUFFICIENT_DETAIL, Repair.NONE)
    assert read.analysis
    assert tuple(json.loads(example_object(text))) == spec.form.fields
    assert tuple(turn_schema(language, spec.form).schema["properties"]) == spec.form.fields
    assert all(word in text for word in reason_words(language))


@LANGUAGE
@SCORING
def test_a_prompt_names_what_its_variant_needs_and_nothing_else(variant, level, language):
    places = {
        Need.NOTHING: set(),
        Need.MEMORY: {"memory", "profile"},
        Need.NEAREST: {"history", "profile"},
        Need.EXAMPLES: {"examples"},
        Need.RUBRICS: {"rubrics"},
    }
    prompt = load_prompt(SPECS[variant].prompts[level], language=language)
    beside = prompt.placeholders - {"task", "scenario", "dialogue", "response"}
    assert beside == places[SPECS[variant].need]


@LANGUAGE
def test_the_reasons_of_the_prompts_are_read(language):
    satisfied, *reasons = reason_words(language)
    for word, reason in zip(reasons, Reason, strict=False):
        reply = f'{{"classification": 2, "reason": "{word}", "analysis": "x"}}'
        assert parse_turn(reply).reason is reason
    reply = f'{{"classification": 4, "reason": "{satisfied}", "analysis": "x"}}'
    assert parse_turn(reply).reason is None


@LANGUAGE
@pytest.mark.parametrize("name", INDUCTION)
def test_the_example_of_rubrics_is_read(name, language):
    text = load_prompt(name, language=language).text
    assert len(set(read_phrases(example_object(text)))) == 1
    assert list(json.loads(example_object(text))) == phrases_schema().schema["required"]


@LANGUAGE
def test_the_example_of_a_memory_is_read(language):
    text = load_prompt("build_memory", language=language).text
    texts = read_memory(example_object(text), aliases={"481": "T1"})
    assert list(texts) == list(TEXT_FIELDS)
    assert '"481"' not in text
    assert texts["scoring_style"] == texts["preferred_response_format"]
    assert "481" in str(texts["scoring_style"])
    for name in TEXT_FIELDS:
        assert re.search(rf"^\d\. {name}[:：]", text, re.MULTILINE)


@LANGUAGE
def test_schemas_name_the_fields_of_the_examples(language):
    turn = turn_schema(language).schema
    assert turn["required"] == ["classification", "reason", "analysis"]
    assert turn["properties"]["classification"]["enum"] == [1, 2, 3, 4, 5]
    assert tuple(turn["properties"]["reason"]["enum"]) == reason_words(language)
    memory = memory_schema().schema
    assert memory["required"] == list(TEXT_FIELDS)
    assert memory["properties"]["scoring_style"]["required"] == ["text", "turn_ids"]
    observation = memory["properties"]["task_specific_observations"]["items"]
    assert observation["required"] == ["task_name", "observation", "turn_ids"]


@LANGUAGE
@pytest.mark.parametrize("name", ["distil_preference", "distil_aggregate"])
def test_a_plain_description_is_a_preference(name, language):
    text = load_prompt(name, language=language).text
    assert text.splitlines()[-1].startswith("- ")
    said = "They want detail.\nThey avoid padding."
    assert read_preference(said) == said


@LANGUAGE
@pytest.mark.parametrize("letter", [False, True])
def test_prompts_of_one_comparison_share_everything_up_to_the_preference(language, letter):
    marker = "QQQ 偏好"
    whole = pair(marker, language=language, letter=letter)
    prefix = whole[: whole.index(marker)]
    prefix = prefix[: prefix.rindex("</response_b>")] + "</response_b>\n"
    others = [
        pair(preference, language=language, letter=other_letter)
        for preference in ["", "  ", "x", "y" * 5_000, "偏好" * 900, "</response_b>"]
        for other_letter in [False, True]
    ]
    assert all(other.encode().startswith(prefix.encode()) for other in others)
    assert prefix.index("Second question") < prefix.index("Answer one") < prefix.index("Answer two")
    assert "<preference>" not in prefix


def test_preferences_of_any_length_share_the_prefix_where_the_budget_is_short():
    long = ShownPair(
        tuple(
            Message(Speaker.USER if i % 2 == 0 else Speaker.ASSISTANT, "w" * 200) for i in range(21)
        ),
        "one",
        "two",
    )
    first = pair("short", shown=long, budget=2_000)
    assert "earlier messages are not shown]" in first
    end = first.index("short")
    assert pair("long " * 2_000, shown=long, budget=2_000)[:end] == first[:end]


def test_the_swapped_order_swaps_the_responses_and_nothing_else():
    swapped = ShownPair(PAIR.dialogue, PAIR.second, PAIR.first)
    there = pair(shown=swapped).replace("Answer one", "#").replace("Answer two", "Answer one")
    assert there.replace("#", "Answer two") == pair()


def test_responses_are_never_cut_and_the_last_turn_stays():
    shown = ShownPair(DIALOGUE, "a" * 30_000, "b" * 30_000)
    text = pair(shown=shown, budget=100)
    assert "a" * 30_000 in text
    assert "Second question" in text
    assert "First question" not in text


def test_distilling_one_pair_shows_it_whole_where_it_fits():
    text = distil_prompt((LABELLED,), language="en", window=Window.ALL, budget=5_000)
    assert "<chosen>\nAnswer one\n</chosen>" in text
    assert "<rejected>\nAnswer two\n</rejected>" in text
    assert "First question 第一问" in text


def test_distilling_several_pairs_shortens_what_does_not_fit():
    long = LabelledPair(DIALOGUE, "a" * 9_000, "b" * 50)
    text = distil_prompt((LABELLED, long), language="zh", window=Window.ALL, budget=3_000)
    assert text.count("<pair>") == text.count("</pair>") == 2
    assert "b" * 50 in text
    assert " […] " in text
    assert len(text) < 5_000
    one = distil_prompt((long,), language="zh", window=Window.LAST_TURN, budget=1_500)
    assert " […] " in one
    assert "First question" not in one


def test_a_memory_prompt_names_turns_by_alias_and_states_the_statistics():
    question = MemoryQuestion((TURN,), "food", "en", {"age": 30})
    text = memory_prompt(question, budget=6_000)
    assert turn_aliases(question) == {"481": "T1"}
    assert "T1, score 3, task: travel" in text
    assert "481" not in text
    assert "Turns: 1; sessions: 1; average 3.00; score 1: 0, score 2: 0, score 3: 1" in text
    assert "Reason given: other" in text
    assert "age: 30" in text


def test_a_long_history_is_cut_to_the_budget():
    history = tuple(
        HistoryTurn(str(i), "travel", "c" * 900, "u" * 900, "r" * 900, 1 + i % 5, None, str(i))
        for i in range(60)
    )
    text = memory_prompt(MemoryQuestion(history, "food", "en"), budget=3_500)
    assert text.count("<turn>") == 20
    assert len(text) / 3.5 < 3_500


def test_a_memory_prompt_refuses_the_target_scenario_and_an_empty_history():
    with pytest.raises(ValueError, match="target scenario"):
        memory_prompt(MemoryQuestion((TURN,), "travel", "en"), budget=1_000)
    with pytest.raises(ValueError, match="needs a history"):
        memory_prompt(MemoryQuestion((), "travel", "en"), budget=1_000)


def turn(memory="Strict."):
    return TurnQuestion(DIALOGUE, "To the sea.", "A weekend", {"age": 30}, memory, {}, "en")


def test_a_turn_prompt_shows_the_memory_the_profile_and_the_response():
    text = turn_prompt(turn(), budget=6_000)
    places = [text.index(part) for part in ["Strict.", "age: 30", "A weekend", "First question"]]
    assert places == sorted(places)
    assert "<response>\nTo the sea.\n</response>" in text


def test_without_a_memory_nothing_personal_is_shown():
    text = turn_prompt(turn(memory=" "), budget=6_000)
    assert "age: 30" not in text
    assert "<profile>" not in text
    assert "A weekend" in text


def test_rendered_prompts_hold_no_placeholder():
    everything = [
        pair(),
        pair(""),
        distil_prompt((LABELLED,), language="zh", window=Window.ALL, budget=1_000),
        distil_prompt((LABELLED,) * 3, language="zh", window=Window.ALL, budget=1_000),
        memory_prompt(MemoryQuestion((TURN,), "food", "zh"), budget=1_000),
        turn_prompt(turn(), budget=1_000),
    ]
    assert not any(Prompt("", 1, "en", text).placeholders for text in everything)
