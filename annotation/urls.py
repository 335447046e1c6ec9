"""Addresses of the annotation app."""

from __future__ import annotations

from django.urls import URLPattern

app_name = "annotation"

urlpatterns: list[URLPattern] = []
