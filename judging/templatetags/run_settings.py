"""How the rules of a run read on its page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from django import template
from django.utils.translation import get_language, gettext, ngettext
from django.utils.translation import gettext_lazy as _

from annotation.core.choices import LabelledEnum
from annotation.core.splits import Pooling, SplitSampling
from annotation.templatetags.look import label
from judging.core.calibration import Calibration
from judging.core.estimates import TightRequest
from judging.core.injections import AttackFamily
from judging.core.lexical.features import Feature
from judging.core.lexical.vocabulary import name_of
from judging.core.rules import (
    LEARNED,
    AnsweredTurns,
    Combine,
    DistilPrompt,
    GenerationContext,
    JudgePrompt,
    Level,
    SelectionMode,
    Variant,
    Window,
)
from judging.core.runs import OTHERS, REGISTERED
from judging.core.satisfaction_baselines import EVALUATOR_WORDS
from judging.core.targets import RunTarget
from judging.core.verdicts import VerdictRule
from judging.models import RunKind
from judging.services.abilities import SlowReply

register = template.Library()

_NAMES: Final = {
    "dev_size": _("dev comparisons per scenario"),
    "seed": _("seed"),
    "sampling": _("dev split method"),
    "pooling": _("scenarios"),
    "mode": _("selection"),
    "difference_penalty": _("penalty for a difference between the orders"),
    "combine": _("stand-in for the annotator"),
    "verdict_rule": _("verdict reading"),
    "prompt": _("judge prompt"),
    "distil_prompt": _("preference length"),
    "window": _("conversation shown"),
    "aggregate_eligible": _("joint preference eligible"),
    "shuffled_control": _("shuffled-label control"),
    "control_draws": _("draws of shuffled labels"),
    "sets_of": _("preferences from"),
    "selected_by": _("preferences selected by"),
    "distiller": _("preferences distilled by"),
    "others": _("other annotators' judges"),
    "targets": _("judged"),
    "set_dataset": _("preferences learned in"),
    "history_dataset": _("history rated in"),
    "responses": _("targets fingerprint"),
    "unscored": _("without agreement figures"),
    "calibration": _("calibration"),
    "with_memory": _("user memories used"),
    "variant": _("judge prompt"),
    "level": _("scored items"),
    "train": _("training users from"),
    "memories_of": _("memories from run"),
    "ratings": _("ratings fingerprint"),
    "ablation": _("ablation only"),
    "batch_file": _("calls by batch file"),
    "recorded_in": _("recorded in file"),
    "context": _("what the model sees"),
    "turns": _("turns answered"),
    "samples": _("responses per turn"),
    "temperature": _("temperature"),
    "max_tokens": _("max output tokens"),
    "system": _("system prompt"),
    "corpus": _("fingerprint of the attempts"),
    "attack": _("attack"),
}
_VOCABULARIES: Final[dict[str, type[LabelledEnum]]] = {
    "sampling": SplitSampling,
    "pooling": Pooling,
    "combine": Combine,
    "mode": SelectionMode,
    "verdict_rule": VerdictRule,
    "window": Window,
    "prompt": JudgePrompt,
    "distil_prompt": DistilPrompt,
    "variant": Variant,
    "level": Level,
    "calibration": Calibration,
    "context": GenerationContext,
    "turns": AnsweredTurns,
    "attack": AttackFamily,
}


@register.filter
def kind_label(kind: str) -> str:
    """What a kind of run is called, those that apps above registered included."""
    if kind in REGISTERED:
        return gettext(REGISTERED[kind].label)
    return str(RunKind(kind).label) if kind in RunKind.values else kind


_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24
_MOST: Final = 90
"""So many of a unit of time are told before the next larger one is."""


@register.filter
def rate(per_second: float) -> str:
    """How often something happens, in the unit of time in which that is a whole number."""
    if per_second >= 1:
        return gettext("%(n)s per second") % {"n": f"{per_second:,.0f}"}
    if per_second * _MINUTE >= 1:
        return gettext("%(n)s per minute") % {"n": f"{per_second * _MINUTE:.0f}"}
    return gettext("%(n)s per hour") % {"n": f"{per_second * _HOUR:.0f}"}


@register.filter
def time_left(minutes: float) -> str:
    """About how long something will take."""
    hours = minutes / _MINUTE
    days = hours / _DAY
    if minutes < 1:
        return gettext("less than a minute left")
    if minutes < _MOST:
        n = round(minutes)
        words = ngettext("about %(n)d minute left", "about %(n)d minutes left", n)
    elif days < 2:
        n = round(hours)
        words = ngettext("about %(n)d hour left", "about %(n)d hours left", n)
    else:
        n = round(days)
        words = ngettext("about %(n)d day left", "about %(n)d days left", n)
    return words % {"n": n}


@register.filter
def slow_reply_text(slow: SlowReply) -> str:
    """That an endpoint's longest reply cannot come in time, and what to do."""
    said = gettext(
        "%(judge)s wrote %(speed)s tokens a second, so its longest reply (%(tokens)s tokens) takes "
        "about %(seconds)s s, but its timeout is %(timeout)s s. Raise the timeout or lower the max "
        "output tokens."
    )
    return said % {
        "judge": slow.judge,
        "speed": f"{slow.speed:.1f}",
        "tokens": f"{slow.tokens:,}",
        "seconds": f"{slow.seconds:,.0f}",
        "timeout": f"{slow.timeout:g}",
    }


