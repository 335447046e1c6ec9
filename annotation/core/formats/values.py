"""What the words of a table's columns mean: verdicts, scores, strengths, yes and no, roles.

Usual words are known in English and Chinese. Anything else is left to whoever imports: nothing is
guessed, and a word that could mean two things is not known.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from annotation.core.choices import LabelledEnum, Reason
from annotation.core.formats.headers import VERDICT_OF
from annotation.core.formats.recllmsim import REASONS
from annotation.core.refusals import gettext_noop


class Meaning(LabelledEnum):
    """What a value of a column stands for; a command's `--values` uses these words."""

    A = "A", gettext_noop("First is better")
    B = "B", gettext_noop("Second is better")
    TIE = "TIE", gettext_noop("Tie")
    BOTH_BAD = "BOTH-BAD", gettext_noop("Tie, and both bad")
    A_SLIGHTLY = "A-SLIGHTLY", gettext_noop("First is slightly better")
    A_CLEARLY = "A-CLEARLY", gettext_noop("First is clearly better")
    B_SLIGHTLY = "B-SLIGHTLY", gettext_noop("Second is slightly better")
    B_CLEARLY = "B-CLEARLY", gettext_noop("Second is clearly better")
    NAME = "NAME", gettext_noop("The response with this name is better")
    SCORE_1 = "1", gettext_noop("1 (worst)")
    SCORE_2 = "2", "2"
    SCORE_3 = "3", "3"
    SCORE_4 = "4", "4"
    SCORE_5 = "5", gettext_noop("5 (best)")
    SLIGHTLY = "SLIGHTLY", gettext_noop("Slightly better")
    CLEARLY = "CLEARLY", gettext_noop("Clearly better")
    YES = "YES", gettext_noop("Yes")
    NO = "NO", gettext_noop("No")
    USER = "USER", gettext_noop("User")
    ASSISTANT = "ASSISTANT", gettext_noop("Assistant")
    SYSTEM = "SYSTEM", gettext_noop("System prompt")
    NONE = "NONE", gettext_noop("No answer")
    SKIP = "SKIP", gettext_noop("Leave the row out")


Means = Mapping[str, Mapping[str, Meaning]]
"""Meanings by key of a column and by plain word, as somebody chose them."""
NO_MEANS: Final[Means] = {}

_EMPTY: Final = frozenset(
    ["", "nan", "-nan", "null", "n/a", "na", "#n/a", "#na", "#n/a n/a", "<na>", "#null!", "nat"]
)
"""What programs write where there is no value."""


def plain(word: str) -> str:
    """Returns a word without what does not tell words apart: case, width and outer blanks."""
    return " ".join(unicodedata.normalize("NFKC", word).casefold().split())


def is_empty(word: str) -> bool:
    """Whether a cell holds no value, or one of the words that programs write for none."""
    return plain(word) in _EMPTY


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_A: Final = _words("a 1 1st left first former 左边 左侧 左 前者 第一个 第一条 第一种 第一 第1个 甲")
_B: Final = _words(
    "b 2 2nd right second latter 右边 右侧 右 后者 第二个 第二条 第二种 第二 第2个 乙"
)
_FILLERS: Final = _words(
    "the is was are were it i think one ones response responses answer answers option options "
    "model models assistant output reply completion candidate text choice choose chose pick side "
    "winner verdict about roughly quite very at all in of by and than "
    "的 是 了 个 更 比较 较 较为 要 我 觉得 认为 选择 选 回答 回复 答案 模型 选项 输出 文本 边"
)
_WINS: Final = _words(
    "better best preferred prefer prefers preference superior stronger wins won win "
    "好 更好 最好 较好 优 更优 胜 赢 胜出 获胜 优于 好于 强 更强 喜欢 偏好 >"
)
_LOSES: Final = _words("worse worst inferior weaker loses lost lose 更差 较差 不如 劣 输 差于 <")
_SLIGHTLY: Final = _words(
    "slightly somewhat marginally bit little 略 稍 稍微 略微 略为 一点 一些 有点 稍稍"
)
_CLEARLY: Final = _words(
    "clearly much significantly far strongly definitely lot considerably "
    "明显 显著 远 得多 多 很多 >> <<"
)
_TIES: Final = _words(
    "tie tied ties draw drawn equal equally same similar even comparable = == "
    "平局 平手 打平 平 一样 一样好 同样 同样好 相同 相当 差不多 不相上下 难分高下 难分伯仲 持平 "
    "无差别 没差别 没有差别 无区别 没区别 没有区别 无偏好 没有偏好 "
    "相似 等同 不分上下 差别不大 区别不大"
)
_BOTH: Final = _words("both 都 两个 两者 两个都 两者都 均 俩 二者 全都 全")
_BAD: Final = _words(
    "bad poor terrible unacceptable worse wrong bothbad "
    "差 不好 不行 很差 太差 糟 糟糕 不合格 不满意 坏 错 更差 不可用 一样差 同样差"
)
_GOOD: Final = _words("good fine great acceptable ok okay bothgood 好 很好 可以 不错 满意 都行 行")
_OF_BOTH: Final = _words("bothbad bothgood 一样差 同样差 都行")
_PHRASES: Final = {
    "no preference": "tie",
    "no difference": "tie",
    "no winner": "tie",
    "both equal": "tie",
    "both bad": "bothbad",
    "all bad": "bothbad",
    "a bit": "slightly",
    "a little": "slightly",
    "a lot": "clearly",
}
_PHRASE: Final = re.compile(rf"\b(?:{'|'.join(_PHRASES)})\b")
_CHINESE: Final = tuple(
    sorted(
        (
            word
            for words in (
                _A, _B, _FILLERS, _WINS, _LOSES, _SLIGHTLY, _CLEARLY, _TIES, _BOTH, _BAD, _GOOD
            )
            for word in words
            if not word.isascii()
        ),
        key=lambda word: (-len(word), word),
    )
)  # fmt: skip
_TOKEN: Final = re.compile(rf"{'|'.join(_CHINESE)}|[a-z0-9']+|>+|<+|=+|[^\W\d_]", re.IGNORECASE)
_MARKS: Final = re.compile(r"[\s\[\](){}\"'.,:!*。，：！【】“”]*")
"""What may stand around the words of a verdict; a question mark makes it none."""
_NUMBER: Final = re.compile(r"[-+]?\d+(?:[.,]\d+)?")
_MOST_CHARS: Final = 60
"""A longer text is a sentence, and no word for a verdict."""


