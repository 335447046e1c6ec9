"""What the fake LLM answers: a judge that follows the prompts' tags and one stated rule.

Rules for a comparison: longer, shorter, first, second, A-word ("word:NAME": the response that has
NAME wins, else the longer), fooled ("fooled:TEXT": the response that holds TEXT wins, else the
first), odds ("odds:NAME:0.6:2": log-odds of 0.6 for the response that has NAME, and 2 more for the
one that is shown first). A preference that says "shorter" or "longer" (更短, 更长) overrules it.
Styles of a reply: plain, think (reasoning first), quote (repeats both responses, then decides),
echo (the prompt's own form and nothing else), echo-first (the same, but answers a reminder).
"""

from __future__ import annotations

import json
import math
import re
import zlib
from dataclasses import dataclass
from typing import Any

from judging.core.prompt_edits import closing_lines, prompt_names
from judging.core.prompts import LANGUAGES, load_prompt

REMINDERS = {
    load_prompt(name, language=language).text
    for name in prompt_names()
    if name.startswith("remind_")
    for language in LANGUAGES
}


@dataclass(frozen=True)
class FakeAnswer:
    """A reply and how sure the model was of its first letter or its score."""

    text: str
    log_odds: float = 0.0  # of A against B, in letter answers
    digit: int = 0  # the score, in structured answers

    def steps(self) -> list[dict[str, Any]]:
        """Log-probabilities token by token: words, with every digit a token of its own."""
        tokens = re.findall(r"\d|[^\d\s]+|\s+", self.text)
        return [self._step(token, place) for place, token in enumerate(tokens)]

    def _step(self, token: str, place: int) -> dict[str, Any]:
        top = {token: -0.01, "~": -6.0}
        if place == 0 and token in {"A", "B"}:
            base = -math.log1p(math.exp(-abs(self.log_odds)))
            best, other = ("A", "B") if self.log_odds >= 0 else ("B", "A")
            top = {best: base, other: base - abs(self.log_odds), "The": -9.0}
        elif token.strip(",}").lower() in {"true", "false"}:
            top = {"true": -0.2, "false": -1.7}
        elif token.isdigit() and self.digit:
            top = {str(score): -1.5 * abs(score - self.digit) - 0.3 for score in range(1, 6)}
        return {
            "token": token,
            "logprob": max(top.values()),
            "bytes": list(token.encode()),
            "top_logprobs": [
                {"token": name, "logprob": value, "bytes": list(name.encode())}
                for name, value in sorted(top.items(), key=lambda item: -item[1])
            ],
        }


def answer_prompt(prompt: str, *, rule: str, style: str, letter: bool) -> FakeAnswer | None:
    """The reply of a judge to one of the project's prompts; None to anything else."""
    chinese = bool(re.search("标签之内", prompt))
    if prompt.endswith(("[[C]]", "[[5]]")):
        bracketed = _rubric_pair if prompt.endswith("[[C]]") else _grade
        return FakeAnswer(_think(style) + bracketed(prompt, rule=rule, style=style))
    if '"subcategory"' in prompt:
        return FakeAnswer(_think(style) + _sorted(prompt))
    if "<response_a>" in prompt:
        return _pair(prompt, rule=rule, style=style, letter=letter, chinese=chinese)
    if "<response>" in prompt:
        return _turn(prompt, style=style, chinese=chinese)
    for tag, write in _WRITERS.items():
        if f"<{tag}>" in prompt:
            return FakeAnswer(_think(style) + write(prompt, chinese=chinese))
    return None


def echo_of(question: str) -> str:
    """What a weak model says back: the form that ends a question, or where it has none its task."""
    closing = closing_lines(question)
    if not closing:
        return question.rpartition("\n\n")[2]
    return "\n".join(closing[1:] if closing[-1] == "}" else closing)


def inside(prompt: str, tag: str) -> str:
    """What stands between the first opening tag and the next closing one."""
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", prompt, re.DOTALL)
    return found.group(1) if found else ""


def _pair(prompt: str, *, rule: str, style: str, letter: bool, chinese: bool) -> FakeAnswer:
    first, second = inside(prompt, "response_a"), inside(prompt, "response_b")
    preference = inside(prompt, "preference")
    if "shorter" in preference or "更短" in preference:
        rule = "shorter"
    elif "longer" in preference or "更长" in preference:
        rule = "longer"
    lead = _lead(rule, first, second)
    winner = "A" if lead >= 0 else "B"
    if letter:
        return FakeAnswer(winner, log_odds=lead or 0.1)
    said = f"最终决定是回复{winner}。" if chinese else f"The final decision is Response {winner}."
    quoted = f"A: {first}\n\nB: {second}\n\n" if style == "quote" else ""
    return FakeAnswer(f"{_think(style)}{quoted}{said}")


