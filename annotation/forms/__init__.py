"""What people send: forms of pages, and those of an address's parameters."""

from __future__ import annotations

from typing import TypeVar

from django import forms
from django.http import QueryDict

from annotation.core.refusals import Refused

AnyForm = TypeVar("AnyForm", bound=forms.Form)


def asked(form: type[AnyForm], parameters: QueryDict, *, code: str) -> AnyForm:
    """The form of an address's parameters, checked.

    Raises:
        Refused: with this code, where one is malformed, so that it names nothing that exists.
    """
    filled: AnyForm = form(parameters)
    if not filled.is_valid():
        raise Refused(code, f"malformed: {', '.join(filled.errors)}")
    return filled
