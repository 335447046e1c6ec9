"""A known preference is recovered from ten pairs with one label in ten turned round.

The responses are written here in four visible styles, as different models would; the simulated
annotator decides by what the style is, never by what the judge measures.
"""

import random

import pytest

from annotation.core.choices import Verdict
from annotation.core.conversations import Message, Speaker
from judging.core.lexical.distil import distil
from judging.core.lexical.pairwise import judge_pair
from judging.core.matrix import Matrix
from judging.core.questions import LabelledPair, ShownPair
from judging.core.selection import select

SENTENCES = {
    "en": [
        "Book the train two weeks ahead", "Pack a light jacket for the evening",
        "Walk along the river in the morning", "Try the market near the old bridge",
        "Leave the afternoon free for rest", "Share the cost of the flat",
        "Check the opening hours of the museum", "Take the tram to the hill",
        "Keep a little cash for the ferry", "Meet at the station before noon",
        "Ask the host for a quiet room", "Buy the day ticket for the bus",
    ],
    "zh": [
        "提前两周订好火车票", "带一件薄外套晚上穿", "早上沿着河边散步", "去老桥附近的集市看看",
        "下午留出时间休息", "大家分摊住宿的费用", "先查好博物馆的开放时间", "坐电车上山看风景",
        "准备一点现金坐渡轮", "中午之前在车站集合", "请房东安排安静的房间", "买一张公交车的日票",
    ],
}  # fmt: skip
WORDS = {
    "en": {"stop": ". ", "hello": "Sure! ", "bye": " Have fun, you've got this! 😊",
           "proof": "According to a 2021 survey, {} percent agree. ",
           "ask": "How do I plan a trip?"},
    "zh": {"stop": "。", "hello": "当然可以！", "bye": "祝你玩得开心，加油！😊",
           "proof": "根据2021年的调查数据，{}%的人同意。", "ask": "怎么安排一次旅行？"},
}  # fmt: skip
STYLES = ("terse", "structured", "friendly", "evident")
PERSONAS = {
    "concise": ("terse", "friendly", "evident", "structured"),
    "structure": ("structured", "evident", "terse", "friendly"),
    "warm": ("friendly", "terse", "evident", "structured"),
    "evidence": ("evident", "structured", "terse", "friendly"),
}


def write(style, language, draw):
    words = WORDS[language]
    count = {"terse": 2, "structured": 9, "friendly": 4, "evident": 6}[style]
    lines = draw.sample(SENTENCES[language], count + draw.randrange(2))
    if style == "structured":
        return "## 1\n" + "\n".join(f"- **{line[:4]}**{line[4:]}" for line in lines)
    text = words["stop"].join([*lines, ""])
    if style == "friendly":
        return words["hello"] + text + words["bye"]
    proof = "".join(words["proof"].format(draw.randrange(20, 90)) for _ in range(2))
    return proof + text if style == "evident" else text


def draw_pair(persona, language, draw):
    """(dialogue, the truly better response, the other)."""
    better, other = sorted(draw.sample(STYLES, 2), key=PERSONAS[persona].index)
    dialogue = (Message(Speaker.USER, WORDS[language]["ask"]),)
    return LabelledPair(dialogue, write(better, language, draw), write(other, language, draw))


def turned(pair):
    return LabelledPair(pair.dialogue, pair.rejected, pair.chosen)


def names_better(pair, text):
    shown = ShownPair(pair.dialogue, pair.chosen, pair.rejected)
    verdict = judge_pair(shown, preference=text).verdict
    return None if verdict is Verdict.TIE else int(verdict is Verdict.A)


def accuracy(persona, language, seed):
    """The whole method: distil each pair, judge dev, select, vote on unseen pairs."""
    draw = random.Random(f"{persona}{language}{seed}")
    dev = [draw_pair(persona, language, draw) for _ in range(10)]
    dev[seed % 10] = turned(dev[seed % 10])
    texts = ["", *(distil([pair], language=language) for pair in dev)]
    cells = tuple(tuple(names_better(pair, text) for text in texts) for pair in dev)
    (chosen,) = select(Matrix(cells, cells, (None, *range(10)))).selected
    unseen = [draw_pair(persona, language, draw) for _ in range(40)]
    right = 0.0
    for pair in unseen:
        votes = [names_better(pair, texts[column]) for column in chosen]
        balance = sum(1 if vote else -1 for vote in votes if vote is not None)
        right += 0.5 if balance == 0 else float(balance > 0)
    return right / len(unseen)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("persona", PERSONAS)
def test_ten_pairs_with_one_wrong_label_recover_the_persona(persona, language):
    mean = sum(accuracy(persona, language, seed) for seed in range(10)) / 10
    assert mean > 0.8
