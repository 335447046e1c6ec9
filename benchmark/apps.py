"""Django's handle on this app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from annotation.core.pairing import PairingKind
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
                "vary": gettext_noop("Varied setting"),
                **{f"vary={each.value}": each.label for each in Vary},
                "scenario": gettext_noop("Scenario"),
                "scenario=": gettext_noop("all"),
            },
        )
        REGISTERED["CONSTRUCT"] = RegisteredKind(
            gettext_noop("Benchmark construction"),
            "benchmark.services.construction_runs.CONSTRUCT",
            {
                "version": gettext_noop("Version"),
                "sorter": gettext_noop("Judge that denoises and sorts"),
                "judged_by": gettext_noop("Judge that compares"),
                "strong": gettext_noop("Strong model"),
                "weak": gettext_noop("Weak model"),
            },
        )
        REGISTERED["SORT"] = RegisteredKind(
            gettext_noop("Denoising and categories"),
            "benchmark.services.construction_sorting.SORT",
            {"construction": gettext_noop("Construction"), "sorts": gettext_noop("Sorts")},
            rows="benchmark.queries.construction.sorted_rows",
        )
        REGISTERED["EVALUATE"] = RegisteredKind(
            gettext_noop("Satisfaction evaluation"),
            "benchmark.services.evaluation_runs.EVALUATE",
            {"draws": gettext_noop("Bootstrap draws"), "curve": gettext_noop("learning curve")},
        )
        REGISTERED["REPLAY"] = RegisteredKind(
            gettext_noop("Replay"),
            "benchmark.services.replay_runs.REPLAY",
            {
                "evaluator": gettext_noop("Evaluator"),
                "items": gettext_noop("Turns to replay"),
                "replayed": gettext_noop("turns replayed"),
            },
        )
        REGISTERED["PAIR"] = RegisteredKind(
            gettext_noop("Planned comparisons"),
            "benchmark.services.pairing_runs.PAIR",
            {
                "kind": gettext_noop("Comparisons to create"),
                **{f"kind={each.value}": each.label for each in PairingKind},
                "anchor": gettext_noop("Anchor model"),
                "scenarios": gettext_noop("Scenarios"),
                "models": gettext_noop("Models"),
                "both_models": gettext_noop("Both responses must be by the chosen models"),
                "variants": gettext_noop("Variants as models of their own"),
                "size": gettext_noop("Number of comparisons"),
                "cap": gettext_noop("Max comparisons per model pair and prompt"),
                "verdicts": gettext_noop("Verdicts that decide the next batch"),
                "verdicts_of": gettext_noop("Judge"),
                "incomplete": gettext_noop(
                    "Create the next batch even if the last one lacks verdicts"
                ),
            },
        )
