"""What came of a replay: the scores of all answers on every scale, and the figures of them."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from django.db import transaction
from django.utils import timezone

from annotation.core.choices import JudgmentStatus
from annotation.core.intervals import DEFAULT_DRAWS, Interval, ends
from annotation.core.significance import holm
from annotation.models import Turn
from benchmark.core.replay import (
    Grouping,
    Paired,
    Replayed,
    ReplayScale,
    ScoredAnswer,
    compare,
    difference,
    intervals,
    on_scale,
    paper_user_interval,
    summarise,
)
from benchmark.models import ReplayAnswer, VerificationReport
from benchmark.queries.replay import KIND
from judging.core.calibration import LEVELS, Calibrated
from judging.models import JudgeRun, LearnedModel, UserMemory
from judging.queries.runs import score_rows
from judging.queries.satisfaction.blocks import gold_ratings
from judging.services.satisfaction import history_counts

CONTROL: Final = ""
"""The name of the originals among the candidates."""
_CHUNK: Final = 1000


class Item(NamedTuple):
    """A turn in a user's stead, with its original response."""

    user: int
    turn_id: int
    response_id: int


class CandidateAnswers(NamedTuple):
    """A candidate with its response to each turn that it answered.

    `context` is "" where its responses were there; `generated` is the run that made them.
    """

    name: str
    model: str
    context: str
    generated: int | None
    responses: Mapping[int, int]


def keep_replay(
    run: JudgeRun,
    scoring: JudgeRun,
    *,
    items: Sequence[Item],
    candidates: Sequence[CandidateAnswers],
    left_out: Sequence[Mapping[str, Any]],
    pulse: Callable[[], None],
) -> None:
    """Write the scores of all answers and the figures; doing it twice leaves the same.

    Args:
        run: the replay.
        scoring: the finished run that scored all answers.
        items: the turns that were replayed.
        candidates: who answered them.
        left_out: who did not, and why; a candidate of whom nothing was scored joins them.
        pulse: called between the steps.
    """
    answers = _answers(run, scoring, items=items, candidates=candidates)
    pulse()
    turns = Turn.objects.filter(session__dataset=run.dataset_id)
    scenarios = dict(turns.values_list("pk", "session__scenario__name"))
    said = [one for one in answers[CONTROL] if one.stated is not None]
    known = {one.name: (one.model, one.context) for one in candidates}
    rows = _rows(answers, scenarios, known, asked=len(items), seed=run.config["seed"], pulse=pulse)
    counts = Counter(one.stated for one in said)
    unscored = [
        {"candidate": name, "code": "replay:not-scored", "detail": "", "run": scoring.pk}
        for name, own in answers.items()
        if not own and name != CONTROL
    ]
    with transaction.atomic():
        ReplayAnswer.objects.filter(run=run).delete()
        for each in answers.values():
            ReplayAnswer.objects.bulk_create(each, batch_size=_CHUNK)
        VerificationReport.objects.update_or_create(
            run=run,
            kind=KIND,
            defaults={
                "dataset": run.dataset,
                "created_at": timezone.now(),
                "settings": {
                    "evaluator": evaluator_facts(scoring),
                    "evaluator_name": run.config["evaluator"],
                    "items": run.config["items"],
                    "replayed": len(items),
                    "users": len({one.user for one in items}),
                    "seed": run.config["seed"],
                    "draws": DEFAULT_DRAWS,
                    "scoring": scoring.pk,
                    "generated": {one.name: one.generated for one in candidates},
                    "left_out": [*left_out, *unscored],
                    "stated": [counts[score] for score in range(1, LEVELS + 1)],
                },
                "rows": rows,
            },
        )


def computed_again(report: VerificationReport) -> list[dict[str, Any]]:
    """The rows of a replay's report, from the scores of answers as they are stored now."""
    answers: dict[str, list[ReplayAnswer]] = {CONTROL: []}
    for one in ReplayAnswer.objects.filter(run=report.run_id).order_by("pk"):
        answers.setdefault(one.candidate, []).append(one)
    turns = Turn.objects.filter(session__dataset=report.dataset_id)
    return _rows(
        answers,
        dict(turns.values_list("pk", "session__scenario__name")),
        {
            row["candidate"]: (row["model"], row["context"])
            for row in report.rows
            if row["table"] == "scores"
        },
        asked=report.settings["replayed"],
        seed=report.settings["seed"],
        pulse=lambda: None,
    )


