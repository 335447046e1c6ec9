"""What the bench stores and counts, run as a process of its own on the scratch database.

`check` refuses a database with people in it; `fill ITEMS LABELS ANNOTATORS` makes a dataset of
synthetic pairs and two studies of all of them, `single` (overlap 1, with the labels) and `triple`
(overlap 3); `count` says what became of them.
Each prints one JSON object.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import timedelta
from itertools import count
from random import Random
from typing import Any, Final, TypeVar
from uuid import uuid4

import django
from django.contrib.auth.hashers import make_password
from django.db import connection, transaction
from django.db.models import Count, F, Model, Q
from django.utils import timezone

from annotation.core.refusals import Refused

PASSWORD: Final = "a bench has no secrets"  # noqa: S105 - of a database that lives for minutes
SINGLE: Final = "single"
TRIPLE: Final = "triple"
DATASET: Final = "bench"
MANAGER: Final = "manager"
LABELLERS: Final = 20  # who gave the labels that are there at the start


def name_of(annotator: int) -> str:
    """The user name of the n-th annotator."""
    return f"annotator-{annotator}"


_BATCH: Final = 2000
_MODELS: Final = ("alpha", "beta", "gamma", "delta")
_TEXT: Final = (
    "the answer depends on how many people travel and what the weather is like in spring most "
    "guides name two routes of which the shorter one follows the river while the longer passes "
    "three villages a lake and an old bridge take water good shoes and enough time for rest"
)
_WORDS: Final = _TEXT.split()

Row = TypeVar("Row", bound=Model)


def synthetic_text(random: Random) -> str:
    """About 1 KB of Markdown: a heading, paragraphs, a list, now and then code."""

    def sentence() -> str:
        words = random.choices(_WORDS, k=random.randint(8, 20))
        return f"{' '.join(words).capitalize()}."

    def paragraph() -> str:
        return " ".join(sentence() for _ in range(3))

    points = "\n".join(f"- **{random.choice(_WORDS)}**: {sentence()}" for _ in range(4))
    parts = [f"## {sentence()}", paragraph(), points, paragraph()]
    if random.random() < 0.2:
        parts.append(f"```python\nprint({random.randint(1, 999)} + {random.randint(1, 999)})\n```")
    return "\n\n".join(parts)


def check() -> None:
    """See that nobody works here, before anything is changed.

    Raises:
        Refused: there are people in the database.
    """
    from annotation.models import User

    table = User._meta.db_table  # noqa: SLF001 - Django's own name
    if table in connection.introspection.table_names() and User.objects.exists():
        message = "there are people in the database that DATABASE_URL names: no scratch database"
        raise Refused("bench:not-empty", message)


def fill(*, items: int, labels: int, annotators: int) -> None:
    """Store everything that a bench of these sizes needs."""
    from annotation.models import Dataset, Role, Study, User

    with transaction.atomic():
        password = make_password(PASSWORD)  # once: it is meant to be slow
        people = _store(
            [
                User(username=name, role=role, password=password)
                for name, role in [
                    (MANAGER, Role.MANAGER),
                    *((name_of(n), Role.ANNOTATOR) for n in range(annotators)),
                ]
            ]
        )
        dataset = Dataset.objects.create(slug=DATASET, name="Bench", simulated=True)
        comparisons = _pairs(dataset, items)
        for slug, overlap in ((SINGLE, 1), (TRIPLE, 3)):
            study = Study.objects.create(
                slug=slug, name=slug, kind="PAIRWISE", status="OPEN", dataset=dataset,
                overlap=overlap,
            )  # fmt: skip
            study.annotators.set(people[1:])
            rows = _items(study, comparisons)
            if slug == SINGLE:
                _label(study, rows[:labels], people[1 : LABELLERS + 1])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def _store(rows: Sequence[Row]) -> list[Row]:
    manager = type(rows[0])._default_manager if rows else None  # noqa: SLF001 - Django's own name
    return manager.bulk_create(rows, batch_size=_BATCH) if manager else []


def _pairs(dataset: Any, items: int) -> list[Any]:
    """One-turn sessions with two responses each, and the comparisons of them."""
    from annotation.models import Comparison, Response, Scenario, Session, Turn
    from annotation.models.data import text_hash

    random = Random(1)
    scenarios = _store([Scenario(dataset=dataset, name=f"Scenario {n}") for n in range(8)])
    sessions = _store(
        [
            Session(dataset=dataset, scenario=scenarios[n % 8], key=f"session-{n}", position=n)
            for n in range(items)
        ]
    )
    turns = _store(
        [
            Turn(session=each, position=0, user_message=f"Which way is the best? ({each.key})")
            for each in sessions
        ]
    )
    responses = []
    for turn in turns:
        for place, model in enumerate(random.sample(_MODELS, 2)):
            text = synthetic_text(random)
            responses.append(
                Response(
                    turn=turn, model=model, text=text, text_hash=text_hash(text), position=place
                )
            )
    stored = _store(responses)
    return _store(
        [
            Comparison(turn=turn, response_a=a, response_b=b, key="pair", position=n)
            for n, turn, a, b in zip(count(), turns, stored[::2], stored[1::2], strict=False)
        ]
    )


def _items(study: Any, comparisons: Sequence[Any]) -> list[Any]:
    from annotation.models import StudyItem

    return _store(
        [
            StudyItem(study=study, comparison=comparison, position=position)
            for position, comparison in enumerate(comparisons)
        ]
    )


def _label(study: Any, items: Sequence[Any], people: Sequence[Any]) -> None:
    """Answer items as if the annotators had taken turns, a second each."""
    from annotation.models import AuditEvent, Claim, PairwiseLabel, Submission

    start = timezone.now() - timedelta(seconds=len(items) + 60)
    given = [
        (item, people[n % len(people)], ("ORIGINAL", "SWAPPED")[n // len(people) % 2],
         start + timedelta(seconds=n))
        for n, item in enumerate(items)
    ]  # fmt: skip
    claims = _store(
        [
            Claim(
                item=item, annotator=person, slot=0, state="DONE", shown_order=order,
                claimed_at=now, expires_at=now + timedelta(minutes=15), finished_at=now,
            )
            for item, person, order, now in given
        ]
    )  # fmt: skip
    _store(
        [
            Submission(claim=claim, kind="ANSWER", uuid=uuid4(), accepted_at=claim.claimed_at)
            for claim in claims
        ]
    )
    _store(
        [
            PairwiseLabel(
                annotator=person, study=study, comparison_id=item.comparison_id, verdict="A",
                shown_order=order, created_at=now,
            )
            for item, person, order, now in given
        ]
    )  # fmt: skip
    _store(
        [
            AuditEvent(
                actor_id=claim.annotator_id, action="label.given", target="claim",
                target_id=claim.pk, detail={"submission": f"before-{claim.pk}"},
            )
            for claim in claims
        ]
    )  # fmt: skip


def counted() -> dict[str, int]:
    """Labels by study, and the items that more annotators hold or answered than the study wants."""
    from annotation.models import PairwiseLabel, StudyItem

    held = Count("claims", filter=Q(claims__state__in=["ACTIVE", "DONE"]), distinct=True)
    labels = Count(
        "comparison__labels", filter=Q(comparison__labels__study=F("study")), distinct=True
    )
    items = StudyItem.objects.filter(claims__isnull=False).annotate(held=held, labels=labels)
    over = items.filter(Q(held__gt=F("study__overlap")) | Q(labels__gt=F("study__overlap")))
    return {
        SINGLE: PairwiseLabel.objects.filter(study__slug=SINGLE).count(),
        TRIPLE: PairwiseLabel.objects.filter(study__slug=TRIPLE).count(),
        "over_overlap": over.count(),
    }


def main(arguments: Sequence[str]) -> dict[str, int]:
    """Do what the first word says, with the numbers that follow."""
    if arguments[0] == "check":
        check()
        return {}
    if arguments[0] == "fill":
        items, labels, annotators = (int(word) for word in arguments[1:])
        fill(items=items, labels=labels, annotators=annotators)
        return {}
    return counted()


if __name__ == "__main__":
    django.setup()
    sys.stdout.write(json.dumps(main(sys.argv[1:])))
