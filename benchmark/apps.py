"""Django's handle on this app."""

from django.apps import AppConfig


class BenchmarkConfig(AppConfig):
    """Names the app; nothing runs at import or start."""

    name = "benchmark"
    default_auto_field = "django.db.models.BigAutoField"
