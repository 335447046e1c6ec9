"""Small rated datasets: people who rate turns, or whole conversations, in several scenarios."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.models import Dataset, Response, SatisfactionLabel, Scenario, Turn, User
from annotation.models.data import text_hash
from tests.factory import make_dataset, make_rater, make_scenario, make_session

WORDS = {
    "en": ("Where to go, {name}?", "Go to the {name} by train. "),
    "zh": ("{name}，去哪里好？", "坐火车去{name}。"),
}
REASONS = {1: "UNUSABLE", 2: "REQUIREMENT_UNMET", 3: "INSUFFICIENT_DETAIL"}


def make_ratings(
    *,
    people: int = 4,
    scenarios: int = 2,
    turns: int = 5,
    language: str = "en",
    sessions: bool = False,
    dataset: Dataset | None = None,
) -> Dataset:
    """Everybody holds one session in each scenario and rates its turns 1 to 5, in another order.

    With `sessions` there are `turns` sessions of one turn instead, each rated as a whole.
    """
    dataset = dataset or make_dataset()
    kinds = [make_scenario(dataset, name=f"kind {at}", position=at) for at in range(scenarios)]
    rows = [
        row
        for person in range(people)
        for rater in [make_rater(dataset, f"p{person}")]
        for at, scenario in enumerate(kinds)
        for row in _rated(rater, scenario, person + at, turns, language, whole=sessions)
    ]
    Turn.objects.bulk_create([response.turn for response, _ in rows])
    Response.objects.bulk_create([response for response, _ in rows])
    SatisfactionLabel.objects.bulk_create([label for _, label in rows])
    return dataset


def _rated(
    rater: User, scenario: Scenario, shift: int, turns: int, language: str, *, whole: bool
) -> Iterator[tuple[Response, SatisfactionLabel]]:
    """What was said in one scenario and its rating, of which only the sessions are saved."""
    asked, said = WORDS[language]
    session = None
    for place in range(turns):
        if session is None or whole:
            session = make_session(
                scenario,
                key=f"{rater.username} {scenario.name} {place}",
                original_user=rater,
                language=language,
                task_context=f"{rater.display_name} in {scenario.name}",
                profile_snapshot={"age": "30"},
            )
        name = f"{rater.display_name} {scenario.name} {place}"
        position = 0 if whole else place
        turn = Turn(session=session, position=position, user_message=asked.format(name=name))
        text = said.format(name=name) * (1 + 3 * ((place + shift) % 5))
        response = Response(
            turn=turn,
            position=0,
            text=text,
            text_hash=text_hash(text),
            original=True,
            model="bot",
        )
        score = 1 + (place + shift) % 5
        target = {"session": session} if whole else {"response": response}
        yield (
            response,
            SatisfactionLabel(**target, annotator=rater, score=score, reason=REASONS.get(score)),
        )
