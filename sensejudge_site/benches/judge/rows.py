"""A run of so many calls: pairs of some length, each under twelve preferences in both orders."""

from __future__ import annotations

from typing import Final

from annotation.models import Comparison, Dataset, Response, Scenario, Session, Turn
from judging.models import JudgeRun, ModelEndpoint, Preference, PreferenceKind, RunKind
from judging.services.judgments import plan_judgments
from judging.services.preferences import empty_preference

PREFERENCES: Final = 12
CALLS_A_PAIR: Final = 2 * PREFERENCES
_WORDS: Final = "The answer explains what was asked, with a reason, an example and a warning. "
_SENTENCES: Final = 8  # 600 characters a response


def make_run(*, name: str, base_url: str, concurrency: int, calls: int) -> JudgeRun:
    """A run over new pairs, or over those of the same name, with its rows, not dispatched."""
    dataset, made = Dataset.objects.get_or_create(slug=name, defaults={"name": name})
    if made:
        _make_pairs(dataset, name, -(-calls // CALLS_A_PAIR))
    endpoint, _ = ModelEndpoint.objects.update_or_create(
        name="bench",
        defaults={
            "base_url": base_url,
            "model": "bench",
            "concurrency": concurrency,
            "max_tokens": 256,
            "input_price": 1,
            "output_price": 2,
            # Stated: what is measured are the calls of the run.
            "has_logprobs": False,
            "has_json_schema": False,
            "has_system_role": True,
            "measured_address": f"{base_url} bench",
        },
    )
    run = JudgeRun.objects.create(
        kind=RunKind.TEST, dataset=dataset, judge=endpoint.name, endpoint=endpoint
    )
    preferences = [empty_preference().pk, *_preferences(dataset)]
    pairs = Comparison.objects.filter(turn__session__dataset=dataset).order_by("pk")
    plan_judgments(run, ((pair, preferences) for pair in pairs.values_list("pk", flat=True)))
    return run


def _preferences(dataset: Dataset) -> list[int]:
    wanted = [
        Preference(
            dataset=dataset,
            kind=PreferenceKind.GENERIC,
            position=place,
            text=f"Rule {place}: this person likes answers that {_WORDS.lower()}",
            status="DONE",
        )
        for place in range(1, PREFERENCES)
    ]
    found = Preference.objects.filter(dataset=dataset, kind=PreferenceKind.GENERIC)
    if not found.exists():
        Preference.objects.bulk_create(wanted)
    return list(found.order_by("position").values_list("pk", flat=True))


def _make_pairs(dataset: Dataset, name: str, count: int) -> None:
    scenario = Scenario.objects.create(dataset=dataset, name="bench")
    places = range(count)
    sessions = Session.objects.bulk_create(
        Session(dataset=dataset, scenario=scenario, key=f"{name}-{place}", position=place)
        for place in places
    )
    turns = Turn.objects.bulk_create(
        Turn(session=session, position=0, user_message=f"Question {place} of {name}? {_WORDS * 3}")
        for place, session in enumerate(sessions)
    )
    sides = [
        Response.objects.bulk_create(
            Response(
                turn=turn,
                model=side,
                text=f"{side} to {place} of {name}. {_WORDS * _SENTENCES}",
                text_hash=f"{side}{place}",
            )
            for place, turn in enumerate(turns)
        )
        for side in ("first", "second")
    ]
    Comparison.objects.bulk_create(
        Comparison(turn=turn, key=f"{name}-{place}", response_a=a, response_b=b, position=0)
        for place, (turn, a, b) in enumerate(zip(turns, *sides, strict=True))
    )
