from __future__ import annotations

import pytest

from benchmark.core.paper_replay import TABLE_8, TABLE_9, stands_beside

PRINTED_8 = """
kimi-k2.6 4.737 4.812 [4.737, 4.883] 4.731 4.785 0.987 0.013
glm-5.1 4.707 4.800 [4.724, 4.873] 4.697 4.760 0.973 0.027
deepseek-v4-pro 4.667 4.791 [4.718, 4.855] 4.655 4.732 0.973 0.027
gpt-5.5 4.573 4.689 [4.596, 4.783] 4.564 4.624 0.943 0.057
claude-opus-4-7 4.540 4.636 [4.541, 4.727] 4.524 4.597 0.953 0.047
gemini-3.1-pro 4.527 4.628 [4.508, 4.741] 4.532 4.583 0.940 0.060
minimax-m2.7 4.263 4.426 [4.303, 4.543] 4.252 4.344 0.863 0.137
"""
PRINTED_9 = """
Qwen3-8B Prefix only 4.333 4.465 0.920 0.080
TF-IDF memory 4.273 4.371 0.903 0.097
Diverse memory 4.260 4.383 0.897 0.103
deepseek-v4-flash Prefix only 4.320 4.421 0.893 0.107
TF-IDF memory 4.250 4.415 0.883 0.117
Diverse memory 4.290 4.414 0.900 0.100
gemini-3.1-flash-lite Prefix only 4.203 4.339 0.870 0.130
TF-IDF memory 4.177 4.290 0.867 0.133
Diverse memory 4.167 4.310 0.870 0.130
"""
WORDS = {"PREFIX": "Prefix only", "MEMORY": "TF-IDF memory", "DIVERSE": "Diverse memory"}


def test_the_tables_are_as_printed():
    told = [
        f"{row.model} {row.micro:.3f} {row.user:.3f} [{row.low:.3f}, {row.high:.3f}] "
        f"{row.task:.3f} {row.block:.3f} {row.satisfied:.3f} {row.dissatisfied:.3f}"
        for row in TABLE_8
    ]
    assert told == PRINTED_8.split("\n")[1:-1]
    told = [
        f"{row.model + ' ' if row.context == 'PREFIX' else ''}{WORDS[row.context]} "
        f"{row.micro:.3f} {row.user:.3f} {row.satisfied:.3f} {row.dissatisfied:.3f}"
        for row in TABLE_9
    ]
    assert told == PRINTED_9.split("\n")[1:-1]


@pytest.mark.parametrize(
    ("model", "context", "table", "places"),
    [
        ("moonshot/Kimi-K2.6", "PREFIX", TABLE_8, [0]),
        ("gpt-5.5", "", TABLE_8, [3]),
        ("gpt-5.5-mini", "PREFIX", TABLE_8, []),
        ("qwen3-8b", "DIVERSE", TABLE_9, [2]),
        ("qwen3-8b", "COMPRESSED", TABLE_9, []),
    ],
)
def test_ours_stand_beside_the_same_model_and_context(model, context, table, places):
    beside = [stands_beside(row, model=model, context=context) for row in table]
    assert [place for place, is_beside in enumerate(beside) if is_beside] == places
