"""The JSON shape of runs, preferences and judgments; keys are nowhere in rows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import ROUND_DOWN, Decimal
from functools import cached_property, partial
from typing import Any, Final, Literal, TypeAlias, TypeVar

from django.http import QueryDict
from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from annotation.core.refusals import Refused
from annotation.models import Dataset, User
from annotation.queries.datasets import dataset_of
from annotation.queries.participants import resolve_annotator
from judging.core.rules import (
    LEARNED,
    GenerationSettings,
    JudgePrompt,
    PairwiseSettings,
    SatisfactionSettings,
)
from judging.core.targets import Basis, RunTarget, Targets
from judging.core.verdicts import VerdictRule
from judging.forms.generation import MOST_SAMPLES, MOST_TOKENS
from judging.models import (
    JudgeRun,
    Judgment,
    Preference,
    PreferenceSet,
    RunKind,
    SatisfactionJudgment,
)
from judging.queries.calls import Answered, key_of, raw_of
from judging.queries.configurations import basis_by_scenario, read_sent
from judging.services.injection import DEFAULT_PAIRS, MOST_PAIRS, dataset_pairs
from judging.services.judges import endpoint_for
from judging.services.run_requests import RunRequest


class JudgeRunSerializer(serializers.ModelSerializer[JudgeRun]):
    """A run with the snapshot of its configuration.

    `writer` distilled or built memories where the judge did not; of a run that applies sets,
    `config` says who selected and who distilled them.
    """

    dataset = serializers.SlugField(source="dataset.slug")
    annotator = serializers.CharField(source="annotator.username", allow_null=True, default=None)

    class Meta:
        model = JudgeRun
        fields = (
            "id",
            "kind",
            "dataset",
            "annotator",
            "judge",
            "writer",
            "parent",
            "config",
            "status",
            "stage",
            "error_code",
            "created_at",
            "started_at",
            "finished_at",
        )


_Row = TypeVar("_Row", bound=Answered)


class RowSerializer(serializers.ModelSerializer[_Row]):
    """A row that a judge answered: `call` is the key of the call, null where nobody was called."""

    call = serializers.SerializerMethodField()
    raw = serializers.SerializerMethodField()

    def get_call(self, row: _Row) -> str | None:
        """As an export has it."""
        return key_of(row)

    def get_raw(self, row: _Row) -> str:
        """The reply as it came."""
        return raw_of(row)


class PreferenceSerializer(RowSerializer[Preference]):
    """A version of a preference with where it comes from; `root` is null for the first version."""

    edited_by = serializers.CharField(source="edited_by.username", allow_null=True, default=None)

    class Meta:
        model = Preference
        fields = (
            "id",
            "run",
            "kind",
            "control",
            "draw",
            "scenario",
            "annotator",
            "source_comparison",
            "source_verdict",
            "position",
            "status",
            "text",
            "language",
            "judge",
            "call",
            "raw",
            "version",
            "previous",
            "root",
            "active",
            "edited_by",
            "error_code",
            "created_at",
        )


class PreferenceSetSerializer(serializers.ModelSerializer[PreferenceSet]):
    """A selected set with the evidence for it."""

    class Meta:
        model = PreferenceSet
        fields = (
            "id",
            "run",
            "scenario",
            "annotator",
            "control",
            "draw",
            "members",
            "columns",
            "rows",
            "matrix",
            "selection",
            "dev_accuracy",
            "leave_one_out",
            "null_p95",
            "p_value",
            "base_accuracy",
            "p_over_base",
            "is_used",
        )


class JudgmentSerializer(RowSerializer[Judgment]):
    """A verdict in the comparison's own coordinates, or an error code.

    `basis` says under which set a run that applies some judged the scenario: OWN, ALL or BASE.
    """

    basis = serializers.SerializerMethodField()

    class Meta:
        model = Judgment
        fields = (
            "id",
            "run",
            "comparison",
            "preference",
            "order",
            "status",
            "verdict",
            "log_odds",
            "error_code",
            "call",
            "raw",
            "basis",
        )

    @cached_property
    def _known(self) -> dict[int, dict[int | None, Basis]]:
        """What the configurations of the runs so far say: each is long, and read once."""
        return {}

    def get_basis(self, row: Judgment) -> str | None:
        """Of the comparison's scenario in its run."""
        if row.run_id not in self._known:
            applies = row.run.kind == RunKind.TEST
            self._known[row.run_id] = basis_by_scenario(row.run.config) if applies else {}
        return self._known[row.run_id].get(row.scenario)  # type: ignore[attr-defined]  # annotated


class SatisfactionJudgmentSerializer(RowSerializer[SatisfactionJudgment]):
    """A score, raw and calibrated, or an error code."""

    class Meta:
        model = SatisfactionJudgment
        fields = (
            "id",
            "run",
            "user",
            "response",
            "session",
            "memory",
            "status",
            "score",
            "expected_score",
            "calibrated",
            "calibration",
            "fallback_reason",
            "reason",
            "analysis",
            "error_code",
            "call",
            "raw",
        )


