"""Addresses of the benchmark app."""

from __future__ import annotations

from django.urls import URLPattern

app_name = "benchmark"

urlpatterns: list[URLPattern] = []
