"""Django's i18n tags, with what is the same in every page of a language worked out once.

A page has fifty fixed sentences and a dozen addresses without a number. Templates load this library
as `i18n`; what depends on anything else is left to Django's own tags.
"""

from __future__ import annotations

from collections.abc import Callable

from django.template import Library
from django.template.base import Node, Parser, Token, Variable
from django.template.context import Context
from django.template.defaulttags import url
from django.templatetags import i18n
from django.urls import get_script_prefix
from django.utils.translation import get_language

register = Library()
register.filters.update(i18n.register.filters)
register.tags.update(i18n.register.tags)


class _Once(Node):
    """A node that says the same whenever the key is the same."""

    child_nodelists = ()

    def __init__(self, node: Node, key: Callable[[], str | None]) -> None:
        self._node = node
        self._key = key
        self._kept: dict[str | None, str] = {}

    def render(self, context: Context) -> str:
        key = self._key()
        kept = self._kept.get(key)
        if kept is None:
            kept = self._kept[key] = self._node.render(context)
        return kept


@register.tag("translate")
@register.tag("trans")
def translate(parser: Parser, token: Token) -> Node:
    """As Django's tag of the name; a text without filters is kept by language."""
    node = i18n.do_translate(parser, token)
    said = node.filter_expression
    literal = isinstance(said.var, Variable) and said.var.literal is not None and not said.filters
    if literal and not (node.noop or node.asvar or node.message_context):
        return _Once(node, get_language)
    return node


@register.tag("url")
def address(parser: Parser, token: Token) -> Node:
    """As Django's tag of the name; one without arguments is kept by the path of the site."""
    node = url(parser, token)
    named = node.view_name
    literal = isinstance(named.var, str) and not named.filters
    if literal and not (node.args or node.kwargs or node.asvar):
        return _Once(node, get_script_prefix)
    return node
