"""Where an API token comes from, and where it ends; addresses that the API does not have."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.utils import translation
from django.utils.translation import get_supported_language_variant
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.utils import extend_schema, inline_serializer
from knox.views import LoginView, LogoutView
from rest_framework import serializers
from rest_framework.authentication import BasicAuthentication
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from sensejudge_site.api_tokens import PasswordTokenAuthentication, password_mark


@cache
def stored_schema(language: str) -> dict[str, Any]:
    """Returns the schema of the API in a language of the site."""
    with translation.override(language):
        generator = SchemaGenerator()  # type: ignore[no-untyped-call]
        found: dict[str, Any] = generator.get_schema(public=True)  # type: ignore[no-untyped-call]
    return found


class StoredSchema(SchemaGenerator):
    """The schema of the API, the same for everybody: generated once a process and language.

    Generating it takes 46 ms of a processor, for whoever asks.
    """

    def get_schema(self, request: Request | None = None, public: bool = False) -> dict[str, Any]:  # noqa: ARG002, FBT001, FBT002
        """The schema in the language in force, or in English where the site has none like it."""
        try:
            return stored_schema(get_supported_language_variant(translation.get_language() or ""))
        except LookupError:
            return stored_schema("en")


TOKEN = inline_serializer(
    "Token", {"token": serializers.CharField(), "expiry": serializers.DateTimeField()}
)


class TokenView(LoginView):  # type: ignore[misc]  # knox ships no types
    """POST with basic authentication; returns {token, expiry}. The token is stored hashed."""

    authentication_classes = (BasicAuthentication,)

    def get_token_prefix(self) -> str:
        """What ties the token to the password in force."""
        return password_mark(self.request.user)

    @extend_schema(request=None, responses=TOKEN)
    def post(self, request: Request) -> Response:
        """Create a token; it is shown only once."""
        answer: Response = super().post(request)
        return answer


class RevokeView(LogoutView):  # type: ignore[misc]  # knox ships no types
    """POST with a token in the header; revokes that token."""

    authentication_classes = (PasswordTokenAuthentication,)

    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request) -> Response:
        """Revoke the token that this request carries."""
        answer: Response = super().post(request)
        return answer


class UnknownView(APIView):
    """An address that the API does not have: an error as JSON, as all of its errors are."""

    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse every method alike, once it is known who asks."""
        super().initial(request, *args, **kwargs)
        raise NotFound("There is nothing at this address of the API. /api/ lists what there is.")
