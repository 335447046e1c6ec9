"""Sessions with all that hangs on them, as the project's own format: imported, they are the same.

The CSV is a flat list of the texts, a row a response, for reading; it cannot be imported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from annotation.core.conversations import Speaker
from annotation.core.tables import Row, in_key_order
from annotation.exports.export import Export, given, moment, names_of_studies, told
from annotation.exports.streams import (
    ExportedComparison,
    ExportedSession,
    ExportedTurn,
    LabelsByTarget,
    ResponseRow,
    Texts,
    extra_of,
    sessions_of,
)
from annotation.models import (
    Dataset,
    GoldLabel,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    SessionQuestionnaire,
    Study,
    Turn,
)
from annotation.queries.participants import names_of


def dialogues_before(turns: Iterable[Turn]) -> dict[int, list[dict[str, str]]]:
    """The messages up to and with each turn's user message, by turn id (at most two queries).

    Earlier answers are the originals; a text that is not available is left out.
    """
    wanted = list(turns)
    later = [turn.session_id for turn in wanted if turn.position > 0]
    earlier: dict[int, list[Turn]] = defaultdict(list)
    answers: dict[int, str] = {}
    if later:
        for turn in Turn.objects.filter(session__in=later).order_by("session_id", "position"):
            earlier[turn.session_id].append(turn)
        originals = Response.objects.filter(
            turn__session__in=later, original=True, text__isnull=False
        )
        answers = {turn: text or "" for turn, text in originals.values_list("turn_id", "text")}
    dialogues = {}
    for turn in wanted:
        messages: list[dict[str, str]] = []
        for before in earlier[turn.session_id]:
            if before.position < turn.position:
                _say(messages, Speaker.USER, before.user_message)
                _say(messages, Speaker.ASSISTANT, answers.get(before.pk))
        _say(messages, Speaker.USER, turn.user_message)
        dialogues[turn.pk] = messages
    return dialogues


def _say(messages: list[dict[str, str]], role: Speaker, text: str | None) -> None:
    if text is not None:
        messages.append({"role": role.value, "content": text})


_AT_ONCE: Final = 200  # sessions in memory
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


def _rows(dataset: Dataset, *, study: int | None = None) -> Iterator[Row]:
    yield {"type": "dataset", **_dataset(dataset)}
    names, studies = names_of(dataset=dataset), names_of_studies(dataset)
    for part in sessions_of(dataset, at_once=_AT_ONCE, study=study):
        writer = _Writer([session.pk for session in part], names, studies, study)
        for session in part:
            yield writer.session(session)


def _flat_rows(dataset: Dataset, *, study: int | None = None) -> Iterator[Row]:
    names = names_of(dataset=dataset)
    for part in sessions_of(dataset, at_once=_AT_ONCE, study=study):
        texts = Texts([session.pk for session in part])
        for session in part:
            yield from _flat(session, texts, names)


def _flat(session: ExportedSession, texts: Texts, names: dict[int, str]) -> Iterator[Row]:
    head = {
        "session": session.key,
        "scenario": session.scenario,
        "user": names.get(session.user or 0),
        "language": session.language,
        "system_prompt": session.system_prompt,
        "task_context": session.task_context,
    }
    for turn in texts.turns.get(session.pk, ()):
        asked = {"turn": turn.position + 1, "user_message": turn.user_message}
        for text in [_text(each) for each in texts.responses.get(turn.pk, ())] or [{}]:
            yield {**head, **asked, **text}


def _text(response: ResponseRow) -> Row:
    return {
        "model": response.model,
        "variant": response.variant,
        "original": response.original,
        "text": response.text,
    }


def _dataset(dataset: Dataset) -> Row:
    return told(
        {
            "name": "" if dataset.name == dataset.slug else dataset.name,
            "description": dataset.description,
            "source": dataset.source,
            "licence": dataset.licence,
            "simulated": dataset.simulated,
            "extra": in_key_order(dataset.extra),
        }
    )


class _Writer:
    """Writes some sessions under the names of the project's own format."""

    def __init__(
        self,
        sessions: list[int],
        names: dict[int, str],
        studies: dict[int | None, str],
        study: int | None,
    ) -> None:
        self._texts = Texts(sessions)
        self._given = LabelsByTarget(self._texts, study=study)
        self._names = names
        self._studies = studies

    def session(self, session: ExportedSession) -> Row:
        """One session line."""
        turns = []
        previous: dict[int, str] = {}
        for turn in self._texts.turns.get(session.pk, ()):
            responses = self._texts.responses.get(turn.pk, [])
            keys = {response.pk: str(place) for place, response in enumerate(responses)}
            turns.append(self._turn(turn, responses, keys, previous))
            previous = keys or previous  # a turn that nobody answered is continued past
        answers = self._given
        return {
            "type": "session",
            "key": session.key,
            "scenario": session.scenario,
            **told(
                {
                    "user": None if session.user is None else self._names[session.user],
                    "system_prompt": session.system_prompt,
                    "task_context": session.task_context,
                    "language": session.language,
                    "profile": in_key_order(session.profile),
                    "extra": in_key_order(session.extra),
                }
            ),
            "turns": turns,
            **told(
                {
                    "satisfaction": self._ratings(answers.session_ratings.get(session.pk, ())),
                    "questionnaires": [
                        self._questionnaire(each)
                        for each in answers.questionnaires.get(session.pk, ())
                    ],
                    "gold": _gold(answers.session_gold.get(session.pk, ())),
                }
            ),
        }

    def _turn(
        self,
        turn: ExportedTurn,
        responses: list[ResponseRow],
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
                        self._comparison(each, keys)
                        for each in self._given.comparisons.get(turn.pk, ())
                    ],
                }
            ),
        }

    def _response(self, response: ResponseRow, key: str, previous: dict[int, str]) -> Row:
        return {
            "id": key,
            **told({"model": response.model}),
            "text": response.text,
            **told(
                {
                    "original": response.original,
                    "continues": previous.get(response.continues or 0),
                    "variant": response.variant,
                    "extra": in_key_order(extra_of(response)),
                    "satisfaction": self._ratings(self._given.ratings.get(response.pk, ())),
                    "gold": _gold(self._given.response_gold.get(response.pk, ())),
                }
            ),
        }

    def _comparison(self, comparison: ExportedComparison, keys: dict[int, str]) -> Row:
        return {
            "key": comparison.key,
            "a": keys[comparison.a],
            "b": keys[comparison.b],
            "position": comparison.position,
            **told(
                {
                    "extra": in_key_order(extra_of(comparison)),
                    "labels": [
                        self._verdict(label)
                        for label in self._given.verdicts.get(comparison.pk, ())
                    ],
                    "gold": _gold(self._given.comparison_gold.get(comparison.pk, ())),
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
                    **given(label, self._studies),
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
                        **given(label, self._studies),
                    }
                ),
            }
            for label in labels
        ]

    def _questionnaire(self, answers: SessionQuestionnaire) -> Row:
        return {
            "annotator": self._names[answers.annotator_id],
            "answers": in_key_order(answers.answers),
            **told({"study": self._studies[answers.study_id]}),
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


def _study_rows(study: Study) -> Iterator[Row]:
    return _rows(study.dataset, study=study.pk)


def _study_flat_rows(study: Study) -> Iterator[Row]:
    return _flat_rows(study.dataset, study=study.pk)


SESSIONS: Final = Export(
    "sessions",
    _COLUMNS,
    _rows,
    flat_rows=_flat_rows,
    study_rows=_study_rows,
    study_flat_rows=_study_flat_rows,
)