@register.filter
def tight_request_text(tight: TightRequest) -> str:
    """That the longest request is, or may be, longer than an endpoint's context."""
    if tight.is_beyond:
        said = gettext(
            "%(judge)s takes %(context)s tokens, and the longest request has at least %(fewest)s "
            "with its reply: calls like it will fail. Lower the context window, so that "
            "conversations are shortened."
        )
    else:
        said = gettext(
            "%(judge)s takes %(context)s tokens, and the longest request has between %(fewest)s "
            "and %(most)s with its reply: calls like it may fail. Lower the context window or the "
            "max output tokens to be safe."
        )
    numbers = {name: f"{value:,}" for name, value in tight._asdict().items() if name != "judge"}
    return said % {"judge": tight.judge, **numbers}


@register.filter
def setting_name(name: str) -> str:
    """How a page calls a setting of a run; a name that it does not know stays as it is."""
    return str(_NAMES.get(name) or _registered(name) or name)


@register.filter
def evaluator_label(name: str) -> str:
    """How a page calls an evaluator that a command names, or several; an endpoint by its name."""
    if ", " in name:
        return ", ".join(evaluator_label(each) for each in name.split(", "))
    if name in EVALUATOR_WORDS:
        return gettext(EVALUATOR_WORDS[name])
    learned, plus, judge = name.partition("+")
    if plus and learned == LEARNED:
        return gettext("Learned evaluator with %(judge)s") % {"judge": evaluator_label(judge)}
    judge, _colon, word = name.partition(":")
    asked = {each.word: each for each in Variant}.get(word)
    return f"{evaluator_label(judge)} ({label(asked)})" if asked else name


@register.filter
def step_label(name: str, kind: str) -> str:
    """How a page calls a step of a run that has runs of its own; names in it stay."""
    if kind == "EVALUATE":
        return evaluator_label(name)
    return " · ".join(_registered(f"step={part}") or part for part in name.split(" · "))


def _registered(key: str) -> str:
    """The words for a setting, or a value of one, of the kinds that apps above registered."""
    found = next((each.words[key] for each in REGISTERED.values() if key in each.words), "")
    return gettext(found) if found else ""


@register.filter
def in_phrases(measures: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Properties with their weights, each by the phrase of the direction that it favours."""
    language = get_language() or ""
    return [
        (name_of(Feature(name), 1 if weight > 0 else -1, language), abs(weight))
        for name, weight in measures
    ]


@register.filter
def setting_value(value: object, name: str) -> str:
    """A setting's value in words; a value that has none stays as it is."""
    if name == "system" and not value:
        return gettext("each conversation's own") if value is None else gettext("none")
    if value is None:
        return gettext("none")
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    if isinstance(value, Mapping):
        return _others(value) if name == OTHERS else _targets(value)
    if name == "sets_of":
        value = str(value).rpartition(":")[2]  # imported raters are named DATASET:NAME
    if (name, value) == ("train", ""):
        return gettext("others of this dataset")
    return _told(str(value), name)


def _told(value: str, name: str) -> str:
    """A value by its vocabulary; of a rule with a number or a name the rule."""
    words = _VOCABULARIES.get(name)
    if words is not None and value in set(words):
        return label(words(value))
    if found := _registered(f"{name}={value}"):
        return found
    rule, colon, rest = value.partition(":")
    ruled = _registered(f"{name}={rule}") if colon else ""
    return f"{ruled} ({rest})" if ruled else value or "–"


def _others(stored: Mapping[str, int]) -> str:
    return gettext("%(drawn)d of %(of)d, drawn by the seed") % stored


def _targets(stored: Mapping[str, Any]) -> str:
    """What a run judged: the kind, then every filter."""
    filters = (
        stored.get("study"),
        f"#{stored['plan']}" if stored.get("plan") else "",
        *stored.get("scenarios", ()),
        *stored.get("models", ()),
        *stored.get("languages", ()),
    )
    words = [label(RunTarget(stored["kind"])), *(str(each) for each in filters if each)]
    if stored.get("sample"):
        words.append(gettext("sample of %(n)d") % {"n": stored["sample"]})
    if stored.get("only"):
        words.append(gettext("%(n)d chosen") % {"n": len(stored["only"])})
    return ", ".join(words)
