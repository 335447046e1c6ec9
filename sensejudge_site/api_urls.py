"""The REST interface, version 1; a token comes from `POST token/` with basic authentication."""

from __future__ import annotations

from django.urls import include, path, re_path

from sensejudge_site.api_views import RevokeView, TokenView, UnknownView

urlpatterns = [
    path("token/", TokenView.as_view(), name="api-token"),
    path("token/revoke/", RevokeView.as_view(), name="api-token-revoke"),
    path("", include("annotation.api.urls")),
    path("", include("judging.api.urls")),
    path("", include("benchmark.api.urls")),
    # With its slash: one that lacks it is redirected, as everywhere.
    re_path(r"^(?:.*/)?$", UnknownView.as_view(), name="api-unknown"),
]
