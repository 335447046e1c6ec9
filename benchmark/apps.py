"""Django's handle on this app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from annotation.core.pairing import PairingKind
from annotation.core.refusals import gettext_noop
from benchmark.core import refusal_texts  # noqa: F401 - registers the codes
from benchmark.core.ablation import Vary
from benchmark.core.construction import BuildStage
from benchmark.core.replay_items import ItemRule
from judging.core.rules import JudgePrompt
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
                **{f"step={each.word}": each.label for each in JudgePrompt},
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
                "step=duplicates": BuildStage.DUPLICATES.label,
                "step=length and quality": BuildStage.QUALITY.label,
                "step=personal data": BuildStage.PRIVACY.label,
                "step=denoising and categories": BuildStage.SORTING.label,
                "step=candidates": gettext_noop("Candidates"),
                "step=answers of the strong model": gettext_noop("Responses of the strong model"),
                "step=answers of the weak model": gettext_noop("Responses of the weak model"),
                "step=comparisons": gettext_noop("Comparisons"),
                "step=verdicts in both orders": gettext_noop("Verdicts in both orders"),
                "step=strong against weak": BuildStage.CHALLENGE.label,
            },
        )
        REGISTERED["SORT"] = RegisteredKind(
            gettext_noop("Denoising and categories"),
            "benchmark.services.construction_sorting.SORT",
            {"construction": gettext_noop("Construction run")},
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
                **{f"items={each.value.lower()}": each.label for each in ItemRule},
                "replayed": gettext_noop("turns replayed"),
                "step=generate": gettext_noop("Generate responses"),
                "step=score": gettext_noop("Score turns"),
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