@lru_cache(maxsize=1024)
def verdict_of(word: str) -> Meaning | None:
    """Returns the verdict that a word usually means; None for any other."""
    text = plain(word)
    if is_empty(text):
        return Meaning.NONE
    if _NUMBER.fullmatch(text):
        return {1.0: Meaning.A, 2.0: Meaning.B}.get(float(text.replace(",", ".")))
    if len(text) > _MOST_CHARS:
        return None
    text = " ".join(re.sub(r"[_\-–—/·|]", " ", text).split())
    text = _PHRASE.sub(lambda found: _PHRASES[found.group()], text)
    if not _MARKS.fullmatch(_TOKEN.sub("", text)):
        return None
    return _verdict_of_phrase(_TOKEN.findall(text))


def _verdict_of_phrase(words: list[str]) -> Meaning | None:
    """Returns what a phrase says; None if a word of it is not known or it says two things."""
    words = [word for word in words if word not in _FILLERS]
    sides = ["A" if word in _A else "B" for word in words if word in _A | _B]
    rest = {*words} - _A - _B
    if sides and not (len(set(sides)) == 2 and rest & (_BOTH | _TIES | _OF_BOTH)):
        return _verdict_of_side(sides, rest)
    of_both = bool(rest & (_BOTH | _TIES | _OF_BOTH))
    rest -= _BOTH
    if not of_both or not rest <= _TIES | _BAD | _GOOD or (rest & _BAD and rest & _GOOD):
        return None
    return Meaning.BOTH_BAD if rest & _BAD else Meaning.TIE


def _verdict_of_side(sides: list[str], rest: set[str]) -> Meaning | None:
    """Returns the verdict of a phrase that names a response: `A is better`, `B > A`, `左边`."""
    slightly, clearly = bool(rest & _SLIGHTLY), bool(rest & _CLEARLY)
    wins, loses = bool(rest & (_WINS | {">>"})), bool(rest & (_LOSES | {"<<"}))
    unknown = rest - _WINS - _LOSES - _SLIGHTLY - _CLEARLY
    compared = len(set(sides)) == 1 or wins or loses
    if unknown or not compared or (wins and loses) or (slightly and clearly):
        return None
    better = {"A": "B", "B": "A"}[sides[0]] if loses else sides[0]
    return Meaning(better + ("-SLIGHTLY" if slightly else "-CLEARLY" if clearly else ""))


_SCORE: Final = re.compile(r"([1-5])(?:[.,]0+)?(?: ?(?:/ ?5|stars?|points?|分|星|颗星))?")
_SCORE_WORDS: Final[Mapping[str, str]] = {
    word: score
    for score, words in {
        "1": "very dissatisfied,very unsatisfied,非常不满意,很不满意",
        "2": "dissatisfied,unsatisfied,不满意,比较不满意,较不满意",
        "3": "neutral,neither satisfied nor dissatisfied,一般",
        "4": "satisfied,满意,比较满意,较满意",
        "5": "very satisfied,非常满意,很满意",
    }.items()
    for word in words.split(",")
}


@lru_cache(maxsize=1024)
def score_of(word: str) -> Meaning | None:
    """Returns the score from 1 to 5 that a word usually means; None for any other."""
    text = plain(word)
    if is_empty(text):
        return Meaning.NONE
    number = _SCORE.fullmatch(text)
    if number:
        return Meaning(number[1])
    stars = re.fullmatch(r"([★⭐]{1,5})[☆]*", text.replace("\ufe0f", ""))
    if stars:
        return Meaning(str(len(stars[1])))
    return Meaning(_SCORE_WORDS[text]) if text in _SCORE_WORDS else None


