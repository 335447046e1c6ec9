"""Whose judge is personal: the claims of all annotators of a dataset under one judge."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from django.core.cache import cache
from django.db.models import F

from annotation.core.choices import Verdict
from benchmark.core.personal import (
    PersonalEvidence,
    PersonalGains,
    PersonalRow,
    human_agreement,
    personal_gains,
    personal_rows,
)
from benchmark.core.trust import HumanLabel, JudgedComparison
from benchmark.queries.choices import (
    AnnotatorChoice,
    DatasetChoice,
    RunChoice,
    best_last,
    run_choices,
)
from benchmark.queries.evidence import cases_of, labels_by_annotator
from judging.core.votes import VoteRule
from judging.models import JudgeRun, RunKind
from judging.queries.preference_sets import edited_after_verdicts

KEPT_SECONDS: Final = 24 * 3600


def personal_claims(
    dataset: DatasetChoice,
    judge: str,
    everybody: Sequence[AnnotatorChoice],
    *,
    seed: int,
    chosen: RunChoice | None = None,
    cases: Mapping[int, Sequence[JudgedComparison]] | None = None,
) -> tuple[PersonalRow, ...]:
    """What may be claimed of each annotator whose own preferences a judge applied.

    Members vote by the usual rule, and what could not be read is left out, over all scenarios. The
    gains are kept until a test run of the judge goes on.

    Args:
        dataset: where.
        judge: whose runs; of each annotator the one to read.
        everybody: all who labelled there.
        seed: of bootstraps and signs.
        chosen: a run that is read instead, for the annotator in whose stead it judged; nothing is
            read of a run after its `until`.
        cases: what is known already by run, with what the others' judges decided.
    """
    runs = _runs(dataset, judge, until=chosen.until if chosen is not None else None)
    # Sets that were selected as the paper's code does are no part of a family with others.
    is_paper = all(run.is_paper for run in runs.values()) if chosen is None else chosen.is_paper
    runs = {key: run for key, run in runs.items() if run.is_paper is is_paper}
    if chosen is not None and chosen.annotator is not None and chosen.sets_of is not None:
        runs[chosen.annotator] = chosen
    labels = labels_by_annotator(dataset, {each.id for each in everybody})
    gains = _gains(
        [(each, runs[each.id]) for each in everybody if each.id in runs],
        labels,
        {each.id: each.name for each in everybody},
        seed=seed,
        cases=cases or {},
        state=_state(dataset, judge),
    )
    edited = set(edited_after_verdicts({runs[key].parent for key in gains}).values())
    people = sum(map(_has_winner, labels.values()))
    evidence = [
        PersonalEvidence(
            annotator=each.name,
            run=runs[each.id].id,
            gains=gains[each.id],
            agreement=human_agreement(
                labels.get(each.id, ()),
                [given for key, given in labels.items() if key != each.id],
            ),
            people=people,
            edited=runs[each.id].parent in edited,
        )
        for each in everybody
        if each.id in gains
    ]
    return personal_rows(evidence, judge=judge)


def _runs(dataset: DatasetChoice, judge: str, *, until: int | None) -> dict[int, RunChoice]:
    """By annotator, the test run to read under their own preferences."""
    rows = JudgeRun.objects.filter(
        dataset=dataset.id, kind=RunKind.TEST, judge=judge, parent__annotator=F("annotator")
    )
    if until is not None:
        rows = rows.filter(pk__lte=until)
    # The last one of each is that to read; runs without sets come before those with some.
    found = {run.annotator: run for run in run_choices(best_last(rows)) if run.sets_of is not None}
    return {key: replace(run, until=until) for key, run in found.items() if key is not None}


def _has_winner(labels: Sequence[HumanLabel]) -> bool:
    return any(label.verdict is not Verdict.TIE for label in labels)


def _state(dataset: DatasetChoice, judge: str) -> str:
    """What changes when any test run of the judge goes on, or a new one is there."""
    rows = JudgeRun.objects.filter(dataset=dataset.id, kind=RunKind.TEST, judge=judge)
    told = rows.order_by("pk").values_list(
        "pk", "status", "created_at", "heartbeat_at", "finished_at"
    )
    return repr(list(told))


def _gains(
    asked: Sequence[tuple[AnnotatorChoice, RunChoice]],
    labels: Mapping[int, Sequence[HumanLabel]],
    names: Mapping[int, str],
    *,
    seed: int,
    cases: Mapping[int, Sequence[JudgedComparison]],
    state: str,
) -> dict[int, PersonalGains]:
    """By annotator, what their judge gains; left out where no preferences decided anything."""
    keys = {
        run.id: "personal:"
        + hashlib.sha256(
            repr((run.id, run.until, seed, sorted(names.items()), state)).encode()
        ).hexdigest()
        for _each, run in asked
    }
    kept: dict[str, PersonalGains | None] = cache.get_many(keys.values())
    found = {}
    for each, run in asked:
        key = keys[run.id]
        if key not in kept:
            known = cases.get(run.id)
            if known is None:
                others = {owner: name for owner, name in names.items() if owner != each.id}
                own = labels.get(each.id, ())
                known = cases_of(own, run, each, None, rule=VoteRule.DEFAULT, others=others)
            kept[key] = personal_gains(known, seed=seed)
            cache.set(key, kept[key], KEPT_SECONDS)
        if (gains := kept[key]) is not None:
            found[each.id] = gains
    return found