Found = TypeVar("Found")
_Faults: TypeAlias = dict[str, list[ErrorDetail]]
_OF_ALL: Final[Mapping[str, Any]] = {
    "kind": Literal["DISTIL", "TEST", "SATISFACTION", "GENERATE", "CHECK"],
    "dataset": str,
    "judge": tuple[str, ...],
    "budget": Decimal | None,
    "again": bool,
    "estimate": bool,
}
_OF_KIND: Final[Mapping[str, Mapping[str, Any]]] = {
    RunKind.DISTIL: {
        "annotator": str | None,
        "writer": str | None,
        "verdict": VerdictRule | None,
        "pairwise": PairwiseSettings,
    },
    RunKind.TEST: {
        "annotator": str | None,
        "selected_by": str | None,
        "writer": str | None,
        "prompt": JudgePrompt,
        "with_sets": bool,
        "draw": int,
        "sets_of": str | None,
        "with_control": bool,
        "sets_dataset": str | None,
        "targets": Targets,
        "verdict": VerdictRule | None,
    },
    RunKind.SATISFACTION: {
        "annotator": str | None,
        "writer": str | None,
        "sets_dataset": str | None,
        "targets": Targets,
        "satisfaction": SatisfactionSettings,
    },
    RunKind.GENERATE: {"targets": Targets, "generation": GenerationSettings},
    RunKind.CHECK: {"prompt": JudgePrompt, "verdict": VerdictRule | None, "pairs": int},
}
_NOT_SENT: Final[Mapping[tuple[str, str], Collection[str]]] = {
    (RunKind.DISTIL, "pairwise"): {"prompt", "verdict_rule", "control_draws"},
    (RunKind.SATISFACTION, "satisfaction"): {"memories_of"},
    (RunKind.GENERATE, "targets"): {"kind", "study", "plan", "models"},
}
"""Settings that the plan, or another field, decides, or that would say nothing."""
_BOUNDS: Final[Mapping[str, tuple[int, int]]] = {
    "budget": (0, 9_999_999_999),
    "pairs": (1, MOST_PAIRS),
    "draw": (1, 100),
    "targets.sample": (1, 10_000_000),
    "targets.plan": (1, 2**63 - 1),
    "pairwise.dev_size": (1, 100_000),
    "pairwise.seed": (0, 2**31 - 1),
    "generation.samples": (1, MOST_SAMPLES),
    "generation.temperature": (0, 2),
    "generation.max_tokens": (1, MOST_TOKENS),
}


class RunStartSerializer(serializers.BaseSerializer[RunRequest]):
    """What a script asks for: a RunRequest of each judge, with names in the place of rows."""

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        """The requests, and whether they are estimated, or started `again`.

        Raises:
            ValidationError: with everything that is wrong.
        """
        if not isinstance(data, dict) or not _can_be_kept(list(data)):
            raise serializers.ValidationError({"": [_wrong("dict_type", "Send a JSON object.")]})
        faults: _Faults = {}
        values = _read(data, faults)
        _check_draw(values, faults)
        _read_query(self.context["query"], values, faults)
        _look_up(values, faults)
        if faults:
            raise serializers.ValidationError(faults)
        modes = {name: values.pop(name, False) for name in ("again", "estimate")}
        return {"requests": _requests(values, by=self.context["user"]), **modes}


def _wrong(code: str, reason: str) -> ErrorDetail:
    return ErrorDetail(reason, code=code)


def _read(sent: Mapping[str, Any], faults: _Faults) -> dict[str, Any]:
    """The fields that are well formed, those of the kind of run alone."""
    run_kind = str(sent.get("kind"))
    own = _OF_KIND.get(run_kind)
    known = {**_OF_ALL, **(own or {})}
    if own is None:  # of an unknown kind no other field is called unknown
        known |= {name: kind for kinds in _OF_KIND.values() for name, kind in kinds.items()}
    values: dict[str, Any] = {}
    for name in dict.fromkeys(("kind", "dataset", *sent)):
        if name not in known:
            listed = ", ".join(known)
            faults[name] = [_wrong("unknown", f"Unknown field. Known fields: {listed}.")]
        elif name not in sent:
            faults[name] = [_wrong("required", "This field is required.")]
        else:
            not_sent = _NOT_SENT.get((run_kind, name), ())
            value, found = _read_one(known[name], sent[name], not_sent)
            _add_faults(name, found, faults)
            if not found:
                values[name] = value
    for place, low, high in _out_of_bounds(values):
        faults[place] = [_wrong("out_of_bounds", f"Must be between {low} and {high}.")]
    for place, kind in _passed_over(values.get("targets", Targets())):
        faults[place] = [_wrong("not_applicable", f"Applies only to targets of kind {kind}.")]
    return values


def _add_faults(name: str, found: Iterable[tuple[str, str, str]], faults: _Faults) -> None:
    for place, code, reason in found:
        where = f"{name}.{place}".strip(".")
        faults.setdefault(where, []).append(_wrong(code, reason))


