from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Verdict
from annotation.core.refusals import Refused
from judging.core.echoes import decided, memory_said, phrases_said, preference_said, turn_said
from judging.core.memory import TEXT_FIELDS
from judging.core.memory_parsing import read_memory
from judging.core.prompt_edits import closing_lines, prompt_names
from judging.core.prompts import LANGUAGES, load_prompt
from judging.core.rules import SPECS
from judging.core.verdicts import parse_strict
from tests.paths import paper_vectors
from tests.refusals import refuses

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
LANGUAGE = pytest.mark.parametrize("language", LANGUAGES)
FORM_EN = (
    "If Response A is better: The final decision is Response A.\n"
    "If Response B is better: The final decision is Response B."
)
FORM_ZH = "如果回复A更好：最终决定是回复A。\n如果回复B更好：最终决定是回复B。"
MARKS_EN = (
    "If Response A is better: [[A]]\nIf Response B is better: [[B]]\n"
    "If both are equally good: [[C]]"
)


def form_of(name, language):
    """What a weak model says back: the closing lines of a prompt, of JSON the object alone."""
    lines = closing_lines(load_prompt(name, language=language).text)
    return "\n".join(lines[1:] if lines[-1] == "}" else lines)


def asked(name, language="en"):
    return load_prompt(name, language=language).text


ECHOES = [
    FORM_EN,
    FORM_ZH,
    FORM_EN.splitlines()[0],
    FORM_ZH.splitlines()[1],
    FORM_EN.replace("\n", " "),
    FORM_EN.upper(),
    f"3. End with the decision on a line of its own, in exactly these words.\n{FORM_EN}",
    f"Response A: 7, Response B: 8.\n\n{FORM_EN}",
    FORM_EN.replace("better: ", "better:\n"),
    FORM_EN.replace("better: ", "better, "),
    FORM_EN.replace("If", "- **If").replace("better:", "better:**"),
    FORM_EN.replace("The final", "`The final").replace("Response A.", "Response A`."),
    FORM_ZH.replace("A", " A ").replace("B", " B "),
    "If Response A is better: The final decision is Response B.",  # nobody says it is
    f"{FORM_EN}\nThe final decision is a tie.",
    "The final decision is Response X.",
    "最终决定是回复X。",
]


@pytest.mark.parametrize("text", ECHOES)
def test_the_prompt_s_own_sentences_are_no_decision(text):
    with refuses("verdict:echo"):
        decided(text)


DECIDED = [
    (f"{FORM_EN}\n\nThe final decision is Response A.", A),
    (f"The final decision is Response A.\n\n{FORM_EN}", A),
    (f"{FORM_EN} Response A is clearer. The final decision is **Response A**", A),
    (f"{FORM_ZH}\n\n最终决定是回复A。", A),
    (f"{FORM_EN}\n\n最终决定是：回应 B", B),
    ("The final decision is Response X.\nThe final decision is Response B.", B),
    ("See whether one is better. The final decision is Response B.", B),
    ("I looked at both, as if Response A is better. The final decision is Response A.", A),
    ("The final decision is Response B.", B),
]


@pytest.mark.parametrize(("text", "verdict"), DECIDED)
def test_a_reply_that_restates_the_form_and_then_decides_is_read(text, verdict):
    assert decided(text) is verdict


@pytest.mark.parametrize("text", ["", "Both have their merits.", "The final decision is a tie"])
def test_what_says_nothing_of_the_form_is_unreadable_and_no_echo(text):
    with refuses("verdict:unparseable"):
        decided(text)


def test_the_vectors_are_read_as_before():
    vectors = paper_vectors()
    for text, _released in vectors["sensejudge_extract_final_decision"]:
        expected = parse_strict(text)
        if expected is None:
            with refuses("verdict:unparseable"):
                decided(text)
        else:
            assert decided(text) is expected, text


@LANGUAGE
@pytest.mark.parametrize("name", ["judge_pair", "judge_pair_base", "remind_verdict"])
def test_the_closing_lines_of_every_prompt_that_asks_for_a_sentence_are_an_echo(name, language):
    with refuses("verdict:echo"):
        decided(form_of(name, language))


RUBRICS = [name for name in prompt_names() if name.startswith("rubric") and "_letter" not in name]


