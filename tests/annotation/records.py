"""Rows of the project's own format, and how tests import them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from annotation.services.imports import ImportReport, import_records

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
LATER = datetime(2026, 2, 1, 12, tzinfo=UTC)


def write(path, rows):
    """A JSONL file of rows."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def import_rows(tmp_path, *rows: dict[str, Any], dataset="data", **options: Any) -> ImportReport:
    """Import rows, as a file of them would be."""
    options.setdefault("now", NOW)
    path = write(tmp_path / "rows.jsonl", rows)
    return import_records(path=path, dataset_slug=dataset, **options)


def pair(**more: Any) -> dict[str, Any]:
    """A comparison of two answers to one prompt, labelled by `ann`."""
    row = {
        "type": "pair",
        "scenario": "s",
        "prompt": "p",
        "model_a": "m",
        "text_a": "1",
        "model_b": "n",
        "text_b": "2",
        "annotator": "ann",
        "verdict": "A",
        **more,
    }
    return {key: value for key, value in row.items() if value is not ...}


def rated(**more: Any) -> dict[str, Any]:
    """A conversation of `User_1` with one rated answer."""
    answer = {"model": "m", "text": "A", "original": True}
    rating = {"annotator": "User_1", "score": 3, "reason": "UNUSABLE", "hallucination": "NO"}
    return {
        "type": "session",
        "key": "k",
        "scenario": "s",
        "user": "User_1",
        "task_context": "a trip",
        "profile": {"age": 20, "personality": ["calm"], "background": "x", "mbti": "INTJ"},
        "turns": [{"user": "a", "responses": [{**answer, "satisfaction": [rating]}]}],
        "questionnaires": [{"annotator": "User_1", "answers": [{"query": "q", "option": "yes"}]}],
        **more,
    }


def everything() -> list[dict[str, Any]]:
    """A dataset that uses every field there is."""
    given = {
        "study": "pilot",
        "repeat": 1,
        "comment": "=1+1",
        "given_at": "2026-01-02T03:04:05.678901+00:00",
        "active_seconds": 0.0,
        "idle_seconds": 2.5,
        "input_device": "keys",
        "edits": 2,
        "guidelines_version": 3,
        "app_version": "0.1",
        "extra": {"why": ["x"]},
    }
    verdicts = [
        {"annotator": "ann", "verdict": "B", "strength": 2, "shown_order": "SWAPPED", **given},
        {"annotator": "ann", "verdict": "TIE", "both_bad": True},
        {"annotator": "bob", "verdict": "A"},
    ]
    ratings = [
        {"annotator": "User_1", "score": 2, "reason": "OTHER", "hallucination": "UNSURE", **given},
        {"annotator": "bob", "score": 5},
        {"annotator": "ann", "score": 1},
    ]
    first = [
        {"id": "x", "model": "m", "text": "A", "original": True, "satisfaction": ratings},
        {"id": "y", "model": "n", "text": "", "extra": {"tokens": 0}, "gold": [{"score": 4}]},
    ]
    second = [
        {"model": "m", "text": "A2", "continues": "x"},
        {"model": "n", "text": "B2", "continues": "y", "variant": "memory"},
        {"model": "n", "text": None},
    ]
    comparisons = [
        {
            "key": "later",
            "a": "1",
            "b": "0",
            "position": 7,
            "extra": {"idx": 4},
            "labels": verdicts,
            "gold": [{"source": "MANAGER", "verdict": "B", "rationale": "shorter"}],
        },
        {"a": "0", "b": "2", "position": 3, "labels": verdicts[1:2]},
    ]
    return [
        {
            "type": "dataset",
            "name": "Everything",
            "description": "d",
            "source": "s",
            "licence": "CC0-1.0",
            "simulated": True,
            "extra": {"url": "u"},
        },
        rated(
            system_prompt="be kind",
            language="zh",
            extra={"strategy": [1]},
            turns=[
                {"user": "a", "responses": first},
                {"user": "b", "responses": second, "comparisons": comparisons},
                {"user": None, "responses": [{"text": "more", "original": True}]},
                {"user": "nobody answers"},
            ],
            satisfaction=[{"annotator": "ann", "score": 4}],
            gold=[{"source": "ADJUDICATION", "score": 5, "rationale": "r"}],
        ),
        pair(scenario="t", position=0),
        pair(scenario="t", text_b=None, position=1, annotator="bob", verdict="TIE"),
    ]
