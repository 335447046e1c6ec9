"""Exports of the pairwise judge: verdicts, preferences and the subsets selected of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from django.db.models import Exists, OuterRef, Q

from annotation.core.tables import Head, HeadedRow, Row
from annotation.exports.export import Export, moment
from annotation.exports.streams import on_pairs, pairs_in_order
from annotation.models import Comparison, Dataset, Response, Session, User
from annotation.queries.participants import names_of
from judging.core.targets import Basis
from judging.models import (
    InducedRubric,
    JudgeRun,
    Judgment,
    Preference,
    PreferenceKind,
    PreferenceSet,
    RunKind,
)
from judging.queries.calls import key_of, raw_of, with_calls
from judging.queries.configurations import basis_by_scenario
from judging.queries.preference_sets import edited_after_verdicts
from judging.queries.preferences import asked_prompt

CHUNK: Final = 1000
_RUNS: Final = 20  # their configurations are long
OTHER: Final = "OTHER"
"""As a judgment's control: under the preferences of another annotator."""
RUN: Final = ("run", "run_kind", "judge")
TARGET: Final = ("target", "session", "scenario", "turn", "model", "variant")
CALL: Final = ("call", "model", "input_tokens", "cached_tokens", "output_tokens", "raw")


class Names:
    """Annotators by the names of the dataset; anybody else by user name."""

    def __init__(self, dataset: Dataset) -> None:
        self._names = names_of(dataset=dataset)

    def of(self, user: User | None) -> str | None:
        """The name of a user, None for nobody."""
        return None if user is None else self._names.get(user.pk, user.username)


def run_of(run: JudgeRun) -> Row:
    """The run that a row belongs to."""
    return {"run": run.pk, "run_kind": run.kind, "judge": run.judge}


def target_of(response: Response | None, session: Session | None) -> Row:
    """A rated response, or a rated session."""
    turn = None if response is None else response.turn
    of = session if turn is None else turn.session
    return {
        "target": "session" if response is None else "response",
        "session": None if of is None else of.key,
        "scenario": None if of is None else of.scenario.name,
        "turn": None if turn is None else turn.position + 1,
        "model": None if response is None else response.model,
        "variant": None if response is None else response.variant,
    }


def call_of(row: Preference | InducedRubric) -> Row:
    """The reply that a text was read from; of a judge without an endpoint its own words."""
    call = row.call
    return {
        "call": key_of(row),
        "model": None if call is None else call.model,
        "input_tokens": None if call is None else call.input_tokens,
        "cached_tokens": None if call is None else call.cached_tokens,
        "output_tokens": None if call is None else call.output_tokens,
        "raw": raw_of(row),
    }


_COMPARISON: Final = ("session", "scenario", "turn", "comparison")


def _comparison(comparison: Comparison | None) -> Row:
    if comparison is None:
        return {"session": None, "scenario": None, "turn": None, "comparison": None}
    session = comparison.turn.session
    return {
        "session": session.key,
        "scenario": session.scenario.name,
        "turn": comparison.turn.position + 1,
        "comparison": comparison.key,
    }


class _Applied(NamedTuple):
    """Whose sets a run applied (None without any), and by scenario under which it judged."""

    set_dataset: str | None
    distiller: str | None
    selected_by: str | None
    basis: Mapping[int | None, Basis]


def _applied(run: JudgeRun) -> _Applied:
    """Without sets the base judge judged; of runs that are no application nothing is said."""
    if run.kind != RunKind.TEST:
        return _Applied(None, None, None, {})
    basis = basis_by_scenario(run.config)
    parent = run.parent
    if parent is None or not run.config.get("sets_of"):
        return _Applied(None, None, None, basis)
    return _Applied(parent.dataset.slug, parent.written_by, parent.judge, basis)


_JUDGMENT: Final = (
    "comparison_id", "preference_id", "order", "status", "verdict", "log_odds", "error_code", "raw",
    "preference__kind", "preference__control", "preference__annotator_id",
    "call__key", "call__reply",
)  # fmt: skip


def _judgments(dataset: Dataset) -> Iterator[Row]:
    """By run, then in the order of the file; what a run's rows share is read once."""
    names = Names(dataset)
    runs = JudgeRun.objects.filter(Exists(Judgment.objects.filter(run=OuterRef("pk"))))
    for run in (
        runs.filter(dataset=dataset)
        .select_related("annotator", "parent__dataset")
        .defer("parent__config")
        .order_by("pk")
        .iterator(chunk_size=_RUNS)
    ):
        applied = _applied(run)
        head = {
            **run_of(run),
            "annotator": names.of(run.annotator),
            "set_dataset": applied.set_dataset,
            "distiller": applied.distiller,
            "selected_by": applied.selected_by,
        }
        own = Judgment.objects.filter(run=run).order_by()
        judged = own.order_by("comparison_id", "preference_id", "order").values_list(*_JUDGMENT)
        asked = Comparison.objects.filter(pk__in=own.values("comparison"))
        for pairs in pairs_in_order(asked, texts=False):
            heads = {
                pair.pk: Head(
                    **head,
                    basis=applied.basis.get(pair.scenario),
                    session=pair.session_key,
                    scenario=pair.scenario_name,
                    turn=pair.turn_position + 1,
                    comparison=pair.key,
                    model_a=pair.model_a,
                    model_b=pair.model_b,
                )
                for pair in pairs
            }
            places = {pair.pk: place for place, pair in enumerate(pairs)}
            # Stable: preferences and orders of a comparison stay as the database sorted them.
            for row in sorted(on_pairs(pairs, judged), key=lambda row: places[row[0]]):
                yield HeadedRow(heads[row[0]], _said(row, run))


