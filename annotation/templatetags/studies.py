"""How the pages of studies say times, reasons, and what was done."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from django import template
from django.core.exceptions import FieldDoesNotExist
from django.utils.timezone import localtime
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.core.study_items import Stratum
from annotation.forms.labelling import FLAGS, SKIP_REASONS
from annotation.models import (
    Invitation,
    PairwiseLabel,
    Participation,
    PauseReason,
    Study,
    StudyStatus,
)
from annotation.templatetags.look import label

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

register = template.Library()

_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 24 * 3600

EVENTS: Final[dict[str, StrOrPromise]] = {
    "study.created": _("Study created"),
    "study.deleted": _("Draft deleted"),
    "study.status": _("Status changed"),
    "study.rules": _("Rules changed"),
    "study.guidelines": _("Guidelines changed"),
    "study.consent": _("Consent changed"),
    "study.quiz": _("Quiz changed"),
    "study.conversation": _("Conversation setup changed"),
    "study.prompt": _("Prompt changed"),
    "study.invited": _("Invitation created"),
    "study.invitation-withdrawn": _("Invitation withdrawn"),
    "study.completion": _("Completion code changed"),
    "study.joined": _("Joined"),
    "invitation.account-made": _("Account created"),
    "study.consented": _("Agreed to take part"),
    "study.declined": _("Declined to take part"),
    "study.guidelines-read": _("Guidelines read"),
    "participation.paused": _("Annotator paused"),
    "participation.resumed": _("Annotator resumed"),
    "study.annotators-added": _("Annotators added"),
    "study.annotator-removed": _("Annotator removed"),
    "study.offered-again": _("Skipped items offered again"),
    "study.returned": _("Items in progress returned"),
    "study.answers-discarded": _("Answers discarded"),
    "label.discarded": _("Answer discarded"),
    "claim.released": _("Item unassigned"),
    "claim.given": _("Item assigned"),
    "label.given": _("Pair answered"),
    "label.changed": _("Answer changed"),
    "ratings.given": _("Conversation rated"),
    "ratings.changed": _("Ratings changed"),
    "conversation.held": _("Conversation finished"),
}
"""How the names of events read that this application writes about a study."""


DETAILS: Final[dict[str, StrOrPromise]] = {
    "before": _("before"),
    "after": _("after"),
    "items": _("items"),
    "gold": _("gold items"),
    "repeats": _("hidden repeats"),
    "scenarios": _("scenarios"),
    "languages": _("languages"),
    "models": _("models"),
    "both_models": _("both responses by these models"),
    "plan": _("planned comparisons"),
    "batch": _("batch"),
    "sample": _("sample size"),
    "strata": _("equal numbers of each"),
    "released": _("returned items"),
    "reason": _("reason"),
    "annotators": _("annotators"),
    "instead_of": _("replaces assignment"),
    "claims": _("assignments"),
    "answers": _("answers"),
    "hits": _("correct or consistent"),
    "below": _("threshold"),
    "was": _("reason for the pause"),
    "version": _("version"),
    "asked_again": _("people asked again"),
    "questionnaire": _("questionnaire"),
    "endpoints": _("models"),
    "system_prompt": _("system prompt"),
    "temperature": _("temperature"),
    "max_tokens": _("max output tokens"),
}
"""What an event tells of that is no field of a row."""

_VALUES: Final[dict[str, StrOrPromise]] = {
    **dict(StudyStatus.choices),
    **dict(PauseReason.choices),
    **dict(SKIP_REASONS),
    **dict(FLAGS),
    "True": _("yes"),
    "False": _("no"),
}
"""How the codes read that events hold."""

_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?[+-]\d\d:\d\d")


@register.filter
def duration(seconds: float | None) -> str:
    """A time as one or two units, `45 s`, `12 min`, `3 h 20 min`, `2 d 4 h`; the dash for none."""
    if seconds is None:
        return "–"
    if seconds < 2 * _MINUTE:
        return gettext("%(n)s s") % {"n": f"{seconds:.0f}" if seconds >= 10 else f"{seconds:.1f}"}
    if seconds < _HOUR:
        return gettext("%(n)d min") % {"n": round(seconds / _MINUTE)}
    if seconds < 2 * _DAY:
        hours, minutes = divmod(round(seconds / _MINUTE), 60)
        return gettext("%(hours)d h %(minutes)d min") % {"hours": hours, "minutes": minutes}
    days, hours = divmod(round(seconds / _HOUR), 24)
    return gettext("%(days)d d %(hours)d h") % {"days": days, "hours": hours}


@register.filter
def skip_reason(word: str) -> StrOrPromise:
    """Why an item was skipped, as the annotator read it."""
    return dict(SKIP_REASONS).get(word, word)


@register.filter
def flag_text(word: str) -> StrOrPromise:
    """What a flag says, as the annotator read it."""
    return dict(FLAGS).get(word, word)


@register.filter
def pause_reason(word: str) -> StrOrPromise:
    """Why somebody is paused."""
    return PauseReason(word).label if word in PauseReason.values else word


@register.filter
def event_text(action: str) -> StrOrPromise:
    """What an event of the trace was; one that nobody foresaw by its own name."""
    return EVENTS.get(action, action)


def _field_name(name: str) -> str:
    """What the first model that has such a field calls it."""
    for model in (Study, Participation, PairwiseLabel, Invitation):
        try:
            field = model._meta.get_field(name)  # noqa: SLF001 - documented, for all its name
        except FieldDoesNotExist:
            continue
        return str(getattr(field, "verbose_name", name))
    return name


@register.filter
def rule_name(name: str) -> str:
    """How a page calls what an event tells of, also after `before` and `after`."""
    when, _space, rule = name.rpartition(" ")
    if name in DETAILS:
        return str(DETAILS[name])
    if when == "questionnaire":
        when, rule = rule, when
    text = str(DETAILS.get(rule) or _field_name(rule))
    if rule.isdigit():
        text = gettext("reply %(n)s") % {"n": rule}
    if when == "before":
        return gettext("%(rule)s, before") % {"rule": text}
    return gettext("%(rule)s, after") % {"rule": text} if when == "after" else text


@register.filter
def selection_words(stored: Mapping[str, Any]) -> str:
    """How the items of a study were chosen, in one line; "" for all of them."""
    parts = []
    order = list(DETAILS)  # PostgreSQL keeps none
    for name, value in sorted(stored.items(), key=lambda row: order.index(row[0])):
        if value is True:
            parts.append(rule_name(name))
        elif name == "strata":
            words = ", ".join(label(Stratum(each)) for each in value)
            parts.append(f"{rule_name(name)}: {words}")
        elif name == "plan":
            parts.append(f"{rule_name(name)}: #{value}")
        else:
            words = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            parts.append(f"{rule_name(name)}: {words}")
    return " · ".join(parts)


@register.filter
def told_value(value: str) -> StrOrPromise:
    """A value that an event tells, in words where it is a code; a moment as on other pages."""
    if _MOMENT.fullmatch(value):
        return localtime(datetime.fromisoformat(value)).strftime("%Y-%m-%d %H:%M")
    return _VALUES.get(value, value)
