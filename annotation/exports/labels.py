"""Pairwise labels as `pair` lines, which can be imported; and the participants of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from django.db.models import QuerySet

from annotation.core.formats.records import PROFILE_FIELDS
from annotation.core.formats.sensejudge import CHANCE
from annotation.core.participants import study_name
from annotation.core.tables import (
    Head,
    HeadedRow,
    Row,
    in_blocks,
    in_key_order,
    json_lines,
)
from annotation.exports.explained import EXPLAINED, item_numbers, skippers
from annotation.exports.export import (
    GIVEN,
    Export,
    ExportFormat,
    chances_of,
    given,
    is_for_readers,
    moment,
    names_of_studies,
)
from annotation.exports.sessions import dialogues_before
from annotation.exports.streams import ExportedLabel, ExportedPair, labels_on, pairs_in_order
from annotation.models import (
    AnnotatorProfile,
    Comparison,
    Dataset,
    PairwiseLabel,
    Study,
    Turn,
)
from annotation.queries.participants import names_of
from annotation.queries.quality import gold_verdicts
from annotation.queries.studies import members_of
from annotation.queries.withheld import own_labels

_COLUMNS: Final = (
    "type",
    "session",
    "scenario",
    "system_prompt",
    "task_context",
    "dialogue",
    "comparison",
    "position",
    "model_a",
    "variant_a",
    "text_a",
    "model_b",
    "variant_b",
    "text_b",
    "annotator",
    "verdict",
    "strength",
    "both_bad",
    "shown_order",
    *GIVEN,
    CHANCE,
)


_WINNER: Final = "winning_model"


def _rows(
    dataset: Dataset,
    annotator_id: int | None = None,
    *,
    study_id: int | None = None,
    names: Mapping[int, str] | None = None,
    explain: Callable[[ExportedPair, ExportedLabel], Row] | None = None,
) -> Iterator[Row]:
    names = names or names_of(dataset=dataset)
    studies = names_of_studies(dataset)
    chances = chances_of(dataset)
    labels = PairwiseLabel.objects.filter(comparison__turn__session__dataset=dataset)
    if annotator_id is not None:
        labels = own_labels(labels, annotator_id)
    if study_id is not None:
        labels = labels.filter(study=study_id)
    asked = Comparison.objects.filter(pk__in=labels.order_by().values("comparison"))
    for pairs in pairs_in_order(asked):
        dialogues = dialogues_before(_turns(pairs))
        by_key = {pair.pk: pair for pair in pairs}
        heads = {pair.pk: _head(pair, dialogues[pair.turn]) for pair in pairs}
        for label in labels_on(pairs, labels):
            own = {
                "annotator": names[label.annotator],
                "verdict": label.verdict,
                "strength": label.strength,
                "both_bad": label.both_bad,
                "shown_order": label.shown_order,
                **given(label, studies),
                CHANCE: chances.get((label.study_id, label.comparison)),
            }
            if explain is not None:
                own |= explain(by_key[label.comparison], label)
            yield HeadedRow(heads[label.comparison], own)


def _flat_rows(dataset: Dataset, *, study_id: int | None = None) -> Iterator[Row]:
    """The same rows, which say besides what would need other files. Three queries more."""
    items = item_numbers(dataset, "comparison")
    gold = gold_verdicts(dataset)
    names = names_of(dataset=dataset)  # once: it looks at all labels
    skipped = skippers(dataset, "comparison", names)

    def explain(pair: ExportedPair, label: ExportedLabel) -> Row:
        place = (label.study_id, pair.pk)
        models = {"A": pair.model_a, "B": pair.model_b}
        return {
            "item": items.get((*place, label.repeat_index)),
            "flag": label.extra.get("flag"),
            "gold": gold.get(pair.pk),
            "skipped_by": skipped.get(place),
            _WINNER: models.get(label.verdict),
        }

    return _rows(dataset, study_id=study_id, names=names, explain=explain)


def _study_flat_rows(study: Study) -> Iterator[Row]:
    return _flat_rows(study.dataset, study_id=study.pk)


def _turns(pairs: Sequence[ExportedPair]) -> Iterator[Turn]:
    return (
        Turn(
            pk=pair.turn,
            session_id=pair.session,
            position=pair.turn_position,
            user_message=pair.user_message,
        )
        for pair in {pair.turn: pair for pair in pairs}.values()
    )


def _head(pair: ExportedPair, dialogue: list[dict[str, str]]) -> Head:
    head = {
        "type": "pair",
        "session": pair.session_key,
        "scenario": pair.scenario_name,
        "system_prompt": pair.system_prompt,
        "task_context": pair.task_context,
        "dialogue": dialogue,
        "comparison": pair.key,
        "position": pair.position,
        "model_a": pair.model_a,
        "variant_a": pair.variant_a,
        "text_a": pair.text_a,
        "model_b": pair.model_b,
        "variant_b": pair.variant_b,
        "text_b": pair.text_b,
    }
    return Head(head)


def _own_rows(dataset: Dataset, annotator_id: int) -> Iterator[Row]:
    for row in _rows(dataset, annotator_id):
        yield {name: value for name, value in row.items() if not is_for_readers(name)}


def _study_rows(study: Study) -> Iterator[Row]:
    return _rows(study.dataset, study_id=study.pk)


LABELS: Final = Export(
    "labels",
    _COLUMNS,
    _rows,
    flat_rows=_flat_rows,
    own_rows=_own_rows,
    study_rows=_study_rows,
    study_flat_rows=_study_flat_rows,
    flat_columns=(*EXPLAINED, _WINNER),
    empty="export:no-labels",
)


COLUMNS: Final = (
    "study",
    "annotator",
    "joined_at",
    "invitation",
    "consented_at",
    "guidelines_read",
    "quiz_attempts",
    "quiz_passed_at",
    "paused_at",
    "pause_reason",
    "resumed_at",
    "answered",
    "active_seconds",
    "profile",
)
_OF_WORKERS: Final = ("worker_id", "worker")


def participant_blocks(study: Study, format_: ExportFormat, *, workers: bool) -> Iterator[str]:
    """The file, in blocks of text; annotators go by the names that they have in exported labels.

    `workers` says whether it tells who they are on a platform of paid work.
    """
    columns = (*COLUMNS, *_OF_WORKERS) if workers else COLUMNS
    rows = ({name: row[name] for name in columns} for row in _participant_rows(study))
    if format_.is_table:
        return format_.table(columns, rows)
    return in_blocks(json_lines(rows))


def _participant_rows(study: Study) -> Iterator[Row]:
    dataset = study.dataset
    names = names_of(dataset=dataset)
    rows: QuerySet[Any] = members_of(study).select_related("annotator__profile", "invitation")
    for row in rows.order_by("joined_at", "pk").iterator(chunk_size=500):
        user = row.annotator
        yield {
            "study": study_name(dataset.slug, study.slug, study.name),
            "annotator": names.get(user.pk, user.username.removeprefix(f"{dataset.slug}:")),
            "joined_at": moment(row.joined_at),
            "invitation": row.invitation.note if row.invitation else "",
            "consented_at": moment(row.consented_at),
            "guidelines_read": row.guidelines_read,
            "quiz_attempts": row.quiz_attempts,
            "quiz_passed_at": moment(row.quiz_passed_at),
            "paused_at": moment(row.paused_at),
            "pause_reason": row.pause_reason,
            "resumed_at": moment(row.resumed_at),
            "answered": row.n_done,
            "active_seconds": row.seconds and round(row.seconds, 3),
            "profile": _profile(getattr(user, "profile", None)),
            "worker_id": row.worker_id,
            "worker": in_key_order(row.worker),
        }


def _profile(profile: AnnotatorProfile | None) -> dict[str, object]:
    """What they told, under the names of the files; what they left unsaid is left out."""
    if profile is None:
        return {}
    told = {name: getattr(profile, name) for name in PROFILE_FIELDS}
    more = {name: in_key_order(profile.extra[name]) for name in sorted(profile.extra)}
    return {name: value for name, value in {**told, **more}.items() if value}
