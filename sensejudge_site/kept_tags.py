"""Django's i18n tags, with what is the same in every page of a language worked out once.

A page has fifty fixed sentences and a dozen addresses without a number. Templates load this library
as `i18n`; what depends on anything else is left to Django's own tags.
"""

from __future__ import annotations

from django.template import Library
from django.template.base import Parser, Token, Variable
from django.template.context import Context
from django.template.defaulttags import URLNode, url
from django.templatetags import i18n
from django.urls import get_script_prefix
from django.utils.translation import get_language

register = Library()
register.filters.update(i18n.register.filters)
register.tags.update(i18n.register.tags)


class _FixedSentence(i18n.TranslateNode):
    """A text without filters, by language."""

    def __init__(self, node: i18n.TranslateNode) -> None:
        self.__dict__.update(node.__dict__)
        self._kept: dict[str | None, str] = {}

    def render(self, context: Context) -> str:
        language = get_language()
        kept = self._kept.get(language)
        if kept is None:
            kept = self._kept[language] = super().render(context)
        return kept


class _FixedAddress(URLNode):
    """An address without arguments, by the path that the site is under."""

    def __init__(self, node: URLNode) -> None:
        self.__dict__.update(node.__dict__)
        self._kept: dict[str, str] = {}

    def render(self, context: Context) -> str:
        prefix = get_script_prefix()
        kept = self._kept.get(prefix)
        if kept is None:
            kept = self._kept[prefix] = super().render(context)
        return kept


@register.tag("translate")
@register.tag("trans")
def translate(parser: Parser, token: Token) -> i18n.TranslateNode:
    """As Django's tag of the name."""
    node = i18n.do_translate(parser, token)
    said = node.filter_expression
    literal = isinstance(said.var, Variable) and said.var.literal is not None and not said.filters
    if literal and not (node.noop or node.asvar or node.message_context):
        return _FixedSentence(node)
    return node


@register.tag("url")
def address(parser: Parser, token: Token) -> URLNode:
    """As Django's tag of the name."""
    node = url(parser, token)
    named = node.view_name
    literal = isinstance(named.var, str) and not named.filters
    return _FixedAddress(node) if literal and not (node.args or node.kwargs or node.asvar) else node
