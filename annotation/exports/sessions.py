"""Sessions with all that hangs on them, as the project's own format: imported, they are the same.

The CSV is a flat list of the texts, a row a response, for reading; it cannot be imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from django.db.models import Prefetch

from annotation.core.tables import Row
from annotation.exports.export import Export, moment
from annotation.exports.given import given, name_of_study, told
from annotation.models import (
    Comparison,
    Dataset,
    GoldLabel,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    Session,
    SessionQuestionnaire,
    Turn,
)
from annotation.queries.annotators import names_of

_CHUNK: Final = 100
_COLUMNS: Final = (
    "session",
    "scenario",
    "user",
    "language",
    "system_prompt",
    "task_context",
    "turn",
    "user_message",
    "model",
    "variant",
    "original",
    "text",
)


def _rows(dataset: Dataset) -> Iterator[Row]:
    yield {"type": "dataset", **_dataset(dataset)}
    writer = _Writer(dataset)
    for session in _sessions(dataset):
        yield writer.session(session)


def _flat_rows(dataset: Dataset) -> Iterator[Row]:
    names = names_of(dataset=dataset)
    turns = Turn.objects.order_by("position").prefetch_related(
        Prefetch("responses", Response.objects.order_by("position", "pk"))
    )
    sessions = (
        Session.objects.filter(dataset=dataset)
        .select_related("scenario")
        .order_by("position", "pk")
        .prefetch_related(Prefetch("turns", turns))
    )
    for session in sessions.iterator(chunk_size=_CHUNK):
        head = {
            "session": session.key,
            "scenario": session.scenario.name,
            "user": names.get(session.original_user_id or 0),
            "language": session.language,
            "system_prompt": session.system_prompt,
            "task_context": session.task_context,
        }
        for turn in session.turns.all():
            asked = {"turn": turn.position + 1, "user_message": turn.user_message}
            texts = [_text(response) for response in turn.responses.all()]
            for text in texts or [{}]:
                yield {**head, **asked, **text}


def _text(response: Response) -> Row:
    return {
        "model": response.model,
        "variant": response.variant,
        "original": response.original,
        "text": response.text,
    }


def _sessions(dataset: Dataset) -> Iterator[Session]:
    pairwise = PairwiseLabel.objects.select_related("study").order_by("pk")
    ratings = Prefetch("labels", SatisfactionLabel.objects.select_related("study").order_by("pk"))
    gold = Prefetch("gold_labels", GoldLabel.objects.order_by("pk"))
    responses = Response.objects.order_by("position", "pk").prefetch_related(ratings, gold)
    comparisons = Comparison.objects.order_by("position", "pk").prefetch_related(
        Prefetch("labels", pairwise), gold
    )
    turns = Turn.objects.order_by("position").prefetch_related(
        Prefetch("responses", responses), Prefetch("comparisons", comparisons)
    )
    answers = SessionQuestionnaire.objects.select_related("study").order_by("pk")
    return (
        Session.objects.filter(dataset=dataset)
        .select_related("scenario")
        .order_by("position", "pk")
        .prefetch_related(
            Prefetch("turns", turns), ratings, gold, Prefetch("questionnaires", answers)
        )
        .iterator(chunk_size=_CHUNK)
    )


def _dataset(dataset: Dataset) -> Row:
    return told(
        {
            "name": "" if dataset.name == dataset.slug else dataset.name,
            "description": dataset.description,
            "source": dataset.source,
            "licence": dataset.licence,
            "simulated": dataset.simulated,
            "extra": dataset.extra,
        }
    )


class _Writer:
    """Writes the rows of one dataset under the names of the project's own format."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        self._names = names_of(dataset=dataset)

    def session(self, session: Session) -> Row:
        """One session line."""
        turns = []
        previous: dict[int, str] = {}
        for turn in session.turns.all():
            responses = list(turn.responses.all())
            keys = {response.pk: str(place) for place, response in enumerate(responses)}
            turns.append(self._turn(turn, responses, keys, previous))
            previous = keys
        user = session.original_user_id
        return {
            "type": "session",
            "key": session.key,
            "scenario": session.scenario.name,
            **told(
                {
                    "user": None if user is None else self._names[user],
                    "system_prompt": session.system_prompt,
                    "task_context": session.task_context,
                    "language": session.language,
                    "profile": session.profile_snapshot,
                    "extra": session.extra,
                }
            ),
            "turns": turns,
            **told(
                {
                    "satisfaction": self._ratings(session.labels.all()),
                    "questionnaires": [
                        self._questionnaire(each) for each in session.questionnaires.all()
                    ],
                    "gold": _gold(session.gold_labels.all()),
                }
            ),
        }

    def _turn(
        self,
        turn: Turn,
        responses: list[Response],
        keys: dict[int, str],
        previous: dict[int, str],
    ) -> Row:
        return {
            "user": turn.user_message,
            **told(
                {
                    "responses": [
                        self._response(each, keys[each.pk], previous) for each in responses
                    ],
                    "comparisons": [
                        self._comparison(each, keys) for each in turn.comparisons.all()
                    ],
                }
            ),
        }

    def _response(self, response: Response, key: str, previous: dict[int, str]) -> Row:
        return {
            "id": key,
            **told({"model": response.model}),
            "text": response.text,
            **told(
                {
                    "original": response.original,
                    "continues": previous.get(response.continues_id or 0),
                    "variant": response.variant,
                    "extra": response.extra,
                    "satisfaction": self._ratings(response.labels.all()),
                    "gold": _gold(response.gold_labels.all()),
                }
            ),
        }

    def _comparison(self, comparison: Comparison, keys: dict[int, str]) -> Row:
        return {
            "key": comparison.key,
            "a": keys[comparison.response_a_id],
            "b": keys[comparison.response_b_id],
            "position": comparison.position,
            **told(
                {
                    "extra": comparison.extra,
                    "labels": [self._verdict(label) for label in comparison.labels.all()],
                    "gold": _gold(comparison.gold_labels.all()),
                }
            ),
        }

    def _verdict(self, label: PairwiseLabel) -> Row:
        return {
            "annotator": self._names[label.annotator_id],
            "verdict": label.verdict,
            **told(
                {
                    "strength": label.strength,
                    "both_bad": label.both_bad,
                    "shown_order": label.shown_order,
                    **given(label, self._dataset),
                }
            ),
        }

    def _ratings(self, labels: Iterable[SatisfactionLabel]) -> list[Row]:
        return [
            {
                "annotator": self._names[label.annotator_id],
                "score": label.score,
                **told(
                    {
                        "reason": label.reason,
                        "hallucination": label.hallucination,
                        **given(label, self._dataset),
                    }
                ),
            }
            for label in labels
        ]

    def _questionnaire(self, answers: SessionQuestionnaire) -> Row:
        return {
            "annotator": self._names[answers.annotator_id],
            "answers": answers.answers,
            **told({"study": name_of_study(answers.study, self._dataset)}),
            "given_at": moment(answers.created_at),
        }


def _gold(labels: Iterable[GoldLabel]) -> list[Row]:
    return [
        {
            "source": label.source,
            **told({"verdict": label.verdict, "score": label.score, "rationale": label.rationale}),
        }
        for label in labels
    ]


SESSIONS: Final = Export("sessions", _COLUMNS, _rows, flat_rows=_flat_rows)
