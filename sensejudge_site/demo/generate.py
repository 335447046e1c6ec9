"""The demo study as rows of the project's own JSONL (docs/formats.md), the same for equal seeds."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Final

from annotation.core.choices import Verdict
from sensejudge_site.demo.annotators import PERSONAS, RATERS, Labeller, Scorer, raters_of
from sensejudge_site.demo.sessions import (
    PLAIN_FLAWS,
    WrittenResponse,
    WrittenSession,
    close_pairs,
    measure,
    written_sessions,
)

SEED: Final = 42
NEWCOMER: Final = "thorough-1"
"""The model whose responses nobody compared: the annotators' judges are to."""

DATASET: Final[Mapping[str, object]] = {
    "type": "dataset",
    "name": "Demo study (simulated)",
    "description": (
        "48 short conversations over eight topics, in English and Chinese, written for SenseJudge. "
        "All labels are simulated by stated rules with noise: no person gave them. The four models "
        f"do not exist; the responses of {NEWCOMER} arrived last, and nobody compared them."
    ),
    "source": "SenseJudge, sensejudge_site/demo",
    "licence": "Apache-2.0",
    "simulated": True,
    "extra": {
        "annotators": {persona.name: persona.rule for persona in PERSONAS},
        "raters": {
            rater.name: {"base": rater.base, "severity": rater.severity, **rater.tastes}
            for rater in RATERS
        },
    },
}

_BEGIN: Final = datetime(2026, 1, 12, 9, 0, tzinfo=UTC)
_WORDS_A_SECOND: Final = 4.0
_PAUSE: Final = timedelta(seconds=5)

Row = Mapping[str, object]


def generate(seed: int = SEED) -> Iterator[Row]:
    """The dataset's row, then one for each conversation with all its simulated labels."""
    sessions = written_sessions()
    yield DATASET
    study = _Study(sessions, seed)
    for session in sessions:
        yield study.row(session)


def write(path: Path, seed: int = SEED) -> None:
    """Write the study as a JSONL file."""
    lines = (json.dumps(row, ensure_ascii=False) for row in generate(seed))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_built_in(path: Path) -> None:
    """Write the built-in pairs as a JSONL file, without any label."""
    rows = [{"type": "dataset", "name": "Built-in pairs", "simulated": True}]
    rows += [_pair_row(session) for session in close_pairs()]
    lines = (json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _pair_row(session: WrittenSession) -> dict[str, object]:
    """A conversation whose last turn has two responses, which are compared."""
    turns: list[dict[str, object]] = [
        {
            "user": turn.user_message,
            "responses": [
                {"id": f"r{place}", "text": each.text, "model": each.model}
                | ({"original": True} if len(turn.responses) == 1 else {})
                for place, each in enumerate(turn.responses)
            ],
        }
        for turn in session.turns
    ]
    turns[-1]["comparisons"] = [{"a": "r0", "b": "r1"}]
    return {
        "type": "session",
        "key": session.key,
        "scenario": session.topic,
        "system_prompt": session.system_prompt,
        "language": session.language,
        "turns": turns,
    }


def _gold(a: WrittenResponse, b: WrittenResponse) -> Row:
    """The gold answer where one response alone has a flaw that is no matter of taste."""
    faulty = {verdict: each for verdict, each in ((Verdict.A, a), (Verdict.B, b)) if each.flaw}
    if len(faulty) != 1:
        return {}
    ((verdict, response),) = faulty.items()
    if response.flaw not in PLAIN_FLAWS:
        return {}
    return {"gold": [{"verdict": verdict.flipped(), "rationale": response.flaw_note}]}


class _Study:
    """The annotators and raters at work on one conversation after the other."""

    def __init__(self, sessions: Sequence[WrittenSession], seed: int) -> None:
        self._random = random.Random(f"{seed}/presentation")
        line = [response for session in sessions for response in session.original_line()]
        self._labellers = {persona.name: Labeller(persona, seed=seed) for persona in PERSONAS}
        self._scorers = {rater.name: Scorer(rater, line, seed=seed) for rater in RATERS}
        self._clocks = dict.fromkeys((*self._labellers, *self._scorers), _BEGIN)
        self._begun: Counter[str] = Counter()

    def row(self, session: WrittenSession) -> Row:
        """A conversation as a `session` line; its user is one of those who rate the topic."""
        raters = raters_of(session.topic)
        owner = raters[self._begun[session.topic] % len(raters)]
        self._begun[session.topic] += 1
        return {
            "type": "session",
            "key": session.key,
            "scenario": session.topic,
            "user": owner.name,
            "system_prompt": session.system_prompt,
            "task_context": session.task_context,
            "language": session.language,
            "profile": dict(owner.profile),
            "extra": {"subcategory": session.subcategory},
            "turns": [self._turn(session, place) for place in range(len(session.turns))],
        }

    def _turn(self, session: WrittenSession, place: int) -> Row:
        """A turn; ids, order and sides tell nothing of who answered."""
        turn = session.turns[place]
        candidates = self._random.sample(turn.responses, len(turn.responses))
        named = {f"r{number}": each for number, each in enumerate(candidates, start=1)}
        row: dict[str, object] = {
            "user": turn.user_message,
            "responses": [self._response(key, each, session) for key, each in named.items()],
        }
        pairs = [self._random.sample(pair, 2) for pair in combinations(named, 2)]
        if pairs:
            row["comparisons"] = [
                {
                    "key": f"{session.key}-{number}",
                    "a": a,
                    "b": b,
                    "labels": self._verdicts(named[a], named[b]),
                    **_gold(named[a], named[b]),
                }
                for number, (a, b) in enumerate(pairs, start=1)
            ]
        return row

    def _response(self, key: str, response: WrittenResponse, session: WrittenSession) -> Row:
        row: dict[str, object] = {"id": key, "text": response.text, "model": response.model}
        if response.flaw is not None:
            row["extra"] = {"flaw": response.flaw, "flaw_note": response.flaw_note}
        if response.model == session.original:
            row["original"] = True
            row["satisfaction"] = [
                self._rating(rater.name, response) for rater in raters_of(session.topic)
            ]
        return row

    def _verdicts(self, a: WrittenResponse, b: WrittenResponse) -> list[Row]:
        labels: list[Row] = []
        if NEWCOMER in {a.model, b.model}:
            return labels
        for name, labeller in self._labellers.items():
            given = labeller.label(a=a.text, b=b.text, model_a=a.model, model_b=b.model)
            labels.append(
                {
                    "annotator": name,
                    "verdict": given.verdict,
                    "shown_order": given.shown_order,
                    **self._timing(name, a.text, b.text),
                }
            )
        return labels

    def _rating(self, name: str, response: WrittenResponse) -> Row:
        given = self._scorers[name].rate(response)
        return {
            "annotator": name,
            "score": given.score,
            "reason": given.reason,
            "hallucination": given.hallucination,
            **self._timing(name, response.text),
        }

    def _timing(self, name: str, *texts: str) -> Row:
        """When a label was given: one after the other, at the pace of reading."""
        seconds = round(sum(measure(text).words for text in texts) / _WORDS_A_SECOND, 1)
        self._clocks[name] += timedelta(seconds=seconds) + _PAUSE
        return {"given_at": self._clocks[name].isoformat(), "active_seconds": seconds}
