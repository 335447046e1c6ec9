"""Addresses of the benchmark app."""

from __future__ import annotations

from django.urls import path

from benchmark.views.ablations import (
    ablations,
    ablations_csv,
    estimate_new_ablation,
    new_ablation,
)
from benchmark.views.annotators import disagreements, people, people_csv
from benchmark.views.exports import agreement_csv, figures_csv, leaderboard_csv, personal_csv
from benchmark.views.gold import gold, gold_csv, gold_rows
from benchmark.views.judges import judge_rows, judges, judges_csv
from benchmark.views.pairing import pairing
from benchmark.views.satisfaction import (
    estimate_new_evaluation,
    models,
    new_evaluation,
    satisfaction,
    satisfaction_csv,
    satisfaction_evaluator,
    satisfaction_training,
)
from benchmark.views.trust import calibration, leaderboard, leaderboard_model, trust, trust_rows

app_name = "benchmark"

urlpatterns = [
    path("datasets/<slug:slug>/pairing/", pairing, name="pairing"),
    path("trust/", trust, name="trust"),
    path("trust/rows/", trust_rows, name="trust-rows"),
    path("trust/figures.csv", figures_csv, name="figures-csv"),
    path("trust/personal.csv", personal_csv, name="personal-csv"),
    path("trust/agreement.csv", agreement_csv, name="agreement-csv"),
    path("trust/satisfaction/", satisfaction, name="satisfaction"),
    path("trust/satisfaction/new/", new_evaluation, name="evaluation-new"),
    path("trust/satisfaction/new/estimate/", estimate_new_evaluation, name="evaluation-estimate"),
    path(
        "trust/satisfaction/evaluator/<number:place>/",
        satisfaction_evaluator,
        name="satisfaction-evaluator",
    ),
    path("trust/satisfaction/training/", satisfaction_training, name="satisfaction-training"),
    path("trust/satisfaction/models/<number:run_id>/", models, name="model-scores"),
    path("trust/calibration/<number:run_id>/", calibration, name="calibration"),
    path("trust/satisfaction.csv", satisfaction_csv, name="satisfaction-csv"),
    path("trust/judges/", judges, name="judges"),
    path("trust/judges/rows/", judge_rows, name="judge-rows"),
    path("trust/judges.csv", judges_csv, name="judges-csv"),
    path("trust/gold/", gold, name="gold"),
    path("trust/gold/rows/", gold_rows, name="gold-rows"),
    path("trust/gold.csv", gold_csv, name="gold-csv"),
    path("trust/people/", people, name="people"),
    path("trust/people.csv", people_csv, name="people-csv"),
    path("trust/disagreements/", disagreements, name="disagreements"),
    path("trust/ablations/", ablations, name="ablations"),
    path("trust/ablations.csv", ablations_csv, name="ablations-csv"),
    path("trust/ablations/new/", new_ablation, name="ablation-new"),
    path("trust/ablations/new/estimate/", estimate_new_ablation, name="ablation-estimate"),
    path("leaderboard/", leaderboard, name="leaderboard"),
    path("leaderboard/model/", leaderboard_model, name="leaderboard-model"),
    path("leaderboard/leaderboard.csv", leaderboard_csv, name="leaderboard-csv"),
]
