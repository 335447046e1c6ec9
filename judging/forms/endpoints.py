"""Adding and changing an endpoint: it names the variable of its key, and never has the key."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotation.core.refusals import text_of
from annotation.core.stored_json import StorableDecoder
from annotation.models import User
from judging.core.endpoints import (
    FROM_SETTINGS,
    holds_key,
    lays_key_open,
    looks_like_key,
    may_be_asked,
    split_address,
)
from judging.llm.errors import LlmError
from judging.models import ModelEndpoint

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

FIRST: Final = ("name", "base_url", "model", "key_variable")
PRICES: Final = ("input_price", "cached_input_price", "output_price", "batch_price_share")
LIMITS: Final = (
    "temperature",
    "max_tokens",
    "context_tokens",
    "timeout_seconds",
    "concurrency",
    "requests_per_minute",
    "tokens_per_minute",
    "extra_sampling",
    "extra_headers",
)
ABLE: Final = ("has_logprobs", "has_json_schema", "has_system_role", "has_scores")
_SET_BY_VARIABLES: Final = ("base_url", "model", "key_variable", "timeout_seconds", "concurrency")
_JSON: Final = ("extra_sampling", "extra_headers")
_TEXTS: Final = ("name", "base_url", "model", "key_variable", *_JSON)
_VALUE: Final = re.compile(r'"([^"]*)"\s*[,}]')
_IS_KEY: Final = _(
    "This looks like the API key itself, so it was not saved. Set the key as an environment "
    "variable on the server, such as LLM_OPENAI_KEY, and enter that name as the variable. If "
    "others may have seen the key, replace it at the provider."
)

_HAS_QUERY: Final = _(
    "Leave out the part of the address after the question mark. It was not saved, as it may hold "
    "a key."
)


class EndpointForm(forms.ModelForm[ModelEndpoint]):
    """An endpoint. A key that is typed into any field is neither stored nor shown again."""

    def __init__(self, data: Any = None, *args: Any, **kwargs: Any) -> None:
        self._keys: dict[str, StrOrPromise] = {}
        if data is not None:
            data = data.copy()
            for name in _TEXTS:
                place = f"{kwargs['prefix']}-{name}" if kwargs.get("prefix") else name
                text = str(data.get(place) or "")
                is_secret = _is_secret(name, text)
                if is_secret or (name == "base_url" and "?" in text):
                    data[place] = ""
                    self._keys[name] = _IS_KEY if is_secret else _HAS_QUERY
        super().__init__(data, *args, **kwargs)
        for name in _JSON:
            extra = self.fields.get(name)
            if isinstance(extra, forms.JSONField):
                extra.decoder = StorableDecoder
                extra.widget.attrs["rows"] = 3

    def clean_base_url(self) -> str:
        """The address; one that was entered anew is not read on the way to it, nor is the key."""
        address: str = self.cleaned_data["base_url"]
        if split_address(address) is None:
            raise forms.ValidationError(gettext(text_of("llm:bad-endpoint")))
        if "base_url" in self.changed_data and lays_key_open(address):
            raise forms.ValidationError(
                _("Begin the address with https://: over http:// the key could be read on the way.")
            )
        return address

    def clean_extra_sampling(self) -> dict[str, Any]:
        """The object, never NULL: an empty field says that there are no further fields."""
        return self.cleaned_data["extra_sampling"] or {}

    def clean_extra_headers(self) -> dict[str, str]:
        """The same of headers."""
        return self.cleaned_data["extra_headers"] or {}

    def clean(self) -> dict[str, Any]:
        """Say of each field whose text was dropped what belongs there."""
        cleaned = super().clean() or self.cleaned_data
        for name, said in self._keys.items():
            self.errors.pop(name, None)
            self.add_error(name, said)
        return cleaned


class ManagedEndpointForm(EndpointForm):
    """An endpoint on the pages: managers may name the hosts of LLM_HOSTS, and those in use."""

    class Meta:
        model = ModelEndpoint
        fields = (*FIRST, *PRICES, *LIMITS, *ABLE)

    def __init__(self, data: Any = None, *, by: User, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self._by = by
        self.fields["base_url"].help_text = _(
            "It ends just before /chat/completions, as in https://api.openai.com/v1 or "
            "http://127.0.0.1:8080/v1."
        )
        self.fields["key_variable"].help_text = _(
            "The variable's name, such as LLM_OPENAI_KEY, never the key. It begins with LLM_ or is "
            "listed in LLM_KEY_VARIABLES. Leave empty if no key is needed."
        )
        self.fields["name"].help_text = _("Runs show the judge by this name.")
        if self.instance.pk is not None:
            self.fields["name"].disabled = True  # runs and figures are kept under it
        if self.is_set_by_variables:
            for name in _SET_BY_VARIABLES:
                self.fields[name].disabled = True

    @property
    def is_set_by_variables(self) -> bool:
        """Whether LLM_BASE_URL and its like describe the endpoint."""
        return self.instance.pk is not None and _from_settings(self.instance.name)

    @property
    def sections(self) -> list[tuple[str, list[forms.BoundField], bool]]:
        """What is folded: its title, its fields, and whether it is open for an error in it."""
        named = (
            (gettext("Prices"), PRICES),
            (gettext("Sampling and limits"), LIMITS),
            (gettext("Capabilities"), ABLE),
        )
        return [
            (title, [self[name] for name in names], not self.errors.keys().isdisjoint(names))
            for title, names in named
        ]

    @property
    def first(self) -> list[forms.BoundField]:
        """What every endpoint needs."""
        return [self[name] for name in FIRST]

    def clean_name(self) -> str:
        """The name, unless the variables of the environment would write over it."""
        name: str = self.cleaned_data["name"]
        if self.instance.pk is None and _from_settings(name):
            raise forms.ValidationError(
                _("The LLM_ variables of this server describe the endpoint %(name)s."),
                params={"name": name},
            )
        return name

    def clean_base_url(self) -> str:
        """The address, where this person may name its host.

        An endpoint's key is sent there, so a manager who could name any host could fetch it.
        """
        address = super().clean_base_url()
        if self.is_set_by_variables or "base_url" not in self.changed_data:
            return address
        used = ModelEndpoint.objects.values_list("base_url", flat=True)
        if not self._by.is_admin and not may_be_asked(address, hosts=settings.LLM_HOSTS, used=used):
            raise forms.ValidationError(
                _(
                    "Managers cannot add endpoints at %(host)s. Ask an admin to add this endpoint, "
                    "or to list the host in LLM_HOSTS on the server."
                ),
                params={"host": urlsplit(address).hostname},
            )
        return address


def failure_text(error: LlmError) -> str:
    """Why an endpoint did not answer, with its own words, or what was seen of it."""
    said = gettext("The endpoint said: %(text)s")
    if error.problem is None:
        said = gettext("Details: %(text)s")
    words = said % {"text": error.detail} if error.detail else ""
    return f"{gettext(text_of(error.code))} {words}".strip()


def _from_settings(name: str) -> bool:
    return bool(settings.LLM_BASE_URL) and name == FROM_SETTINGS


def _is_secret(field: str, text: str) -> bool:
    """Whether a text entered in a field must not be kept: a key, or a password in an address."""
    if field == "key_variable":
        return looks_like_key(text.strip())
    if field == "extra_headers" and any(map(looks_like_key, _VALUE.findall(text))):
        return True
    if field == "base_url":
        found = re.match(r"\w+://(?P<host>[^/?#]*)", text.strip())
        text = text.strip()[found.end() :] if found else text  # hosts are hashes at times
        if found and "@" in found["host"]:
            return True
    return holds_key(text, named=field == "name")
