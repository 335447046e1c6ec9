"""What every page needs from the template language: links, theme, numbers, rendered model text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from django import template
from django.core.exceptions import FieldDoesNotExist
from django.template import Context
from django.urls import reverse
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from annotation.core.dataset_names import SlugNames, split_derived
from annotation.core.formats.records import Fault
from annotation.core.formats.table_values import SCENARIO
from annotation.core.item_names import ItemKey
from annotation.core.markdown import FOLDS, to_html
from annotation.core.refusals import text_of
from annotation.models import AnnotatorProfile

register = template.Library()

UNDEFINED: Final = "–"  # shown where a figure does not exist; the reason stands beside it
_THIN: Final = "\u202f"  # narrow no-break space between a number and its unit
_MINUS: Final = "\u2212"


@register.filter
def code_text(code: str) -> str:
    """The sentence of an error code: what happened and what to do."""
    return gettext(text_of(code))


@register.filter
def by_origin(datasets: Iterable[Any]) -> list[tuple[str, SlugNames]]:
    """Datasets as groups of a selector: those of people without a label, then derived ones.

    Args:
        datasets: pairs of short and shown name, or rows with `slug` and `name`.
    """
    names = [each if isinstance(each, tuple) else (each.slug, each.name) for each in datasets]
    own, derived = split_derived(names)
    return [("", own)] + ([(gettext("Derived datasets"), derived)] if derived else [])


@register.filter
def named_scenario(name: str) -> str:
    """A scenario's name; "" for that of files that name none, which tells an annotator nothing."""
    return "" if str(name) == SCENARIO else str(name)


@register.simple_tag(takes_context=True)
def nav_link(context: Context, name: str, label: str, also: str = "") -> SafeString:
    """A link of the main navigation, marked where the page lies at or below its address.

    So it is below one of the addresses `also`, which are separated by spaces.
    """
    url = reverse(name)
    request = context.get("request")
    here = request is not None and (
        request.path.startswith(url) or request.path_info.startswith(tuple(also.split()))
    )
    current = mark_safe(' aria-current="page"') if here else ""
    return format_html('<a href="{}"{}>{}</a>', url, current, label)


@register.simple_tag
def method(anchor: str) -> SafeString:
    """A link to how a figure is computed: a section of docs/methods.md by its anchor."""
    words = gettext("How this is computed")
    # A space that does not break keeps the link beside the last word of its heading.
    return format_html(
        '\u00a0<a class="method" href="{}#{}" aria-label="{}" title="{}">?</a>',
        reverse("methods"),
        anchor,
        words,
        words,
    )


@register.filter
def percent(share: float | None, places: int = 0) -> str:
    """A share of 0-1 as `78 %`; the dash where there is none."""
    return UNDEFINED if share is None else f"{share * 100:.{places}f}{_THIN}%"


@register.filter
def points(difference: float | None, places: int = 0) -> str:
    """A difference of shares (-1 to 1) in signed percentage points, as `+12`."""
    return UNDEFINED if difference is None else _signed(difference * 100, places)


@register.filter
def decimal(value: float | None, places: int = 2) -> str:
    """A number with a fixed count of decimals and a real minus sign."""
    if value is None:
        return UNDEFINED
    rounded = round(value, places) + 0.0  # + 0.0 turns -0.0 into 0.0
    return f"{rounded:.{places}f}".replace("-", _MINUS)


@register.filter
def difference(value: float | None, places: int = 3) -> str:
    """A difference with its sign and a fixed count of decimals."""
    return UNDEFINED if value is None else _signed(value, places)


def _signed(value: float, places: int) -> str:
    rounded = round(value, places) + 0.0  # + 0.0 turns -0.0 into 0.0
    sign = "+" if rounded > 0 else _MINUS if rounded < 0 else ""
    return f"{sign}{abs(rounded):.{places}f}"


@register.filter
def markdown(text: str) -> SafeString:
    """Model or user text as safe HTML (annotation.core.markdown)."""
    folds = tuple((name, gettext(words)) for name, words in FOLDS)
    return mark_safe(to_html(text, folds))  # noqa: S308 - sanitised there, last of all


@register.filter
def label(word: object) -> str:
    """A word of a vocabulary as people read it; any other value as it stands."""
    text = getattr(word, "label", "")
    return gettext(text) if text else str(word)


@register.filter
def item(key: str) -> SafeString:
    """An item as people call it, `#3 How do I boil an egg?`; its key shows on hover."""
    return _item(key, key.shown) if isinstance(key, ItemKey) else escape(key)


@register.filter
def item_number(key: str) -> SafeString:
    """`#3`, beside the words of the item; its key shows on hover."""
    return _item(key, f"#{key.number}") if isinstance(key, ItemKey) else escape(key)


@register.filter
def item_words(key: str) -> SafeString:
    """The first words of an item, beside its number; its key shows on hover."""
    return _item(key, key.words) if isinstance(key, ItemKey) else escape(key)


def _item(key: str, name: str) -> SafeString:
    return format_html('<span title="{}">{}</span>', key, name)


@register.filter
def named(user_id: int | None, names: Mapping[int, str]) -> str:
    """The name that a user goes by in a dataset (queries.participants.names_of); "" for nobody."""
    return names.get(user_id or 0, "")


@register.filter
def profile_field(name: str) -> str:
    """How a page calls a field of a user's profile; one that only the file knows stays as it is."""
    try:
        field = AnnotatorProfile._meta.get_field(name)  # noqa: SLF001 - documented, for all its name
    except FieldDoesNotExist:
        return name
    return str(getattr(field, "verbose_name", name))


@register.filter
def fault_text(fault: Fault) -> str:
    """What is wrong with a row of a file, in the reader's language."""
    return gettext(fault.text) % fault.parts if fault.parts else gettext(fault.text)
