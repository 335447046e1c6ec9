"""The keys of a table's columns, and which column is probably what by its header."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

PAIR_KEYS: Final = (
    "prompt",
    "text_a",
    "text_b",
    "model_a",
    "model_b",
    "annotator",
    "verdict",
    "strength",
    "both_bad",
    "wins_a",
    "wins_b",
    "wins_tie",
    "wins_both_bad",
    "gold",
    "gold_reason",
    "comment",
    "scenario",
    "session",
    "system_prompt",
)
RATING_KEYS: Final = (
    "prompt",
    "response",
    "model",
    "annotator",
    "score",
    "reason",
    "gold",
    "gold_reason",
    "comment",
    "scenario",
    "system_prompt",
)
MESSAGE_KEYS: Final = (
    "session",
    "role",
    "text",
    "model",
    "annotator",
    "score",
    "reason",
    "gold",
    "gold_reason",
    "comment",
    "scenario",
    "system_prompt",
)
KEYS: Final = tuple(dict.fromkeys((*PAIR_KEYS, *RATING_KEYS, *MESSAGE_KEYS)))
WINS: Final = ("wins_a", "wins_b", "wins_tie", "wins_both_bad")
"""Columns of yes and no, of which one says the verdict."""
VERDICT_OF: Final = "verdict:"
"""How the column of one annotator's verdicts begins, before the name."""

_SIDES: Final[Mapping[str, re.Pattern[str]]] = {
    "text": re.compile(
        r"(?:(?:text|answer|response|output|reply|completion|candidate|option|回答|回复|答案) ?"
        r"(?=[ab12])|(?=[ab]))([ab12])"
    ),
    "model": re.compile(r"(?:model|generator|system|assistant|模型) ?([ab12])"),
}
_GUESSES: Final[Mapping[str, str]] = {
    word: key
    for key, words in {
        "prompt": "prompt,question,instruction,query,input,request,user message,问题,提示,指令",
        "annotator": "annotator,rater,labeller,labeler,evaluator,worker,user,"
        "标注者,标注员,标注人,标注人员,评分者,评分人,评价者,评价人,评审,评审员,评审人,评估者,评估人,打分人",
        "verdict": "verdict,vote,judgment,judgement,better,winner,preference,preferred,choice,"
        "label,best,chosen,better answer,better response,better one,which is better,"
        "更好,更好的回答,哪个更好,哪个好,胜者,选择,偏好,判断,结果,"
        "结论,标注结果,评价结果,评审结果,对比结果,比较结果,判断结果,更好的回复",
        "comment": "comment,comments,note,notes,remark,remarks,rationale,explanation,"
        "评论,备注,理由,说明",
        "scenario": "scenario,topic,category,task,domain,subject,场景,类别,主题",
        "session": "session,session id,conversation,conversation id,dialogue id,dialog id,"
        "thread,thread id,chat id,会话,对话,对话编号,会话编号",
        "system_prompt": "system prompt,system,system message,系统提示",
        "strength": "strength,preference strength,degree,how much better,强度,程度",
        "both_bad": "both bad,bothbad,both are bad,all bad,两个都差,都差,都不好",
        "wins_tie": "winner tie,tie,is tie,tied,ties,平局,不相上下",
        "wins_both_bad": "winner tie bothbad,winner both bad,winner bothbad,tie bothbad,"
        "tie both bad",
        "role": "role,speaker,sender,from,turn by,角色,说话人,发言者,发言人",
        "text": "text,content,message,utterance,body,value,消息,内容,文本,发言",
        "response": "response,answer,output,reply,completion,回答,回复,答案",
        "model": "model,generator,model name,模型",
        "score": "score,rating,satisfaction,stars,grade,评分,分数,打分,得分,满意度",
        "reason": "reason,原因",
        "gold": "gold,gold answer,gold label,gold verdict,gold score,ground truth,金标,标准答案",
        "gold_reason": "gold reason,gold rationale,gold explanation",
    }.items()
    for word in words.split(",")
}
_WINNING: Final = {"winner", "win", "wins", "won", "better", "preferred", "prefer", "prefers"}
_BESIDE: Final = {"is", "the", "model", "response", "answer", "option"}


def kind_of(keys: Collection[str]) -> Sequence[str]:
    """Returns the keys of the tables that have columns for these: pairs, ratings or messages."""
    if "text_a" in keys or "text_b" in keys:
        return PAIR_KEYS
    if "response" in keys:
        return RATING_KEYS
    if "role" in keys or "text" in keys:
        return MESSAGE_KEYS
    return RATING_KEYS if "score" in keys else PAIR_KEYS


def exact_keys(header: Sequence[str]) -> dict[str, list[int]]:
    """The places of columns whose headers are keys, whatever their case and punctuation."""
    found: dict[str, list[int]] = {}
    for place, name in enumerate(header):
        key = _plain(name).replace(" ", "_")
        if name.strip().lower().startswith(VERDICT_OF):
            found.setdefault(VERDICT_OF + name.partition(":")[2].strip(), []).append(place)
        elif key in KEYS:
            found.setdefault(key, []).append(place)
    return found


def guess(header: Sequence[str]) -> dict[str, int]:
    """Which column is probably what, by common headers; each key once, the first column first."""
    found: dict[str, int] = {}
    for place, name in enumerate(header):
        key = next(iter(exact_keys([name])), "") or _guess(_plain(name))
        if key:
            found.setdefault(key, place)
    kind = _kind_of_guesses(found)
    named = any(key == "verdict" or key.startswith(VERDICT_OF) for key in found)
    one_hot = {"wins_a", "wins_b"} <= found.keys() and not named
    return {
        key: place
        for key, place in found.items()
        if (key in kind and (one_hot or key not in WINS))
        or (kind is PAIR_KEYS and key.startswith(VERDICT_OF))
    }


def _kind_of_guesses(found: Collection[str]) -> Sequence[str]:
    if {"session", "role", "text"} <= set(found):
        return MESSAGE_KEYS
    pairs = "text_a" in found and "text_b" in found
    return PAIR_KEYS if pairs or "response" not in found else RATING_KEYS


def _guess(name: str) -> str:
    for key, pattern in _SIDES.items():
        side = pattern.fullmatch(name)
        if side:
            return f"{key}_{'a' if side[1] in 'a1' else 'b'}"
    return _GUESSES.get(name) or _wins(set(name.split()))


def _wins(words: set[str]) -> str:
    """Returns the key of a header such as `winner model a` or `b is better`; or nothing."""
    sides = words & set("ab12")
    if len(sides) != 1 or not words & _WINNING or words - sides - _WINNING - _BESIDE:
        return ""
    return "wins_a" if sides & set("a1") else "wins_b"


def _plain(name: str) -> str:
    """A header without its case and punctuation."""
    return " ".join(re.sub(r"[\W_]+", " ", name.casefold()).split())