@LANGUAGE
@pytest.mark.parametrize("name", [*RUBRICS, "remind_mark"])
def test_the_closing_lines_of_every_prompt_that_asks_for_a_mark_are_an_echo(name, language):
    form = form_of(name, language)
    with refuses("verdict:echo"):
        decided(form, by_marks=True)
    assert decided(f"{form}\n\n[[A]]", by_marks=True) is A
    assert decided(f"B is wrong.\n{form}\n**[[C]]**", by_marks=True) is TIE


def test_a_mark_is_read_and_its_absence_told():
    assert decided("So: [[B]]", by_marks=True) is B
    with refuses("verdict:unparseable"):
        decided("Neither.", by_marks=True)
    with refuses("verdict:echo"):
        decided(MARKS_EN, by_marks=True)


@given(st.text(alphabet="AB response\n.:[]", max_size=40), st.sampled_from("AB"))
def test_the_last_decision_counts_whatever_stands_before(before, letter):
    assert decided(f"{before}\nThe final decision is Response {letter}.") is Verdict(letter)


@given(st.text(max_size=60))
def test_nothing_is_read_that_the_strict_rule_would_not_read(text):
    expected = parse_strict(text)
    if expected is None:
        with pytest.raises(Refused, match="verdict"):
            decided(text)
    else:
        assert decided(text) is expected


def preference(reply, *, name="distil_preference", language="en"):
    return preference_said(reply, asked=asked(name, language))


@LANGUAGE
@pytest.mark.parametrize("name", ["distil_preference", "distil_sentence", "distil_aggregate"])
def test_a_distiller_that_repeats_its_task_distilled_nothing(name, language):
    task = asked(name, language).rpartition("\n\n")[2]
    for said in [task, f"Here it is:\n{task}", f"**好的：**\n{task}"]:
        with refuses("preference:echo"):
            preference(said, name=name, language=language)
    own = {"en": "They want figures.", "zh": "这位用户想要数字。"}[language]
    assert preference(f"{task}\n\nPreference:\n{own}", name=name, language=language) == own
    assert preference(own, name=name, language=language) == own


@pytest.mark.parametrize("said", ["...", "N/A", "None.", "无", "(unknown)", "`null`"])
def test_a_preference_without_a_word_of_its_own_is_empty(said):
    with refuses("preference:empty"):
        preference(said)


def test_a_preference_that_repeats_itself_is_refused():
    with refuses("preference:loop"):
        preference_said("Prefers answers that are long. " * 5, asked="Describe the user.")


def test_a_preference_is_left_as_it_stands():
    said = "They like:\n- short answers\n- Answer in English."
    assert preference(said) == said  # one short line that the task has, too, is no echo


def memory(**changes):
    own = {
        "scoring_style": {"text": "Strict.", "turn_ids": ["T1"]},
        "four_vs_five_distinction": {"text": "", "turn_ids": []},
        "three_vs_four_distinction": "",
        "user_specific_requirements": [],
        "preferred_response_format": {"text": "Lists.", "turn_ids": []},
        "task_specific_observations": [],
    }
    return json.dumps(own | changes, ensure_ascii=False)


def remembered(reply, language="en"):
    return memory_said(reply, aliases={"81": "T1"}, asked=asked("build_memory", language))


@LANGUAGE
def test_a_memory_of_placeholders_is_none(language):
    with refuses("memory:echo"):
        remembered(form_of("build_memory", language), language)


@pytest.mark.parametrize(
    "style",
    [
        "One or two sentences.",
        {"text": "…", "turn_ids": []},
        "string",
        "Is the user strict or lenient, given the average?",
    ],
)
def test_without_a_scoring_style_there_is_no_memory(style):
    with refuses("memory:echo"):
        remembered(memory(scoring_style=style))


ASKS_WHICH_FORM = "which structure or form of reply does the user prefer?"
MAPS = {"text": "Wants maps.", "turn_ids": []}
SUN = {"task_name": "travel", "observation": "Wants sun.", "turn_ids": []}
ECHOED = [
    ("four_vs_five_distinction", {"text": "one or two sentences", "turn_ids": ["T1"]}, ""),
    ("three_vs_four_distinction", "One or two sentences.", ""),
    ("preferred_response_format", ASKS_WHICH_FORM, ""),
    ("preferred_response_format", {"text": ASKS_WHICH_FORM, "turn_ids": []}, ""),
    ("user_specific_requirements", [MAPS, "one requirement"], [MAPS]),
    ("task_specific_observations", [SUN, SUN | {"observation": "One sentence"}], [SUN]),
    ("task_specific_observations", [SUN | {"task_name": "task as named above"}, SUN], [SUN]),
]


