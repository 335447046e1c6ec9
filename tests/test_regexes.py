"""Every pattern that reads texts of models or files takes time linear in their length.

Work is counted, not timed: `tests.regex_steps` counts the steps of a backtracking matcher.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import json
import re
import sys
from collections import defaultdict

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from annotation.core.reasoning import split_reasoning, visible_answer
from annotation.core.refusals import Refused
from benchmark.core.personal_data import personal_data, without_personal_data
from judging.core import echoes, structured
from judging.core.categories import read_sorted
from judging.core.echoes import decided
from judging.core.lexical import categories
from judging.core.preferences import edited_text, read_preference
from judging.core.prompts import neutralise
from judging.core.structured import last_object, parse_bracketed, parse_grade, parse_turn
from judging.core.verdicts import parse_paper, parse_strict
from tests import house
from tests.regex_steps import TooManyStepsError, count_steps, hostile, spans

SHORT, LONG = 300, 100_000
SLACK = 1.5
APPS = ("annotation.", "judging.", "benchmark.")
METHODS = {"match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split"}
BUILT = {
    "judging.core.structured": ["_renamed", "_pattern"],
    "judging.core.echoes": ["_dictated"],
    "judging.core.lexical.categories": ["_cues"],
    "annotation.views.labelling": ["_hidden_item"],  # the address's own pattern
}
"""Functions that compile what is no constant; `built` has what they make."""


MODULES = [module for module in house.modules() if module.name.startswith(APPS)]


def built():
    for names in (("rubric_pair_generic", "remind_mark"), ("judge_pair", "remind_verdict")):
        yield echoes._dictated(names)
    for name, value in (
        ("classification", structured._NUMBER),
        ("reason", structured._WORD),
        ("analysis", structured._REST),
        ("satisfied", structured._YES_OR_NO),
    ):
        yield structured._pattern(name, value)
    yield re.compile(r'"(?:score|评分|分数|得分)"\s*+:')
    weighted, within = categories._cues()
    yield from (cue for cues in weighted.values() for _, cue in cues)
    yield from (cue for cues in within.values() for cue in cues.values())


def patterns_within(value, depth=0):
    """The patterns of a module's constant, in tables too."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(getattr(value, "__self__", None), re.Pattern):
        yield value.__self__
    elif depth < 5:
        if isinstance(value, dict):
            value = [*value, *value.values()]
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            value = [getattr(value, field.name) for field in dataclasses.fields(value)]
        if isinstance(value, list | tuple | set | frozenset):
            for inner in value:
                yield from patterns_within(inner, depth + 1)


def is_re_call(node, names):
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in names
    )


def uses_in(module):
    """By a constant's name: the methods that are called of it."""
    uses = defaultdict(set)
    for node in module.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            uses[node.value.id].add(node.attr)
    return uses


def found_patterns():
    """Each pattern with the widest way in which it is used: a search begins at every place."""
    found = dict.fromkeys(built(), "search")
    for module in MODULES:
        if "import re\n" not in module.text:
            continue
        uses = uses_in(module)
        for name, value in vars(importlib.import_module(module.name)).items():
            for pattern in patterns_within(value):
                methods = uses[name] & METHODS
                use = "search"
                if methods and methods <= {"match", "fullmatch"} and value is pattern:
                    use = "match" if "match" in methods else "fullmatch"
                found.setdefault(pattern, use)
        for node in module.nodes:
            if is_re_call(node, METHODS) and isinstance(node.args[0], ast.Constant):
                pattern = re.compile(node.args[0].value)
                use = node.func.attr if node.func.attr in {"match", "fullmatch"} else "search"
                found.setdefault(pattern, use)
    return found


PATTERNS = found_patterns()
NAMES = r"^(.+?)[ _-]?\d+$"
"""Reads names of accounts, which have 150 characters at most."""
UNLIMITED = [
    pattern for pattern in PATTERNS if hostile(pattern, SHORT) and pattern.pattern != NAMES
]


def test_no_function_compiles_a_pattern_that_is_not_counted():
    loose = {
        (module.name, function.name)
        for module in MODULES
        for function in module.nodes
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if is_re_call(node, METHODS | {"compile"}) and not isinstance(node.args[0], ast.Constant)
    }
    assert loose == {(module, name) for module, names in BUILT.items() for name in names}
    assert len(PATTERNS) > 120
    assert len(UNLIMITED) > 60


@pytest.mark.parametrize("pattern", UNLIMITED, ids=lambda pattern: pattern.pattern[:60])
def test_a_hostile_text_is_read_in_linear_time(pattern):
    """What costs most in 600 characters costs as much a character in 100,000."""
    use = PATTERNS[pattern]
    texts = {SHORT: hostile(pattern, SHORT), 2 * SHORT: hostile(pattern, 2 * SHORT)}
    budget = 2_000 * SHORT
    short = [count_steps(pattern, text, use, budget=budget) for text in texts[SHORT]]
    double = [count_steps(pattern, text, use, budget=budget) for text in texts[2 * SHORT]]
    growth = [after / before for before, after in zip(short, double, strict=True)]
    assert max(growth) < 2 * SLACK
    worst = growth.index(max(growth))
    text = hostile(pattern, LONG)[worst]
    assert len(text) == LONG
    count_steps(pattern, text, use, budget=int(SLACK * double[worst] * LONG / (2 * SHORT)))