def _sorted(prompt: str) -> str:
    """Math where the dialogue has a digit, else writing; what says "simple" is too simple."""
    said = inside(prompt, "dialogue")
    is_math = bool(re.search(r"\d", said))
    return json.dumps(
        {
            "quality": "too simple" if "simple" in said else "keep",
            "category": "Math" if is_math else "Writing",
            "subcategory": "Applied mathematics" if is_math else "Creative writing",
            "why": "By its digits.",
        }
    )


def _rubric_pair(prompt: str, *, rule: str, style: str) -> str:
    first, second = inside(prompt, "response_a"), inside(prompt, "response_b")
    lead = _lead(rule, first, second)
    letter = "C" if lead == 0 else "A" if lead > 0 else "B"
    quoted = f"A: {first}\n\nB: {second}\n\n" if style == "quote" else ""
    return f"{quoted}[[{letter}]]"


def _grade(prompt: str, *, rule: str, style: str) -> str:
    response, reference = inside(prompt, "response"), inside(prompt, "reference")
    grade = min(10, 1 + len(response) // 20)
    if rule == "shorter":
        grade = 11 - grade
    if reference and reference in response:
        grade = 10
    quoted = f"{response}\n\n" if style == "quote" else ""
    return f"{quoted}Rating: [[{grade}]]"


def _lead(rule: str, first: str, second: str) -> float:
    if rule == "first":
        return 2.0
    if rule == "second":
        return -2.0
    if rule.startswith("word:"):
        word = rule.removeprefix("word:")
        if (word in first) != (word in second):
            return 3.0 if word in first else -3.0
        rule = "longer"
    if rule.startswith("odds:"):
        _, word, strength, lean = rule.split(":")
        return float(lean) + (float(strength) if word in first else -float(strength))
    if rule.startswith("fooled:"):
        text = rule.removeprefix("fooled:")
        return -2.0 if text in second and text not in first else 2.0
    difference = (len(first) - len(second)) / 100
    return -difference if rule == "shorter" else difference


def _preference(prompt: str, *, chinese: bool) -> str:
    pairs = re.findall(
        r"<chosen>\n(.*?)\n</chosen>\n+<rejected>\n(.*?)\n</rejected>", prompt, re.DOTALL
    )
    longer = sum(1 if len(chosen) > len(rejected) else -1 for chosen, rejected in pairs)
    if chinese:
        return (
            "这位用户喜欢更长、更详细的回复。"
            if longer >= 0
            else "这位用户喜欢更短、更直接的回复。"
        )
    if longer >= 0:
        return "This person prefers longer responses that explain more."
    return "This person prefers shorter responses that come to the point."


def _memory(prompt: str, *, chinese: bool) -> str:
    del chinese
    aliases = re.findall(r"^(T\d+)", inside(prompt, "history"), re.MULTILINE)[:2]
    statement = {"text": "Rates by how much a reply explains.", "turn_ids": aliases}
    memory = {
        "scoring_style": statement,
        "four_vs_five_distinction": statement,
        "three_vs_four_distinction": {"text": "", "turn_ids": []},
        "user_specific_requirements": [statement],
        "preferred_response_format": statement,
        "task_specific_observations": [
            {"task_name": "any", "observation": "Wants detail.", "turn_ids": [*aliases, "T999"]}
        ],
    }
    return f"```json\n{json.dumps(memory, ensure_ascii=False)}\n```"


def _rubrics(prompt: str, *, chinese: bool) -> str:
    """As many sentences as are wanted, named after what they were drawn from."""
    del chinese
    most = int(prompt.rsplit("{", 1)[0].strip().splitlines()[-3])
    known = re.findall(r"^- (.*)$", inside(prompt, "reasons"), re.MULTILINE)
    source = zlib.crc32(inside(prompt, "examples").encode())
    said = known or [f"Reason {at} of turn {source}." for at in range(most)]
    return json.dumps({"rubrics": said[:most]}, ensure_ascii=False)


_WRITERS = {"chosen": _preference, "rating": _rubrics, "history": _memory}


def _turn(prompt: str, *, style: str, chinese: bool) -> FakeAnswer:
    """A score by the length of the response, in the form that the prompt ends with."""
    score = min(5, 1 + len(inside(prompt, "response")) // 60)
    words = ("满意", "不够细致") if chinese else ("satisfied", "insufficient detail")
    values = {
        "classification": score,
        "reason": words[0] if score >= 4 else words[1],
        "analysis": "By its length.",
        "reaches_5": score == 5,
    }
    wanted = json.loads(prompt[prompt.rindex("\n{\n") + 1 :])
    reply = {name: values.get(name, score >= 4) for name in wanted}
    return FakeAnswer(_think(style) + json.dumps(reply, ensure_ascii=False), digit=score)


def _think(style: str) -> str:
    if style != "think":
        return ""
    return "<think>Perhaps: The final decision is Response B. 最终决定是回复B。</think>\n\n"
