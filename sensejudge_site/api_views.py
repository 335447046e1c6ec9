"""Where an API token comes from."""

from __future__ import annotations

from knox.views import LoginView
from rest_framework.authentication import BasicAuthentication


class TokenView(LoginView):
    """POST with basic authentication; answers {token, expiry}. The token is stored hashed."""

    authentication_classes = (BasicAuthentication,)
