"""Django's handle on this app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from benchmark.core import refusal_texts  # noqa: F401 - registers the codes


class BenchmarkConfig(AppConfig):
    """Names the app; nothing runs at import or start."""

    name = "benchmark"
    verbose_name = _("Benchmarks")
    default_auto_field = "django.db.models.BigAutoField"