_YES: Final = _words("1 1.0 true t yes y x ✓ ✔ √ 是 对 真 有")
_NO: Final = _words("0 0.0 false f no n - 否 不 不是 假 无")


def yes_of(word: str) -> Meaning | None:
    """Returns yes or no; an empty cell is no."""
    text = plain(word)
    if is_empty(text) or text in _NO:
        return Meaning.NO
    return Meaning.YES if text in _YES else None


_STRENGTHS: Final[Mapping[str, Meaning]] = {
    **dict.fromkeys(("1", "1.0", "slight", *_SLIGHTLY, "轻微"), Meaning.SLIGHTLY),
    **dict.fromkeys(("2", "2.0", "clear", "strong", *(_CLEARLY - {">>", "<<"})), Meaning.CLEARLY),
    **dict.fromkeys(("0", "0.0", "none", "tie", "equal", "无"), Meaning.NONE),
}


def strength_of(word: str) -> Meaning | None:
    """Returns how much better the better response is."""
    text = plain(word).removesuffix(" better")
    return Meaning.NONE if is_empty(text) else _STRENGTHS.get(text)


_ROLES: Final[Mapping[str, Meaning]] = {
    word: role
    for role, words in {
        Meaning.USER: "user human customer client usr prompter seeker 用户 客户 人 人类 顾客",
        Meaning.ASSISTANT: "assistant bot gpt ai chatbot agent model chatgpt supporter "
        "助手 机器人 模型 客服 助理",
        Meaning.SYSTEM: "system developer 系统",
    }.items()
    for word in words.split()
}


def role_of(word: str) -> Meaning | None:
    """Returns who wrote a message."""
    return _ROLES.get(plain(word))


def reason_of(word: str) -> str:
    """Returns a reason for a low score as it is stored, or the word itself."""
    text = word.strip()
    if is_empty(text):
        return ""
    known = {plain(name): reason for name, reason in REASONS.items()}
    known |= {plain(reason.label): reason for reason in Reason}
    return str(known.get(plain(text), text.replace(" ", "_")))


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The meanings that a column's values can have, and the usual words for them."""

    read: Callable[[str], Meaning | None]
    meanings: tuple[Meaning, ...]


_BETTER: Final = (
    Meaning.A,
    Meaning.B,
    Meaning.TIE,
    Meaning.BOTH_BAD,
    Meaning.A_SLIGHTLY,
    Meaning.A_CLEARLY,
    Meaning.B_SLIGHTLY,
    Meaning.B_CLEARLY,
    Meaning.NAME,
    Meaning.NONE,
    Meaning.SKIP,
)
_SCORES: Final = (
    Meaning.SCORE_1,
    Meaning.SCORE_2,
    Meaning.SCORE_3,
    Meaning.SCORE_4,
    Meaning.SCORE_5,
    Meaning.NONE,
    Meaning.SKIP,
)
VERDICTS: Final = Vocabulary(verdict_of, _BETTER)
SCORES: Final = Vocabulary(score_of, _SCORES)
_YES_OR_NO: Final = Vocabulary(yes_of, (Meaning.YES, Meaning.NO, Meaning.SKIP))
_VOCABULARIES: Final[Mapping[str, Vocabulary]] = {
    "verdict": VERDICTS,
    "score": SCORES,
    "strength": Vocabulary(
        strength_of, (Meaning.SLIGHTLY, Meaning.CLEARLY, Meaning.NONE, Meaning.SKIP)
    ),
    "both_bad": _YES_OR_NO,
    "wins_a": _YES_OR_NO,
    "wins_b": _YES_OR_NO,
    "wins_tie": _YES_OR_NO,
    "wins_both_bad": _YES_OR_NO,
    "role": Vocabulary(role_of, (Meaning.USER, Meaning.ASSISTANT, Meaning.SYSTEM)),
}


def vocabulary_of(key: str, *, pairs: bool) -> Vocabulary | None:
    """Returns the vocabulary of a column by its key; None if its values are texts or names."""
    if key == "gold":
        return VERDICTS if pairs else SCORES
    return VERDICTS if key.startswith(VERDICT_OF) else _VOCABULARIES.get(key)


VALUED: Final = (*_VOCABULARIES, "gold")
"""The keys whose values can be given a meaning; `verdict` speaks for all columns of verdicts."""


def meaning_of(means: Means, key: str, word: str) -> Meaning | None:
    """Returns the meaning that somebody chose for a value, if anybody did."""
    chosen = means.get("verdict" if key.startswith(VERDICT_OF) else key)
    return chosen.get(plain(word)) if chosen else None


LEFT_OUT: Final = gettext_noop("left out by the meaning chosen for one of its values")
"""Why a row is skipped that has a value which means SKIP."""
