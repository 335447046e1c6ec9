"""API tokens that end with the password they were made under, by whatever way it changes.

A token begins with a mark of the password's hash, and the database keeps that beginning beside the
token's digest. A token whose mark is not that of the hash in force opens nothing, as Django does it
with sessions: nobody who changes a password has to think of its tokens.
"""

from __future__ import annotations

from typing import Any, Final

from django.utils.crypto import constant_time_compare, salted_hmac
from drf_spectacular.contrib.knox_auth_token import KnoxTokenScheme
from knox.auth import TokenAuthentication
from rest_framework.exceptions import AuthenticationFailed

from annotation.models import User

_SALT: Final = "sensejudge_site.api_tokens"
_LENGTH: Final = 10  # of the mark, in hexadecimal digits: as much as a prefix of knox may have


def password_mark(user: User) -> str:
    """What a token of this user begins with while their password stays as it is."""
    return salted_hmac(_SALT, user.password, algorithm="sha256").hexdigest()[:_LENGTH]


class PasswordTokenAuthentication(TokenAuthentication):  # type: ignore[misc]  # knox ships no types
    """Knox's tokens, while the password stays as it was when they were made."""

    def validate_user(self, auth_token: Any) -> tuple[User, Any]:
        """The token's user.

        Raises:
            AuthenticationFailed: they may not sign in, or have another password since.
        """
        user, token = super().validate_user(auth_token)
        if not constant_time_compare(token.token_key[:_LENGTH], password_mark(user)):
            raise AuthenticationFailed
        return user, token


class PasswordTokenScheme(KnoxTokenScheme):  # type: ignore[no-untyped-call]
    """How the API's description calls it."""

    target_class = "sensejudge_site.api_tokens.PasswordTokenAuthentication"
