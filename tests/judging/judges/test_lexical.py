import asyncio
import json
from collections.abc import Iterator

import pytest

from annotation.core.choices import Verdict
from annotation.core.conversations import Dialogue, Message, Speaker
from judging.core.memory import TEXT_FIELDS
from judging.core.questions import (
    HistoryTurn,
    LabelledPair,
    MemoryQuestion,
    ShownPair,
    TurnQuestion,
)
from judging.judges.lexical import LexicalJudge
from judging.judges.protocol import Judge
from tests.paths import shared_data

ASKED = (Message(Speaker.USER, "How do I boil an egg?"),)
SHORT, LONG = "Seven minutes.", "Boil the egg for seven minutes in salted water, then cool it."


@pytest.fixture
def judge() -> Judge:
    return LexicalJudge()


def test_it_is_named(judge):
    assert (judge.name, LexicalJudge.version) == ("lexical", 2)


def test_it_distils_a_text_and_judges_by_it(judge):
    pair = LabelledPair(ASKED, chosen=SHORT, rejected=LONG)
    text = asyncio.run(judge.distil((pair,), language="en")).value
    shown = ShownPair(ASKED, LONG, SHORT)
    base = asyncio.run(judge.judge_pair(shown, preference="", language="en"))
    learnt = asyncio.run(judge.judge_pair(shown, preference=text, language="zh-Hans"))
    assert (base.verdict, learnt.verdict) == (Verdict.A, Verdict.B)


def test_it_builds_a_memory_and_scores_by_it(judge):
    history = tuple(
        HistoryTurn(str(n), "eggs", "", "How?", LONG if n % 2 else SHORT, 4 + n % 2, None)
        for n in range(8)
    )
    memory = asyncio.run(judge.build_memory(MemoryQuestion(history, "soups", "en")))
    assert memory.value is not None
    assert tuple(memory.value) == TEXT_FIELDS
    content = {"statistics": {"mean": 4.5}, "texts": memory.value}
    long, short = (
        asyncio.run(judge.score_turn(TurnQuestion(ASKED, text, "", {}, "", content, "en")))
        for text in (LONG, SHORT)
    )
    assert long.expected_score > short.expected_score


def test_no_history_is_an_error_code(judge):
    answer = asyncio.run(judge.build_memory(MemoryQuestion((), "soups", "en")))
    assert (answer.value, answer.error_code) == (None, "memory:no-history")


def pandalm() -> Iterator[tuple[Dialogue, str, str, Verdict]]:
    """Annotator 1's labels with a winner; a text field may hold a JSON scalar."""
    rows = json.loads(shared_data("pandalm_testset_dev.json").read_text(encoding="utf-8"))
    for row in rows:
        if row["annotator1"]:
            request = f"{row['instruction']}\n{row['input']}".strip()
            winner = Verdict.A if row["annotator1"] == 1 else Verdict.B
            dialogue = (Message(Speaker.USER, request),)
            yield dialogue, str(row["response1"]), str(row["response2"]), winner


def test_the_base_judge_does_better_than_length_alone_on_pandalm(judge):
    """Longer wins 68 % of these; a fixed general judge gets 72 %."""
    rows = list(pandalm())
    answers = [
        asyncio.run(judge.judge_pair(ShownPair(dialogue, a, b), preference="", language="en"))
        for dialogue, a, b, _ in rows
    ]
    right = sum(answer.verdict is row[3] for answer, row in zip(answers, rows, strict=True))
    assert right / len(rows) > 0.69
