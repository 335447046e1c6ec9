"""Django's handle on this app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from annotation.core.refusals import gettext_noop
from benchmark.core import refusal_texts  # noqa: F401 - registers the codes
from benchmark.core.ablation import Vary
from judging.core.runs import REGISTERED, RegisteredKind


class BenchmarkConfig(AppConfig):
    """Names the app, and the kinds of run that it adds to the engine's."""

    name = "benchmark"
    verbose_name = _("Benchmarks")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Registers the kinds of run; what works them off is imported once it is needed."""
        REGISTERED["ABLATE"] = RegisteredKind(
            gettext_noop("Ablation"),
            "benchmark.services.ablation_runs.ABLATE",
            {
                "vary": gettext_noop("What to vary"),
                **{f"vary={each.value}": each.label for each in Vary},
            },
        )
        REGISTERED["EVALUATE"] = RegisteredKind(
            gettext_noop("Satisfaction evaluation"),
            "benchmark.services.evaluation_runs.EVALUATE",
            {"draws": gettext_noop("Bootstrap draws"), "curve": gettext_noop("learning curve")},
        )