def _read_query(query: QueryDict, values: dict[str, Any], faults: _Faults) -> None:
    """Whether the address asks for an estimate; a word that was mistyped must start nothing."""
    for name, words in query.lists():
        if name != "estimate":
            unknown = ("", "unknown", "Unknown query parameter. Only estimate is known.")
            _add_faults(name, [unknown], faults)
            continue
        for word in words:
            value, found = _read_one(bool, word or True, ())
            _add_faults(name, found, faults)
            values[name] = values.get(name, False) or value


def _read_one(
    kind: Any, sent: Any, not_sent: Collection[str]
) -> tuple[Any, list[tuple[str, str, str]]]:
    if not _can_be_kept(sent):
        return None, [("", "characters", "Null characters and half characters are not allowed.")]
    if kind == tuple[str, ...] and isinstance(sent, str):
        sent = [sent]
    taken = sorted(sent.keys() & not_sent) if isinstance(sent, dict) else []
    if taken:
        return None, [(name, "unknown", "This setting cannot be sent.") for name in taken]
    try:
        return read_sent(kind, sent)
    except Refused as error:
        return None, [("", error.code, str(error))]


def _can_be_kept(sent: Any) -> bool:
    """Whether a database takes its characters: no NUL, no half of a surrogate pair."""
    text = json.dumps(sent, ensure_ascii=False)
    return "\\u0000" not in text and not re.search("[\ud800-\udfff]", text)


def _out_of_bounds(values: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    for place, (low, high) in _BOUNDS.items():
        name, _dot, setting = place.partition(".")
        value = values.get(name)
        if setting and value is not None:
            value = getattr(value, setting)
        if value is not None and not low <= value <= high:
            yield place, low, high


def _passed_over(targets: Targets) -> Iterator[tuple[str, RunTarget]]:
    """Settings without effect, each with the kind that has one: more would be judged than meant."""
    if targets.study and targets.kind is not RunTarget.STUDY:
        yield "targets.study", RunTarget.STUDY
    if targets.plan is not None and targets.kind is not RunTarget.PLAN:
        yield "targets.plan", RunTarget.PLAN


def _check_draw(values: dict[str, Any], faults: _Faults) -> None:
    """Drawn preferences are of one's own sets, and beside no control."""
    if not values.get("draw"):
        return
    passed_over = {"sets_of": None, "with_sets": True, "with_control": False}
    for place, taken in passed_over.items():
        if values.setdefault(place, taken) is not taken:
            faults[place] = [_wrong("not_applicable", "Applies only where nothing is drawn.")]


def _look_up(values: dict[str, Any], faults: _Faults) -> None:
    """Put rows in the place of the names of datasets and annotators; judges are only looked up."""
    for field in ("dataset", "sets_dataset"):
        values[field] = _found(dataset_of, values.get(field), field, faults)
    learned_in: Dataset | None = values["sets_dataset"] or values["dataset"]
    if learned_in is not None:
        for field in ("annotator", "sets_of"):
            if field in values:
                values[field] = _found(partial(_user, learned_in), values[field], field, faults)
    for name in values.get("judge", ()):
        if name != LEARNED or values.get("kind") != RunKind.SATISFACTION:
            _found(endpoint_for, name, "judge", faults)
    if values.get("kind") != RunKind.TEST:  # who distilled once may be out of use
        _found(endpoint_for, values.get("writer"), "writer", faults)


def _found(
    look: Callable[[str], Found], name: str | None, at: str, faults: _Faults
) -> Found | None:
    try:
        return look(name) if name is not None else None
    except Refused as error:
        faults.setdefault(at, []).append(_wrong(error.code, str(error)))
        return None


def _user(dataset: Dataset, name: str) -> User:
    return User.objects.get(pk=resolve_annotator(dataset=dataset, name=name).id)


def _requests(values: dict[str, Any], *, by: User) -> list[RunRequest]:
    """One for each judge that is named; without any that of the kind's usual one."""
    judges = values.pop("judge", ()) or (None,)
    if values.get("budget") is not None:
        values["budget"] = values["budget"].quantize(Decimal("0.0001"), rounding=ROUND_DOWN)
    if values["kind"] == RunKind.DISTIL and values.get("verdict") is not None:
        rules = values.get("pairwise", PairwiseSettings())
        values["pairwise"] = replace(rules, verdict_rule=values["verdict"])
    targets = values.get("targets", Targets())
    if values["kind"] == RunKind.SATISFACTION and values.get("sets_dataset") and targets.are_rated:
        values["targets"] = replace(targets, kind=RunTarget.ALL)  # none of it need be rated
    if values["kind"] == RunKind.CHECK:
        pairs = dataset_pairs(values["dataset"], count=values.pop("pairs", DEFAULT_PAIRS))
        values["pairs"] = [each.to_json() for each in pairs]
    kind = RunKind(values.pop("kind"))
    return [
        RunRequest(kind=kind, judge=judge, created_by=by, **values)
        for judge in dict.fromkeys(judges)
    ]
