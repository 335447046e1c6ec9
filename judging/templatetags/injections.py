"""How pages call kinds of attempts and what became of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django import template
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.templatetags.look import label
from judging.core.injections import AttemptKind
from judging.core.rules import JudgePrompt
from judging.templatetags.run_settings import setting_value

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

register = template.Library()

OUTCOMES: Final[dict[str, StrOrPromise]] = {
    "turned": _("verdict changed"),
    "held": _("verdict unchanged"),
    "unreadable": _("unreadable"),
    "failed": _("failed"),
    "both": _("prefers the repetition in both orders"),
    "one": _("in one order only"),
    "neither": _("in neither order"),
}
LANGUAGES: Final[dict[str, StrOrPromise]] = {"en": "English", "zh": "中文"}


@register.filter
def attempt_kind(kind: str | None) -> str:
    """A kind of attempt in words."""
    return label(AttemptKind(kind)) if kind in set(AttemptKind) else gettext("all kinds")


@register.filter
def attempt_outcome(outcome: str) -> str:
    """What became of an attempt, in words."""
    return str(OUTCOMES.get(outcome, outcome))


@register.filter
def language_name(language: str | None) -> str:
    """A prompt's language by its own name."""
    return str(LANGUAGES.get(language or "", _("all languages")))


@register.filter
def asked_by(prompt: str) -> str:
    """How a judge was asked, as on a run's page."""
    return setting_value(JudgePrompt(prompt), "prompt")