def _rows(
    answers: Mapping[str, Sequence[ReplayAnswer]],
    scenarios: Mapping[int, str],
    known: Mapping[str, tuple[str, str]],
    *,
    asked: int,
    seed: int,
    pulse: Callable[[], None],
) -> list[dict[str, Any]]:
    """Scores and pairs on every scale; `known` has the model and context of each candidate."""
    said = [one for one in answers[CONTROL] if one.stated is not None]
    rows: list[dict[str, Any]] = []
    for scale in ReplayScale:
        scored = {name: _replayed(own, _COLUMNS[scale], scenarios) for name, own in answers.items()}
        found = [*_score_rows(scale, scored, seed=seed, pulse=pulse)]
        if said:
            stated = _scores(_replayed(said, "stated", scenarios), scale, seed=seed)
            found.insert(1, {**found[0], "role": "stated", **stated})
        found += _pair_rows(scored, seed=seed, pulse=pulse)
        rows += [{"scale": scale.value, **one} for one in found]
    for row in rows:
        if row["table"] == "scores":
            own = answers[row["candidate"]]
            row["model"], row["context"] = known.get(row["candidate"], ("", ""))
            row["missing"] = asked - row["items"]
            is_said = row["role"] == "stated"
            row["fallbacks"] = 0 if is_said else sum(bool(one.fallback) for one in own)
    return rows


def evaluator_facts(scoring: JudgeRun) -> dict[str, Any]:
    """What makes an evaluator the same one: its version, prompts and memories, as digests.

    The cut points of the learned one are part of its numbers, which `version` counts.
    """
    model = scoring.learned_model
    used = score_rows(scoring.pk).exclude(memory=None).values("memory")
    memories = UserMemory.objects.filter(pk__in=used).order_by("user", "target_scenario")
    texts = list(memories.values_list("user", "target_scenario", "statistics", "texts"))
    own = ("judge", "writer", "variant", "prompts", "ratings")
    config = {name: scoring.config[name] for name in own if name in scoring.config}
    return {
        "judge": scoring.judge,
        "writer": scoring.writer,
        "variant": scoring.config.get("variant", ""),
        "configuration": _digest(config),
        "version": None if model is None else model.version,
        "numbers": "" if model is None else _digest_of(model),
        "memories": len(texts),
        "memories_digest": _digest(texts) if texts else "",
    }


def _digest(value: object) -> str:
    """SHA-256 of a value as Python writes it, hexadecimal, its first 16 digits."""
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def _digest_of(model: LearnedModel) -> str:
    return hashlib.sha256(bytes(model.artefact)).hexdigest()[:16]


def _scored_rows(scoring: JudgeRun) -> Iterator[dict[str, Any]]:
    """Every scored response of a run with its place."""
    done = score_rows(scoring.pk).filter(status=JudgmentStatus.DONE, response__isnull=False)
    place = "response__turn__session"
    fields = (
        "pk",
        "user",
        "response",
        "response__original",
        "score",
        "expected_score",
        f"{place}__scenario",
        f"{place}__key",
        "response__turn__position",
    )
    for row in done.order_by("pk").values(*fields):
        session, position = row[f"{place}__key"], row["response__turn__position"]
        yield {
            **row,
            "scenario": row[f"{place}__scenario"],
            "said": ScoredAnswer(
                f"{session}__turn_{position}", row["score"], row["expected_score"]
            ),
        }


