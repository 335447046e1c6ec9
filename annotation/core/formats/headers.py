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
KEYS: Final = tuple(dict.fromkeys((*PAIR_KEYS, *RATING_KEYS)))
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
        "annotator": "annotator,rater,labeller,labeler,evaluator,worker,user,标注者,标注员,评分者",
        "verdict": "verdict,better,winner,preference,preferred,choice,label,best,chosen,"
        "better answer,better response,better one,which is better,更好,胜者,选择,偏好",
        "comment": "comment,comments,note,notes,remark,remarks,rationale,explanation,评论,备注",
        "scenario": "scenario,topic,category,task,domain,subject,场景,类别,主题",
        "session": "session,session id,conversation,conversation id,会话",
        "system_prompt": "system prompt,system,system message,系统提示",
        "response": "response,answer,output,reply,completion,回答,回复,答案",
        "model": "model,generator,model name,模型",
        "score": "score,rating,satisfaction,stars,grade,评分,分数,满意度",
        "reason": "reason,原因",
        "gold": "gold,gold answer,gold label,gold verdict,gold score,ground truth,金标,标准答案",
        "gold_reason": "gold reason,gold rationale,gold explanation",
    }.items()
    for word in words.split(",")
}


def are_pairs(keys: Collection[str]) -> bool:
    """Whether a table with columns for these keys holds pairs, not ratings."""
    return "text_a" in keys or "text_b" in keys or not ("response" in keys or "score" in keys)


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
    pairs = "text_a" in found and "text_b" in found
    kind = PAIR_KEYS if pairs or "response" not in found else RATING_KEYS
    return {
        key: place
        for key, place in found.items()
        if key in kind or (kind is PAIR_KEYS and key.startswith(VERDICT_OF))
    }


def _guess(name: str) -> str:
    for key, pattern in _SIDES.items():
        side = pattern.fullmatch(name)
        if side:
            return f"{key}_{'a' if side[1] in 'a1' else 'b'}"
    return _GUESSES.get(name, "")


def _plain(name: str) -> str:
    """A header without its case and punctuation."""
    return " ".join(re.sub(r"[\W_]+", " ", name.casefold()).split())
