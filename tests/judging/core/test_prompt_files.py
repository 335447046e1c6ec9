"""Every prompt file, found by its name, against every attempt: what holds for each without a list.

A new prompt is tried as soon as its file is there; it only has to say, in READERS, how its replies
are read.
"""

from __future__ import annotations

import json
import re

import pytest

from annotation.core.choices import Verdict
from annotation.core.refusals import Refused
from judging.core.categories import SORTING, read_sorted
from judging.core.injections import ATTEMPTS, INJECTIONS
from judging.core.judge_prompts import INDUCTION
from judging.core.memory_parsing import read_memory
from judging.core.preferences import read_preference
from judging.core.prompt_edits import closing_lines, places, prompt_names
from judging.core.prompts import FOLDER, LANGUAGES, TAGS, load_prompt, neutralise
from judging.core.rubrics import read_phrases
from judging.core.rules import SPECS
from judging.core.structured import parse_bracketed, parse_grade, parse_turn
from judging.core.verdicts import parse_paper, parse_strict

STRUCTURE = re.compile(r"</?(?:" + "|".join(TAGS) + r")>")
PROMPTS = [
    load_prompt(name, language=language) for name in prompt_names() for language in LANGUAGES
]
EACH = pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.label)
FORMS = {name: spec.form for spec in SPECS.values() for name in spec.prompts.values()}


def dictated(prompt):
    """The last answer that the prompt itself dictates: a verdict, a grade, a JSON object."""
    closing = closing_lines(prompt.text)
    if closing[-1] == "}":
        return "\n".join(closing[1:])
    return re.split(r": |：", closing[-1], maxsplit=1)[1] if "[[C]]" not in closing[-1] else "[[B]]"


def reads(parse):
    """A reader of the replies that the prompt dictates."""
    return lambda _prompt, reply: parse(reply)


def reads_turn(prompt, reply):
    return parse_turn(reply, FORMS[prompt.name])


READERS = {
    **dict.fromkeys(("judge_pair", "judge_pair_base"), reads(parse_strict)),
    **{
        name: reads(parse_bracketed)
        for name in prompt_names()
        if name.startswith("rubric_pair_") and "_letter" not in name
    },
    **{name: reads(parse_grade) for name in prompt_names() if name.startswith("grade_")},
    **dict.fromkeys(FORMS, reads_turn),
    **dict.fromkeys(INDUCTION, reads(read_phrases)),
    SORTING: reads(read_sorted),
    "build_memory": reads(lambda reply: read_memory(reply, aliases={"1": "T1"})),
}
"""By prompt, what reads its reply."""
NO_FORM = {
    # A letter, read from its probability.
    *(name for name in prompt_names() if "_letter" in name),
    "distil_preference",  # the whole reply is the preference
    "distil_sentence",
    "distil_aggregate",
    "write_reference",  # the whole reply is the reference answer
    "rephrase_list",  # the list of the reply, whatever its words
    "generate_with_history",  # the whole reply is the response
    "generate_with_memory",
    # Asks once more in the form of another prompt.
    *(name for name in prompt_names() if name.startswith("remind_")),
}


def test_every_file_says_how_its_replies_are_read():
    assert {path.name.split(".")[0] for path in FOLDER.iterdir()} == READERS.keys() | NO_FORM
    assert not READERS.keys() & NO_FORM


@pytest.mark.parametrize("name", prompt_names())
def test_a_prompt_is_the_same_question_in_both_languages(name):
    english, chinese = (load_prompt(name, language=language).text for language in LANGUAGES)
    assert places(english) == places(chinese)
    assert STRUCTURE.findall(english) == STRUCTURE.findall(chinese)
    assert len(closing_lines(english)) == len(closing_lines(chinese))
    assert re.search("[一-鿿]", chinese)
    assert not re.search("[一-鿿]", english)


@EACH
def test_every_tag_of_a_prompt_is_neutralised_in_values(prompt):
    for tag in re.findall(r"</?[a-z_]+>", prompt.text):
        assert neutralise(f"a {tag} b") != f"a {tag} b", tag


@EACH
def test_no_attempt_changes_the_structure_or_leaves_its_place(prompt):
    names = prompt.placeholders
    plain = prompt.render(dict.fromkeys(names, "x"))
    for attempt in INJECTIONS:
        text = prompt.render(dict.fromkeys(names, attempt))
        assert STRUCTURE.findall(text) == STRUCTURE.findall(plain), attempt
        assert text.count(neutralise(attempt)) >= len(names)
        for name in names:
            alone = prompt.render({**dict.fromkeys(names, "x"), name: attempt})
            before, after = plain.split("x", 1)[0], plain.rsplit("x", 1)[1]
            assert alone.startswith(before)
            assert alone.endswith(after)
            assert STRUCTURE.findall(alone) == STRUCTURE.findall(plain), attempt


@pytest.mark.parametrize(
    "prompt", [each for each in PROMPTS if each.name in READERS], ids=lambda prompt: prompt.label
)
def test_a_judge_that_quotes_an_attempt_and_then_answers_is_read_the_same(prompt):
    read, answer = READERS[prompt.name], dictated(prompt)
    wanted = read(prompt, answer)
    assert wanted is not None
    for attempt in INJECTIONS:
        said = read(prompt, f"The response says: {attempt}\n\n{answer}")
        if prompt.name in FORMS:
            said, meant = (said.score, said.reason), (wanted.score, wanted.reason)
            assert said == meant, attempt
        else:
            assert said == wanted, attempt


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_an_analysis_that_quotes_an_attempt_changes_no_score(name, language):
    prompt = load_prompt(name, language=language)
    fields = json.loads(dictated(prompt))
    wanted = reads_turn(prompt, json.dumps(fields))
    for attempt in INJECTIONS:
        quoted = neutralise(attempt)  # as the judge was shown it
        said = reads_turn(prompt, json.dumps({**fields, "analysis": quoted}, ensure_ascii=False))
        assert (said.score, said.reason) == (wanted.score, wanted.reason), attempt
        assert said.analysis


@pytest.mark.parametrize("name", FORMS)
def test_an_attempt_that_was_not_neutralised_makes_no_other_score_at_worst_none(name):
    prompt = load_prompt(name, language="en")
    fields = json.loads(dictated(prompt))
    wanted = reads_turn(prompt, json.dumps(fields)).score
    for attempt in INJECTIONS:
        try:
            said = reads_turn(prompt, json.dumps({**fields, "analysis": attempt}))
        except Refused:
            assert "think>" in attempt
        else:
            assert said.score == wanted


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.key)
def test_a_verdict_after_an_attempt_is_read_by_the_paper_s_rule_too(attempt):
    for verdict, letter in ((Verdict.A, "A"), (Verdict.B, "B")):
        said = f"{attempt.text}\n\nThe final decision is Response {letter}."
        assert parse_paper(said) is verdict
        assert parse_strict(said) is verdict


@pytest.mark.parametrize("attempt", INJECTIONS)
def test_a_preference_that_quotes_an_attempt_is_still_one_text(attempt):
    said = f"They like it short. They wrote: {attempt}"
    assert read_preference(said)
