import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.reasoning import (
    join_reasoning,
    reasoning_of,
    reasoning_text,
    split_reasoning,
    visible_answer,
    without_reasoning,
)

HEADER = "<|start|>assistant<|channel|>final<|message|>"
CALL = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>"
DETAILS = (
    '<details type="reasoning" done="true" duration="3">\n<summary>3 s</summary>\nhm\n</details>'
)
BOXED = "<|begin_of_thought|>hm<|end_of_thought|>\n<|begin_of_solution|>yes<|end_of_solution|>"


@pytest.mark.parametrize(
    "text",
    [
        "<think>hm</think>yes",
        "\n<think>\nhm\n</think>\n\nyes",
        "<THINK>hm</Think>yes",
        "<think time='3'>hm</think> yes",
        "&lt;think&gt;hm&lt;/think&gt;\nyes",
        "<seed:think>hm</seed:think>yes",
        "<thinking>hm</thinking>\nyes",
        "<antThinking>hm</antThinking>yes",
        "<thought>hm</thought>yes",
        "<reasoning>\nhm\n</reasoning>\nyes",
        "<reasoning>hm</reasoning>\n<answer>\nyes\n</answer>\n",
        "<scratchpad>hm</scratchpad>yes",
        "[THINK]hm[/THINK]yes",
        "◁think▷hm◁/think▷yes",
        "<|channel>thought\nhm<channel|>yes",
        "<unused94>thought\nhm<unused95>yes",
        "<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>yes<|END_RESPONSE|>",
        BOXED,
        f"<|channel|>analysis<|message|>hm<|end|>{HEADER}yes",
        f"<|start|>assistant<|channel|>analysis<|message|>hm<|end|>{HEADER}yes<|return|>\n",
        f"hm<|end|>{HEADER}yes",
        "analysishm.assistantfinalyes",
        "analysisWe: hm.\nassistantfinal\nyes",
        "Here is my thought process: hm Here is my response: yes",
        "Here's my thought process:\nhm\n\nHere's my response:\nyes",
        "Here are my reasoning steps:\nhm\n[BEGIN FINAL RESPONSE]\nyes\n[END FINAL RESPONSE]",
        "hm\n</think>\n\nyes",
        "hm</think>yes",
        "hm.</thinking> yes",
        "hm。</think>yes",
        "hm[/THINK]yes",
        "hm</think>\nyes",
    ],
)
def test_what_was_thought_is_told_from_what_was_answered(text):
    found = split_reasoning(text)
    assert found.answer == "yes"
    assert found.reasoning.rstrip(".。:").removeprefix("We: ") == "hm"
    [(start, end)] = found.pieces
    assert text[start:end] == "yes"


def test_a_folded_block_of_a_page_is_reasoning():
    assert split_reasoning(f"{DETAILS}\nyes")[:2] == ("yes", "<summary>3 s</summary>\nhm")