@pytest.mark.parametrize(("name", "said", "kept"), ECHOED)
def test_an_echo_beside_a_scoring_style_is_left_out(name, said, kept):
    own = remembered(memory())
    assert remembered(memory(**{name: said})) == own | {name: kept}


@LANGUAGE
def test_of_a_form_with_a_scoring_style_nothing_else_is_left(language):
    form = json.loads(form_of("build_memory", language))
    style = {"text": "Strict.", "turn_ids": []}
    found = remembered(json.dumps(form | {"scoring_style": style}), language)
    wish = found.pop("preferred_response_format")
    assert wish["text"] == form["preferred_response_format"]["text"]
    assert [value for value in found.values() if value] == [style]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"preferred_response_format": "One or two sentences."},  # some users want just that
        {"user_specific_requirements": ["One sentence.", MAPS]},  # the form of an observation
        {"four_vs_five_distinction": "None"},  # the turns show nothing
        {"scoring_style": "strict"},
    ],
)
def test_a_memory_that_says_something_is_kept(changes):
    own = json.loads(memory(**changes))
    assert remembered(memory(**changes)) == read_memory(json.dumps(own), aliases={"81": "T1"})
    assert list(own) == list(TEXT_FIELDS)


def test_a_short_judgement_in_the_prompt_s_words_is_no_echo():
    said = remembered(memory(scoring_style="这位用户偏严格。"), "zh")
    assert said["scoring_style"] == "这位用户偏严格。"


def test_what_is_no_memory_is_told_apart():
    with refuses("memory:unparseable"):
        remembered("{}")


SCORING = pytest.mark.parametrize(
    ("name", "form"),
    [(name, spec.form) for spec in SPECS.values() for name in spec.prompts.values()],
)


@LANGUAGE
@SCORING
def test_a_score_whose_analysis_is_the_form_s_is_none(name, form, language):
    fields = json.loads(form_of(name, language))
    with refuses("score:echo"):
        turn_said(json.dumps(fields), form=form, asked=asked(name, language))
    for said in ["…", "N/A", str(fields["analysis"]).upper() + "!"]:
        with refuses("score:echo"):
            turn_said(
                json.dumps(fields | {"analysis": said}), form=form, asked=asked(name, language)
            )
    own = json.dumps(fields | {"analysis": "It names no price."})
    found = turn_said(own, form=form, asked=asked(name, language))
    assert (found.score, found.analysis) == (3, "It names no price.")


NAMED = {
    "en": [
        "Failure to satisfy the requirement.",
        "Insufficient detail, insufficient diversity.",
        "Insufficient detail. Failure to satisfy the requirement; unusable",
        "failure_to_satisfy_the_requirement: other",
        "Failure to satisfy the requirement. Other.",
    ],
    "zh": [
        "不够细致，不够多样，不满足需求。",
        "不够多样、不满足需求、不可用",
        "不满足需求；不够细致；不可用",
    ],
}

NAMED_IN = {"en": "insufficient diversity", "zh": "不够多样"}


@LANGUAGE
@SCORING
def test_an_analysis_that_names_reasons_is_read(name, form, language):
    fields = json.loads(form_of(name, language))
    question = asked(name, language)
    for said in NAMED[language]:
        reply = json.dumps(fields | {"analysis": said})
        assert turn_said(reply, form=form, asked=question).analysis == said
    listed = next(line for line in question.splitlines() if NAMED_IN[language] in line)
    with refuses("score:echo"):
        turn_said(json.dumps(fields | {"analysis": listed}), form=form, asked=question)


def test_what_is_no_score_is_told_apart():
    with refuses("score:unparseable"):
        turn_said("{}", form=SPECS[next(iter(SPECS))].form, asked=asked("score_turn"))


@LANGUAGE
@pytest.mark.parametrize("name", ["spur_extract", "spur_condense"])
def test_rubrics_of_placeholders_are_none(name, language):
    question = asked(name, language)
    with refuses("rubrics:echo"):
        phrases_said(form_of(name, language), most=3, asked=question)
    with refuses("rubrics:echo"):
        phrases_said('{"rubrics": ["...", "none"]}', most=3, asked=question)
    placeholder = json.loads(form_of(name, language))["rubrics"][0]
    mixed = json.dumps({"rubrics": [placeholder, "Names prices."]})
    assert phrases_said(mixed, most=1, asked=question) == ("Names prices.",)
    with refuses("rubrics:unparseable"):
        phrases_said("none", most=3, asked=question)
