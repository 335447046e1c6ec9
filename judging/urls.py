"""Addresses of the judging app."""

from __future__ import annotations

from django.urls import URLPattern

app_name = "judging"

urlpatterns: list[URLPattern] = []