@pytest.mark.parametrize(
    ("pattern", "text", "use"),
    [
        (r"final\s*decision\s*[:：]?\s*(?:\*\*)?\s*[AB]", "final decision" + " " * 600, "search"),
        (r"\s*```\s*$", " " * 600, "search"),
        (r"(?:good|bye|goodbye)+", "goodbye" * 20 + "x", "fullmatch"),
    ],
)
def test_steps_tell_a_pattern_that_backtracks(pattern, text, use):
    with pytest.raises(TooManyStepsError):
        count_steps(re.compile(pattern), text, use, budget=100 * len(text))


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.pattern[:60])
def test_the_counting_machine_matches_as_the_standard_library_does(pattern):
    for text in hostile(pattern, 40):
        assert spans(pattern, text, "search") == [match.span() for match in pattern.finditer(text)]


READERS = [
    parse_strict,
    parse_paper,
    parse_bracketed,
    parse_grade,
    parse_turn,
    decided,
    read_preference,
    edited_text,
    neutralise,
    read_sorted,
    split_reasoning,
    visible_answer,
    personal_data,
    without_personal_data,
    categories.sort_requests,
]
BEGINNINGS = [
    "final decision", "The final decision is", "最终决定", "[[", "```", '{"classification"',
    '{"classification": 3, "reason": "x", "analysis": "', "preference", "<", "a@b.cn ",
    "13800138000 ", '{"a":', "select <b> if 甲 1", "<think>", "</think>", "x</think>", "[THINK]x",
    "<think>x</think>y.", "```\n<think>", "```a\n</think>", "analysisWe ", "a.assistantfinalA",
    "<|channel|>analysis<|message|>x<|end|>", "<|channel|>final<|message|>x", "<think><answer>",
]  # fmt: skip
PUMPS = [*BEGINNINGS, " ", "\n", "{", '{"a":', '{"a', "[", "]]", "`", "goodbye", "a@b.cn "]


def count_lines(function, *arguments):
    """The lines of the application that run: what its own loops do, beside its patterns."""
    lines = 0

    def trace(frame, event, _argument):
        nonlocal lines
        lines += event == "line"
        return trace if str(house.ROOT) in frame.f_code.co_filename else None

    sys.settrace(trace)
    try:
        function(*arguments)
    except Refused:
        pass
    finally:
        sys.settrace(None)
    return lines


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.__name__)
def test_a_reader_does_a_limited_number_of_lines_a_character(reader):
    for text in [each + " " * LONG for each in BEGINNINGS] + [each * LONG for each in PUMPS]:
        value = text[:LONG]
        arguments = [[value]] if reader is categories.sort_requests else [value]
        assert count_lines(reader, *arguments) < 20 * LONG


class CountingDecoder(json.JSONDecoder):
    """Counts the characters that it may have read in vain: to the error, or to the end."""

    read = 0

    def raw_decode(self, text, start=0):
        try:
            return super().raw_decode(text, start)
        except json.JSONDecodeError as error:
            reached = len(text) if "Unterminated" in error.msg else error.pos
            # An error counts the lines before it, fast.
            CountingDecoder.read += reached - start + error.pos // 32
            raise
        except RecursionError:
            CountingDecoder.read += len(text) - start
            raise


@pytest.mark.parametrize(
    "text",
    [
        '{"a":' * (LONG // 5),
        '{"a":[' * 400 + "0," * (LONG // 2),
        '{"a":"{\\"' * (LONG // 9),
        '{"a' * (LONG // 3),
        "{" * LONG,
        '{"' + '{"a":1' * (LONG // 6),
    ],
)
def test_objects_that_never_close_are_read_a_limited_number_of_times(monkeypatch, text):
    monkeypatch.setattr(json, "JSONDecoder", CountingDecoder)
    monkeypatch.setattr(CountingDecoder, "read", 0)
    assert last_object(text, key="classification") is None
    # Quotes are looked for once, then three spellings of the text are tried.
    assert CountingDecoder.read <= 4 * 18 * len(text)


PARTS = [*"ab1 \n.*-", "aa", "good", "bye"]
TRIED = [
    r"a*b", r"(a|b)*?1", r"(?:a|aa)++b", r"(?>a*)b|a", r"(?<=a)b+(?!1)", r"\ba{1,2}\b", r"(a)\1?b",
    r"(?:good|bye|goodbye)+$", r"^\s*+-", r"[^a]{2,3}?1", r"(?i:A)b", r"(?:a?)*b", r"(?m:^b$)",
]  # fmt: skip


@example("ab", r"(?i:A)b")
@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join), st.sampled_from(TRIED))
def test_the_counting_machine_matches_any_text_as_the_standard_library_does(text, written):
    pattern = re.compile(written)
    assert spans(pattern, text, "search") == [match.span() for match in pattern.finditer(text)]
    assert bool(spans(pattern, text, "fullmatch")) == bool(pattern.fullmatch(text))
