"""What a filled form of a run asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.core.splits import DEFAULT_DEV_SIZE, DEFAULT_SEED, Pooling, SplitSampling
from annotation.forms.datasets import Choices
from annotation.models import Dataset, User
from annotation.queries.participants import annotators
from judging.core.rules import (
    DRAWN,
    NO_SETS,
    PAPER_DRAW,
    Combine,
    DistilPrompt,
    JudgePrompt,
    Level,
    PairwiseSettings,
    SatisfactionSettings,
    SelectionMode,
    Variant,
    Window,
)
from judging.core.targets import RunTarget, Targets, targets_named, turn_targets_named
from judging.core.verdicts import VerdictRule
from judging.models import RunKind
from judging.queries.preferences import is_learned_elsewhere_only, where_learned
from judging.services.run_requests import RunRequest


def annotator_choices(dataset: Dataset, others: Iterable[Dataset]) -> Choices:
    """Annotators of a dataset, then a group for those whom other datasets have besides."""
    own = [(each.id, each.name) for each in annotators(dataset=dataset)]
    offered = {number for number, _name in own}
    choices: Choices = [("", _("everybody")), *own]
    for other in others:
        more = [
            (each.id, each.name) for each in annotators(dataset=other) if each.id not in offered
        ]
        offered.update(number for number, _name in more)
        if more:
            choices.append((str(other), more))
    return choices


def requests_of(cleaned: Mapping[str, Any], *, dataset: Dataset, by: User) -> list[RunRequest]:
    """What is asked for, of each judge that was chosen."""
    key = cleaned["annotator"]
    sets, learned_in = _sets_in(cleaned, dataset)
    with_sets = sets != NO_SETS
    draw = PAPER_DRAW if sets == DRAWN else 0
    named = sets if with_sets and not draw else ""
    selecting, _colon, distiller = named.partition(":")
    brought_from = (with_sets and learned_in) or cleaned.get("history_in")
    wrote = cleaned.get("distiller") or cleaned.get("memory_judge") or distiller
    request = RunRequest(
        kind=RunKind(cleaned["kind"]),
        dataset=dataset,
        annotator=None if key is None else User.objects.get(pk=key),
        writer=wrote or None,
        selected_by=selecting or None,
        prompt=_prompt(cleaned),
        with_sets=with_sets,
        targets=_targets(cleaned),
        sets_dataset=Dataset.objects.get(slug=brought_from) if brought_from else None,
        with_control=not (cleaned.get("no_control") or draw),
        draw=draw,
        verdict=_verdict(cleaned),
        pairwise=PairwiseSettings(
            dev_size=cleaned.get("dev_size") or DEFAULT_DEV_SIZE,
            seed=DEFAULT_SEED if cleaned.get("seed") in (None, "") else cleaned["seed"],
            sampling=SplitSampling(cleaned.get("sampling") or SplitSampling.DEFAULT),
            window=Window(cleaned.get("window") or Window.ALL),
            distil_prompt=_distil(cleaned),
            pooling=Pooling(cleaned.get("pooling") or Pooling.AUTO),
            combine=Combine(cleaned["combine"]) if cleaned.get("combine") else None,
            mode=SelectionMode(cleaned.get("mode") or SelectionMode.DEFAULT),
            verdict_rule=_verdict(cleaned) or VerdictRule.STRICT,
        ),
        satisfaction=SatisfactionSettings(
            variant=variant_in(cleaned), level=level_in(cleaned), train=cleaned["train"]
        ),
        budget=cleaned["budget"],
        created_by=by,
    )
    return [replace(request, judge=judge) for judge in cleaned["judge"]]


def usual_sets_text(dataset: Dataset) -> str:
    """Whose preferences are applied where none are chosen."""
    if is_learned_elsewhere_only(dataset):
        return gettext("those of the annotator above; none for everybody")
    return gettext("the judge")


def _sets_in(cleaned: Mapping[str, Any], dataset: Dataset) -> tuple[str, str]:
    """Who selected the preferences, and where they were learned; "" where it goes without saying.

    An annotator's are applied where they were learned, if it was not here. For everybody the base
    judge judges where preferences were learned elsewhere alone: they may be of other people.
    """
    sets, learned_in = cleaned.get("sets") or "", cleaned.get("learned_in") or ""
    if cleaned["kind"] != RunKind.TEST or _prompt(cleaned) is not JudgePrompt.PERSONAL:
        return sets, learned_in
    if not learned_in and cleaned["annotator"] is not None:
        elsewhere = where_learned(cleaned["annotator"], dataset)
        return sets, elsewhere.slug if elsewhere is not None else ""
    if not learned_in and not sets and is_learned_elsewhere_only(dataset):
        return NO_SETS, ""
    return sets, learned_in


def _targets(cleaned: Mapping[str, Any]) -> Targets:
    """What a test run judges, or a satisfaction run scores; without any choice the usual."""
    found = Targets()
    if cleaned.get("turn_targets"):
        found, _other = turn_targets_named(cleaned["turn_targets"])
    elif cleaned.get("targets"):
        found, _other = targets_named(cleaned["targets"])
    if cleaned.get("history_in") and found.are_rated:
        found = Targets(kind=RunTarget.ALL)  # what is asked is in whose stead: none need be rated
    return replace(
        found,
        scenarios=tuple(cleaned.get("scenario") or ()),
        models=tuple(cleaned.get("model") or ()),
        languages=tuple(cleaned.get("language") or ()),
        sample=cleaned.get("sample") or None,
    )


def variant_in(cleaned: Mapping[str, Any]) -> Variant:
    """How satisfaction is asked about."""
    return Variant(cleaned.get("variant") or Variant.CHECKLIST)


def level_in(cleaned: Mapping[str, Any]) -> Level:
    """What is scored."""
    return Level(cleaned.get("level") or Level.TURN)


def _prompt(cleaned: Mapping[str, Any]) -> JudgePrompt:
    return JudgePrompt(cleaned.get("prompt") or JudgePrompt.PERSONAL)


def _verdict(cleaned: Mapping[str, Any]) -> VerdictRule | None:
    return VerdictRule(cleaned["verdict"]) if cleaned.get("verdict") else None


def _distil(cleaned: Mapping[str, Any]) -> DistilPrompt:
    return DistilPrompt(cleaned.get("distil_prompt") or DistilPrompt.SENTENCES)
