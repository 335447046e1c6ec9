"""Which of the prompts that a run was given it really asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

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
_SESSION = "comparison__turn__session__language"


def asked_labels(run: JudgeRun) -> list[str]:
    """The labels of the prompts that a run asked, or still has to, in order.

    A judge is given the prompts of its kind in every language; asked are those in the languages of
    the run's own rows: of distillations those that its preferences were written by, and with or
    without a preference as its verdicts were given. Reminders are asked by second tries alone.
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
        languages = _prompt_languages(each["language"] for own in pairs for each in own)
        return _kept(given, languages, base=languages, other=set())
    if run.kind == RunKind.GENERATE:
        return sorted(given)
    return _of_comparisons(run, given)


def _of_comparisons(run: JudgeRun, given: Mapping[str, Any]) -> list[str]:
    judged = Judgment.objects.filter(run=run).order_by()
    rows = list(judged.values_list(_SESSION, "preference__kind").distinct())
    base = _prompt_languages(one for one, kind in rows if kind == PreferenceKind.EMPTY)
    other = _prompt_languages(one for one, kind in rows if kind != PreferenceKind.EMPTY)
    graded = ResponseScore.objects.filter(run=run).order_by()
    languages = base | other
    if run.kind == RunKind.GRADE:
        languages |= _prompt_languages(
            graded.values_list("response__turn__session__language", flat=True).distinct()
        )
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
    turns = scored.values_list("response__turn__session__language", "session__language").distinct()
    languages = _prompt_languages(one for row in turns for one in row if one)
    built = UserMemory.objects.filter(run=run).order_by().values_list("language", flat=True)
    induced = InducedRubric.objects.filter(run=run).order_by().values_list("language", flat=True)
    of_rows = {
        "build_memory": _prompt_languages(built.distinct()),
        "spur_extract": _prompt_languages(induced.distinct()),
        "spur_condense": _prompt_languages(induced.distinct()),
    }
    found = []
    for label in sorted(given):
        name, _version, language = label.split(".")
        if language in of_rows.get(name, languages):
            found.append(label)
    return found


def _prompt_languages(languages: Iterable[str]) -> set[str]:
    return {prompt_language(one) for one in languages}