def _answers(
    run: JudgeRun,
    scoring: JudgeRun,
    *,
    items: Sequence[Item],
    candidates: Sequence[CandidateAnswers],
) -> dict[str, list[ReplayAnswer]]:
    """By candidate, the control first, what was scored of it, on every scale."""
    found = {(row["user"], row["response"]): row for row in _scored_rows(scoring)}
    originals: dict[tuple[int, int], list[ScoredAnswer]] = defaultdict(list)
    for each in found.values():
        if each["response__original"]:
            originals[each["user"], each["scenario"]].append(each["said"])
    histories = history_counts(scoring)
    gold = gold_ratings(dataset_id=run.dataset_id)
    given: dict[str, Mapping[int, int]] = {CONTROL: {one.turn_id: one.response_id for one in items}}
    given |= {one.name: one.responses for one in candidates}
    answers: dict[str, list[ReplayAnswer]] = {}
    for name, responses in given.items():
        blocks: dict[tuple[int, int], list[tuple[Item, Mapping[str, Any]]]] = defaultdict(list)
        for item in items:
            scored = found.get((item.user, responses.get(item.turn_id, 0)))
            if scored is not None:
                blocks[item.user, scored["scenario"]].append((item, scored))
        answers[name] = []
        for block, own in blocks.items():
            said = [row["said"] for _item, row in own]
            history = histories.get(block, (0,) * LEVELS)
            scales = {
                scale: on_scale(scale, said, originals=originals[block], history=history)
                for scale in ReplayScale
            }
            for at, (item, row) in enumerate(own):
                calibrated: Calibrated = scales[ReplayScale.CALIBRATED][at]
                stated = gold.get((item.user, item.response_id)) if name == CONTROL else None
                answers[name].append(
                    ReplayAnswer(
                        run=run,
                        candidate=name,
                        user_id=item.user,
                        turn_id=item.turn_id,
                        response_id=row["response"],
                        judgment_id=row["pk"],
                        score=row["score"],
                        expected=row["expected_score"],
                        calibrated=calibrated.score,
                        paper=scales[ReplayScale.PAPER][at].score,
                        fallback=calibrated.fallback or "",
                        stated=None if stated is None else stated[0],
                    )
                )
    return answers


_COLUMNS: Final = {
    ReplayScale.CALIBRATED: "calibrated",
    ReplayScale.RAW: "score",
    ReplayScale.PAPER: "paper",
}


def _replayed(
    answers: Sequence[ReplayAnswer], column: str, scenarios: Mapping[int, str]
) -> list[Replayed]:
    return [
        Replayed(
            f"{one.user_id}/{one.turn_id}",
            str(one.user_id),
            scenarios[one.turn_id],
            getattr(one, column),
        )
        for one in answers
    ]


def _score_rows(
    scale: ReplayScale,
    answers: Mapping[str, Sequence[Replayed]],
    *,
    seed: int,
    pulse: Callable[[], None],
) -> Iterator[dict[str, Any]]:
    """A row for everybody of whom something was scored."""
    for name, own in answers.items():
        if own:
            role = "control" if name == CONTROL else "candidate"
            found = _scores(own, scale, seed=seed)
            yield {"table": "scores", "role": role, "candidate": name, **found}
            pulse()


def _pair_rows(
    answers: Mapping[str, Sequence[Replayed]], *, seed: int, pulse: Callable[[], None]
) -> Iterator[dict[str, Any]]:
    """A row for every candidate beside every other, and beside the originals."""
    for reference, theirs in answers.items():
        pairs = [
            {"candidate": name, **_pair(own, theirs, seed=seed)}
            for name, own in answers.items()
            if name not in (CONTROL, reference) and _share_items(own, theirs)
        ]
        adjusted = holm([pair["raw_p"] for pair in pairs])
        for pair, p in zip(pairs, adjusted, strict=True):
            yield {"table": "pairs", "reference": reference, **pair, "p": p}
        pulse()


def _scores(answers: Sequence[Replayed], scale: ReplayScale, *, seed: int) -> dict[str, Any]:
    found, known = summarise(answers), intervals(answers, seed=seed)
    if scale is ReplayScale.PAPER:
        known["user"] = paper_user_interval(answers)
    means = {"micro": found.micro, **{by.lower(): mean for by, mean in found.macro.items()}}
    return {
        "items": len(answers),
        "users": found.groups[Grouping.USER],
        "means": {name: _figure(mean, known[name]) for name, mean in means.items()},
        "satisfied": _figure(found.satisfied, known["satisfied"]),
        "counts": list(found.counts),
        "scenarios": dict(found.scenarios),
    }


def _figure(value: float, interval: Interval | None) -> dict[str, float | None]:
    return {"value": value, **ends(interval)}


def _share_items(first: Sequence[Replayed], second: Sequence[Replayed]) -> bool:
    return not {one.item for one in first}.isdisjoint(one.item for one in second)


def _pair(
    candidate: Sequence[Replayed], reference: Sequence[Replayed], *, seed: int
) -> dict[str, Any]:
    found = compare(candidate, reference)
    gain = difference(candidate, reference, seed=seed)
    return {
        "outcomes": {
            "micro": _outcomes(found.micro),
            **{by.lower(): _outcomes(paired) for by, paired in found.macro.items()},
        },
        "gain": _figure(gain.value, gain.interval),
        "raw_p": gain.p,
    }


def _outcomes(paired: Paired) -> list[float]:
    return [paired.wins, paired.ties, paired.losses, paired.mean_delta]
