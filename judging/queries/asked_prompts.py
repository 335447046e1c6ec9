"""Which of the prompts that a run was given it really asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from django.db.models import QuerySet

from annotation.queries.datasets import languages_written
from judging.core.prompts import prompt_language
from judging.models import (
    InducedRubric,
    InjectionTrial,
    JudgeRun,
    Judgment,
    LlmCall,
    Preference,
    PreferenceKind,
    ResponseScore,
    RunKind,
    SatisfactionJudgment,
    UserMemory,
)
from judging.queries.preferences import asked_prompt

_DISTIL = "distil_"
_PAIR = "judge_pair"
_REMINDER = "remind_"
_BASE = "_base"
_SESSION = "comparison__turn__session"
_RESPONSE = "response__turn__session"


def asked_labels(run: JudgeRun) -> list[str]:
    """The labels of the prompts that a run asked, or still has to, in order.

    A judge is given the prompts of its kind in every language; asked are those in the languages of
    the run's own rows, as their sessions name them or, where these name none, begin: of
    distillations those that its preferences were written by, and with or without a preference as
    its verdicts were given. Reminders are asked by second tries alone.
    """
    asked = run.config.get("judge") or {}
    given: Mapping[str, Any] = asked.get("prompts", {}) if isinstance(asked, dict) else {}
    if not given:
        return []
    if not LlmCall.objects.filter(run=run, attempt__gt=0).exists():
        given = {label: given[label] for label in given if not label.startswith(_REMINDER)}
    if run.kind == RunKind.SATISFACTION:
        return _of_satisfaction(run, given)
    if run.kind == RunKind.CHECK:
        trials = InjectionTrial.objects.filter(check_run__run=run)
        pairs = trials.order_by().values_list("check_run__pairs", flat=True)[:1]
        languages = _prompt_languages([each["language"] for own in pairs for each in own])
        return _kept(given, languages, base=languages, other=set())
    if run.kind == RunKind.GENERATE:
        return sorted(given)
    return _of_comparisons(run, given)


def _of_comparisons(run: JudgeRun, given: Mapping[str, Any]) -> list[str]:
    judged = Judgment.objects.filter(run=run).order_by()
    rows = list(judged.values_list(f"{_SESSION}__language", "preference__kind").distinct())
    plain = judged.filter(preference__kind=PreferenceKind.EMPTY)
    base = _prompt_languages(
        [one for one, kind in rows if kind == PreferenceKind.EMPTY], plain.values(_SESSION)
    )
    personal = judged.exclude(preference__kind=PreferenceKind.EMPTY)
    other = _prompt_languages(
        [one for one, kind in rows if kind != PreferenceKind.EMPTY], personal.values(_SESSION)
    )
    graded = ResponseScore.objects.filter(run=run).order_by()
    languages = base | other
    if run.kind == RunKind.GRADE:
        said = graded.values_list(f"{_RESPONSE}__language", flat=True).distinct()
        languages |= _prompt_languages(list(said), graded.values(_RESPONSE))
    written = Preference.objects.filter(run=run).order_by()
    distilled = {
        prompt.label
        for row in written.values("kind", "language", "scenario_id").distinct()
        if (prompt := asked_prompt(Preference(**row), run.config)) is not None
    }
    return _kept(given, languages, base=base, other=other, distilled=distilled)


def _kept(
    given: Mapping[str, Any],
    languages: set[str],
    *,
    base: set[str],
    other: set[str],
    distilled: Iterable[str] = (),
) -> list[str]:
    found = []
    for label in sorted(given):
        name, _version, language = label.split(".")
        asked = languages
        if name.startswith(_PAIR):
            asked = base if name.endswith(_BASE) else other
        if label in distilled or (language in asked and not name.startswith(_DISTIL)):
            found.append(label)
    return found


def _of_satisfaction(run: JudgeRun, given: Mapping[str, Any]) -> list[str]:
    scored = SatisfactionJudgment.objects.filter(run=run).order_by()
    turns = scored.values_list(f"{_RESPONSE}__language", "session__language").distinct()
    languages: set[str] = set()
    for told, path in zip(zip(*turns, strict=True), (_RESPONSE, "session"), strict=False):
        named = [one for one in told if one is not None]
        languages |= _prompt_languages(named, scored.values(path))
    built = UserMemory.objects.filter(run=run).order_by().values_list("language", flat=True)
    induced = InducedRubric.objects.filter(run=run).order_by().values_list("language", flat=True)
    of_rows = {
        "build_memory": _prompt_languages(list(built.distinct())),
        "spur_extract": _prompt_languages(list(induced.distinct())),
        "spur_condense": _prompt_languages(list(induced.distinct())),
    }
    found = []
    for label in sorted(given):
        name, _version, language = label.split(".")
        if language in of_rows.get(name, languages):
            found.append(label)
    return found


def _prompt_languages(
    languages: Collection[str], sessions: QuerySet[Any, Any] | None = None
) -> set[str]:
    """Of languages as sessions name them; of those that name none as they are written."""
    named = {one for one in languages if one}
    if "" in languages and sessions is not None:
        named |= languages_written(sessions)
    return {prompt_language(one) for one in named}