@pytest.mark.parametrize(
    ("text", "answer", "reasoning"),
    [
        ("<think>never ends", "", "never ends"),
        ("<think>", "", ""),
        ("<thought>never ends", "", "never ends"),
        ("<|channel|>analysis<|message|>never ends", "", "never ends"),
        (f"{CALL}{{}}<|call|>", "", "{}"),
        ("analysisWe need to", "", "We need to"),
        ("yes\n<think>\nmore", "yes", "more"),
        ("a<think>x", "a", "x"),
        ("<think></think>", "", ""),
        ("<think>\n\n</think>\n\nyes", "yes", ""),
        ("</think>\n\nyes", "yes", ""),
        (f"{HEADER}yes<|end|>", "yes", ""),
        (f"{HEADER}<|return|>", "", ""),
        ("<think>a</think>\n<thinking>b</thinking>\nyes", "yes", "a\n\nb"),
        ("<think>a <think>b</think> c</think>yes", "yes", "a <think>b\n\nc"),
        ("<think>a `</think>` b</think>yes", "yes", "a `</think>` b"),
        ("<think>a '</think>'", "'", "a '"),
        ("Sure.\n<think>a</think>\nyes", "Sure.\n\nyes", "a"),
        ("<think>a</think>one.<think>b</think>two", "one.\n\ntwo", "a\n\nb"),
        ("one\n<think>a</think>two\n</think>\nyes", "yes", "one\n\na\n\ntwo"),
        ("the `<think>` mark\n</think>\nyes", "yes", "the `<think>` mark"),
        ("```\nopen\n</think>\nyes", "yes", "```\nopen"),
        ("```a\nopen\n```b\n</think>\nyes", "yes", "```a\nopen\n```b"),
        ("<think>a</think>```\n<think>\n```", "```\n<think>\n```", "a"),
        ("<think>a</think><answer><think>b</think></answer>",
         "<answer><think>b</think></answer>", "a"),
        ("<think>a</think><answer>cut", "<answer>cut", "a"),
        ("We go.assistantfinalYes", "Yes", "We go."),
    ],
)  # fmt: skip
def test_blocks_that_never_end_repeat_or_stand_further_down(text, answer, reasoning):
    assert split_reasoning(text)[:2] == (answer, reasoning)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "An ordinary thinking text.",
        "The tags <think> and </think> surround what it thinks.",
        "Use `<think>` first, then `</think>`.\nThat is all.",
        "It ends with </think>, then it answers.",
        "先输出<think>，然后输出</think>标签。",
        "模型会输出</think>标签之后再回答。",
        "```html\n<think>\nhm\n</think>\n```\nThis is how it looks.",
        "~~~\nhm\n</think>\n~~~\nyes",
        "Use this:\n<thinking>\nsteps\n</thinking>\n<answer>\n",
        "A `[THINK]` and a “◁think▷” are marks.",
        "It writes <|channel|>analysis<|message|> first.",
        "The word 'assistantfinal' is what is left of the marks.",
        "the assistantfinal marker",
        "We go.assistantfinally",
        "analysis of the data: assistantfinal is a word",
        "analysisType: 3",
        "Here is my thought process: I thought.",
        "<details><summary>thinking</summary>more</details>",
        "a </details> of thinking",
        "He said \"</think>\" aloud",
        "Text `a`\n```\nx\n```\n```\n</think> is left\n```",
    ],
)  # fmt: skip
def test_a_text_that_only_mentions_a_mark_keeps_it(text):
    assert split_reasoning(text) == (text, "", ((0, len(text)),))
    assert without_reasoning(text) == text


PARTS = [
    "<think>", "</think>", "<thinking>", "</thinking>", "[THINK]", "[/THINK]", "analysis",
    "assistantfinal", "We ", "<|channel|>analysis<|message|>", HEADER, "<|end|>", "<|return|>",
    "```", "````", "~~~", "\n", " ", "a", "。", "是", ".", "`", '"', "<answer>", "</answer>",
    "<details type=\"reasoning\">", "</details>", "<thi", "nk>", "Here is my thought process:",
    "Here is my response:", "<|channel>thought", "<channel|>",
]  # fmt: skip


@given(st.lists(st.sampled_from(PARTS), max_size=25).map("".join))
def test_splitting_an_answer_again_changes_nothing(text):
    found = split_reasoning(text)
    assert "\n\n".join(text[start:end] for start, end in found.pieces) == found.answer
    assert without_reasoning(found.answer) == found.answer
    growing = split_reasoning(text, is_growing=True).answer
    assert growing == found.answer or len(growing) <= len(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("<", ""),
        ("<thi", ""),
        ("[TH", ""),
        ("<|channel|>fin", ""),
        ("<|channel|>final<|message|>Yes", "Yes"),
        ("anal", ""),
        ("analysis", ""),
        ("analysisuser asks", ""),
        ("analysis of it", "analysis of it"),
        ("Here is my thought process: hm", ""),
        ("<think>hm", ""),
        ("<think>hm</think> Yes", "Yes"),
        ("<th>", "<th>"),
        ("Yes ", "Yes"),
    ],
)
def test_what_may_become_reasoning_is_held_back(text, shown):
    assert visible_answer(text) == shown


def test_reasoning_beside_a_text_is_found_under_any_name():
    assert reasoning_of(None) == reasoning_of({}) == reasoning_of({"reasoning": 3}) == ""
    assert reasoning_of({"reasoning": "", "thinking": "hm"}) == "hm"
    assert reasoning_of({"reasoning_content": "one", "reasoning": "one"}) == "one"
    details = [{"type": "reasoning.text", "text": "a"}, {"type": "reasoning.encrypted"}, "b", 3]
    assert reasoning_text(details) == "ab"
    assert reasoning_text({"thinking": [{"type": "text", "text": "hm"}]}) == "hm"
    assert reasoning_text({"type": "thinking"}) == ""


def test_reasoning_from_several_places_is_joined():
    assert join_reasoning("", None, " a ", {"b": 1}, "c") == 'a\n\n{"b": 1}\n\nc'
