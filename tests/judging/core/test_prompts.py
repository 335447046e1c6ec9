from __future__ import annotations

import re
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.core.injections import INJECTIONS
from judging.core.prompts import (
    FOLDER,
    LANGUAGES,
    TAGS,
    Prompt,
    PromptText,
    load_prompt,
    neutralise,
    prompt_language,
)
from tests.refusals import refuses

FILES = sorted(FOLDER.glob("*.txt"))


def prompt(text):
    return Prompt("test", 1, "en", text)


def test_values_fill_their_places_in_one_pass():
    text = prompt("{{one}} and {{two}} and {{one}}, not {three}")
    values = {"one": "{{two}}", "two": r"\1 {{one}} {{three}}"}
    assert text.render(values) == r"{{two}} and \1 {{one}} {{three}} and {{two}}, not {three}"


@pytest.mark.parametrize("values", [{}, {"one": "1"}, {"one": "1", "two": "2", "three": "3"}])
def test_a_missing_or_unknown_value_is_refused(values):
    with refuses("prompt:broken", match=r"test\.v1\.en"):
        prompt("{{one}} {{two}}").render(values)


def test_values_are_neutralised_and_composed_blocks_are_not():
    rendered = prompt("{{value}} {{block}}").render(
        {"value": "</dialogue>", "block": PromptText("<user>\nhello\n</user>")}
    )
    assert rendered == "‹/dialogue> <user>\nhello\n</user>"


def test_the_digest_is_of_the_text():
    assert prompt("same").digest == sha256(b"same").hexdigest()
    assert prompt("same").digest != prompt("other").digest


@pytest.mark.parametrize(
    ("language", "expected"),
    [("en", "en"), ("zh", "zh"), ("zh-hans", "zh"), ("ZH-CN", "zh"), ("de", "en"), ("", "en")],
)
def test_any_chinese_is_chinese_and_everything_else_english(language, expected):
    assert prompt_language(language) == expected


def test_a_prompt_is_loaded_by_name_version_and_language():
    found = load_prompt("judge_pair", language="zh-hans")
    assert (found.label, found.language) == ("judge_pair.v1.zh", "zh")
    assert not found.text.endswith("\n")
    assert load_prompt("judge_pair", language="zh-hans") is found


@pytest.mark.parametrize(("name", "version"), [("judge_pair", 99), ("no_such", 1)])
def test_a_prompt_that_does_not_exist_is_an_error(name, version):
    with refuses("prompt:broken", match="there is no prompt"):
        load_prompt(name, language="en", version=version)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_is_named_right_and_exists_in_both_languages(path):
    name, version, language, ending = path.name.split(".")
    assert re.fullmatch(r"[a-z_]+", name)
    assert re.fullmatch(r"v\d+", version)
    assert ending == "txt"
    for other in LANGUAGES:
        assert (FOLDER / f"{name}.{version}.{other}.txt").is_file()
    assert language in LANGUAGES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_two_languages_ask_for_the_same_values_in_the_same_places(path):
    here = path.read_text(encoding="utf-8")
    there = (FOLDER / path.name.replace(".en.", ".zh.")).read_text(encoding="utf-8")
    shape = r"\{\{[a-z_]+\}\}|</?[a-z_]+>|\"[a-z_]+\":"
    assert re.findall(shape, here) == re.findall(shape, there)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_delimiter_of_a_prompt_is_one_that_values_lose(path):
    used = set(re.findall(r"</?([a-z_]+)>", path.read_text(encoding="utf-8")))
    assert used <= set(TAGS)


OURS = re.compile(r"<\s*/?\s*(?:" + "|".join(TAGS) + r")\b", re.IGNORECASE)


@pytest.mark.parametrize("value", INJECTIONS)
def test_no_delimiter_survives_in_a_value(value):
    harmless = neutralise(value)
    assert not OURS.search(harmless)
    assert not re.search(r"<\|.*?\|>|<｜|</?think>|\[/?INST\]|<</?SYS>>|</?s>|_of_turn>$", harmless)
    assert len(harmless) == len(value)


@pytest.mark.parametrize(
    "value",
    [
        "if a < b and b > c: x = a << 2",
        "<div class='user'><p>hello</p></div><span>response</span>",
        "xs |> List.map f <| y; <- ch; a <|> b",
        "<respond> <users> <dialogues> < 3",
        "[INSTALL] [inst.] list[0]",
        "The final decision is Response B. 最终决定是回复B。",
        "<thinking-face> <strong> <s-expression>",
    ],
)
def test_other_text_is_left_alone(value):
    assert neutralise(value) == value


@given(st.text(alphabet=st.sampled_from("</>|｜[] \n" + "".join(sorted(set("user_think"))))))
def test_neutralising_twice_changes_nothing_more(value):
    once = neutralise(value)
    assert neutralise(once) == once
    assert not OURS.search(once)


@given(st.lists(st.sampled_from(["<", "/", "user", ">", "‹", " ", "s", "|", "think"]), max_size=12))
def test_no_delimiter_can_be_put_together_from_pieces(pieces):
    assert not OURS.search(neutralise("".join(pieces)))
