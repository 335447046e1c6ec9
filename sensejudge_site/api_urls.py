"""The REST interface, version 1; a token comes from `POST /api/v1/token/` (basic authentication)."""

from __future__ import annotations

from django.urls import include, path
from knox.views import LogoutView

from sensejudge_site.api_views import TokenView

urlpatterns = [
    path("token/", TokenView.as_view(), name="api-token"),
    path("token/revoke/", LogoutView.as_view(), name="api-token-revoke"),
    path("", include("annotation.api.urls")),
    path("", include("judging.api.urls")),
]