def _said(row: tuple[Any, ...], run: JudgeRun) -> Row:
    """One judgment; `control` is from which labels the preference was learned.

    It is OTHER of an annotator who is heard beside.
    """
    _, preference, order, status, verdict, log_odds, error, raw, kind, control, of, key, reply = row
    owner = None if run.parent is None else run.parent.annotator_id
    return {
        "preference": preference,
        "preference_kind": kind,
        "control": OTHER if owner is not None and of not in {None, owner} else control,
        "order": order,
        "status": status,
        "verdict": verdict,
        "log_odds": log_odds,
        "error_code": error,
        "call": key,
        "raw": raw if key is None else reply,
    }


def _preferences(dataset: Dataset) -> Iterator[Row]:
    """Every version; what a distiller was asked stands with the first one alone."""
    names = Names(dataset)
    distilled = JudgeRun.objects.filter(dataset=dataset, kind=RunKind.DISTIL)
    configs = dict(distilled.values_list("pk", "config"))
    here = Q(dataset=dataset) | Q(run__dataset=dataset) | Q(kind=PreferenceKind.EMPTY)
    rows = (
        with_calls(Preference.objects.filter(here))
        .select_related(
            "annotator",
            "scenario",
            "source_comparison__turn__session__scenario",
            "edited_by",
        )
        .order_by("pk")
    )
    for row in rows.iterator(chunk_size=CHUNK):
        source = _comparison(row.source_comparison)
        prompt = asked_prompt(row, configs.get(row.run_id or 0, {}))
        yield {
            "preference": row.pk,
            "run": row.run_id,
            "kind": row.kind,
            "control": row.control,
            "draw": row.draw,
            "annotator": names.of(row.annotator),
            "scenario": None if row.scenario is None else row.scenario.name,
            "source_session": source["session"],
            "source_turn": source["turn"],
            "source_comparison": source["comparison"],
            "source_verdict": row.source_verdict,
            "position": row.position,
            "status": row.status,
            "text": row.text,
            "language": row.language,
            "judge": row.judge,
            "version": row.version,
            "previous": row.previous_id,
            "root": row.root_id or row.pk,
            "active": row.active,
            "edited_by": names.of(row.edited_by),
            "prompt": None if prompt is None else prompt.label,
            "prompt_sha256": None if prompt is None else prompt.digest,
            **call_of(row),
            "error_code": row.error_code,
            "created_at": moment(row.created_at),
        }


def _preference_sets(dataset: Dataset) -> Iterator[Row]:
    names = Names(dataset)
    distilled = (
        PreferenceSet.objects.filter(dataset=dataset).order_by().values_list("run").distinct()
    )
    edited = edited_after_verdicts({run for (run,) in distilled})
    rows = (
        PreferenceSet.objects.filter(dataset=dataset)
        .select_related("run", "scenario", "annotator")
        .prefetch_related("members")
        .order_by("pk")
    )
    for row in rows.iterator(chunk_size=CHUNK):
        members = sorted(row.members.all(), key=lambda member: member.pk)
        yield {
            **run_of(row.run),
            "distiller": row.run.written_by,
            "annotator": names.of(row.annotator),
            "scenario": None if row.scenario is None else row.scenario.name,
            "control": row.control,
            "draw": row.draw,
            "members": [member.pk for member in members],
            "texts": [member.text for member in members],
            "dev_accuracy": row.dev_accuracy,
            "leave_one_out": row.leave_one_out,
            "null_p95": row.null_p95,
            "p_value": row.p_value,
            "base_accuracy": row.base_accuracy,
            "p_over_base": row.p_over_base,
            "used": row.is_used,
            "edited": row.pk in edited,
            "columns": row.columns,
            "rows": row.rows,
            "matrix": row.matrix,
            "selection": row.selection,
            "created_at": moment(row.created_at),
        }


JUDGMENTS: Final = Export(
    "judgments",
    (
        *RUN,
        "annotator",
        "set_dataset",
        "distiller",
        "selected_by",
        "basis",
        *_COMPARISON,
        "model_a",
        "model_b",
        "preference",
        "preference_kind",
        "control",
        "order",
        "status",
        "verdict",
        "log_odds",
        "error_code",
        "call",
        "raw",
    ),
    _judgments,
)

PREFERENCES: Final = Export(
    "preferences",
    (
        "preference",
        "run",
        "kind",
        "control",
        "draw",
        "annotator",
        "scenario",
        "source_session",
        "source_turn",
        "source_comparison",
        "source_verdict",
        "position",
        "status",
        "text",
        "language",
        "judge",
        "version",
        "previous",
        "root",
        "active",
        "edited_by",
        "prompt",
        "prompt_sha256",
        *CALL,
        "error_code",
        "created_at",
    ),
    _preferences,
)

PREFERENCE_SETS: Final = Export(
    "preference_sets",
    (
        *RUN,
        "distiller",
        "annotator",
        "scenario",
        "control",
        "draw",
        "members",
        "texts",
        "dev_accuracy",
        "leave_one_out",
        "null_p95",
        "p_value",
        "base_accuracy",
        "p_over_base",
        "used",
        "edited",
        "columns",
        "rows",
        "matrix",
        "selection",
        "created_at",
    ),
    _preference_sets,
)
