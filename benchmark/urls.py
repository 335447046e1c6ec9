"""Addresses of the benchmark app."""

from __future__ import annotations

from django.urls import path, re_path

from benchmark.views.ablations import (
    ablation_judgments,
    ablations,
    ablations_csv,
    estimate_new_ablation,
    new_ablation,
)
from benchmark.views.annotators import disagreement, disagreements, people, people_csv
from benchmark.views.construction import (
    construction,
    construction_item,
    construction_items,
    constructions,
    estimate_new_construction,
    freeze_construction,
    new_construction,
    version,
    version_download,
)
from benchmark.views.corrected import corrected, corrected_csv, corrected_rows
from benchmark.views.exports import agreement_csv, figures_csv, personal_csv
from benchmark.views.gold import gold, gold_csv, gold_rows
from benchmark.views.grades import graded_responses, grades, grades_csv
from benchmark.views.judges import judge_rows, judges, judges_csv
from benchmark.views.model_satisfaction import (
    model_satisfaction,
    model_satisfaction_csv,
    model_satisfaction_rows,
)
from benchmark.views.pairing import pairing
from benchmark.views.pairs import pairs_file, pairs_page
from benchmark.views.ranking import (
    head_to_head_csv,
    leaderboard,
    leaderboard_annotators,
    leaderboard_annotators_csv,
    leaderboard_csv,
    leaderboard_model,
    leaderboard_pairs,
    leaderboard_pairs_csv,
    leaderboard_reference,
)
from benchmark.views.replay import (
    estimate_new_replay,
    new_replay,
    replay,
    replay_csv,
    replay_rows,
    replays,
)
from benchmark.views.satisfaction import (
    estimate_new_evaluation,
    models,
    models_csv,
    new_evaluation,
    satisfaction,
    satisfaction_csv,
    satisfaction_evaluator,
    satisfaction_runs,
    satisfaction_runs_csv,
    satisfaction_training,
)
from benchmark.views.snapshots import (
    compare_snapshots,
    keep_now,
    keep_replay_now,
    snapshot,
    snapshot_file,
    snapshots,
)
from benchmark.views.trust import calibration, calibration_csv, trust, trust_rows

app_name = "benchmark"

urlpatterns = [
    path("benchmarks/", constructions, name="constructions"),
    path("benchmarks/new/", new_construction, name="construction-new"),
    path(
        "benchmarks/new/estimate/",
        estimate_new_construction,
        name="construction-estimate",
    ),
    path("benchmarks/runs/<number:run_id>/", construction, name="construction"),
    path(
        "benchmarks/runs/<number:run_id>/freeze/", freeze_construction, name="construction-freeze"
    ),
    path(
        "benchmarks/runs/<number:run_id>/dialogues/",
        construction_items,
        name="construction-items",
    ),
    path(
        "benchmarks/runs/<number:run_id>/dialogues/<number:position>/",
        construction_item,
        name="construction-item",
    ),
    path("benchmarks/versions/<slug:name>/", version, name="version"),
    path("benchmarks/versions/<slug:name>/<slug:form>/", version_download, name="version-download"),
    path("snapshots/", snapshots, name="snapshots"),
    path("snapshots/keep/<slug:page>/", keep_now, name="keep"),
    path("snapshots/keep/replay/<number:run_id>/", keep_replay_now, name="keep-replay"),
    path("snapshots/<number:number>/", snapshot, name="snapshot"),
    path("snapshots/<number:number>/compare/", compare_snapshots, name="snapshot-compare"),
    path("snapshots/<number:number>/snapshot.<slug:form>", snapshot_file, name="snapshot-file"),
    re_path(
        r"^datasets/(?P<slug>[-\w]+)/export/preference_pairs"
        r"\.(?P<format_name>jsonl|csv|excel|zip|parquet)$",
        pairs_file,
        name="preference-pairs-export",
    ),
    path("datasets/<slug:slug>/preference-pairs/", pairs_page, name="preference-pairs"),
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
    path("trust/satisfaction/runs/", satisfaction_runs, name="satisfaction-runs"),
    path("trust/satisfaction/runs.csv", satisfaction_runs_csv, name="satisfaction-runs-csv"),
    path("trust/satisfaction/training/", satisfaction_training, name="satisfaction-training"),
    path("trust/satisfaction/models/<number:run_id>/", models, name="model-scores"),
    path("trust/satisfaction/models/<number:run_id>.csv", models_csv, name="model-scores-csv"),
    path("trust/calibration/<number:run_id>/", calibration, name="calibration"),
    path("trust/calibration/<number:run_id>.csv", calibration_csv, name="calibration-csv"),
    path("trust/satisfaction.csv", satisfaction_csv, name="satisfaction-csv"),
    path("leaderboard/replays/", replays, name="replays"),
    path("leaderboard/replays/new/", new_replay, name="replay-new"),
    path("leaderboard/replays/new/estimate/", estimate_new_replay, name="replay-estimate"),
    path("leaderboard/replays/<number:run_id>/", replay, name="replay"),
    path("leaderboard/replays/<number:run_id>/rows/", replay_rows, name="replay-rows"),
    path("leaderboard/replays/<number:run_id>/replay.csv", replay_csv, name="replay-csv"),
    path("trust/judges/", judges, name="judges"),
    path("trust/judges/rows/", judge_rows, name="judge-rows"),
    path("trust/judges.csv", judges_csv, name="judges-csv"),
    path("trust/gold/", gold, name="gold"),
    path("trust/gold/rows/", gold_rows, name="gold-rows"),
    path("trust/gold.csv", gold_csv, name="gold-csv"),
    path("trust/people/", people, name="people"),
    path("trust/people.csv", people_csv, name="people-csv"),
    path("trust/disagreements/", disagreements, name="disagreements"),
    path(
        "trust/disagreements/<number:comparison_id>/<number:annotator_id>/",
        disagreement,
        name="disagreement",
    ),
    path("trust/ablations/", ablations, name="ablations"),
    path("trust/ablations.csv", ablations_csv, name="ablations-csv"),
    path("trust/ablations/judgments/", ablation_judgments, name="ablation-judgments"),
    path("trust/ablations/new/", new_ablation, name="ablation-new"),
    path("trust/ablations/new/estimate/", estimate_new_ablation, name="ablation-estimate"),
    path("leaderboard/", leaderboard, name="leaderboard"),
    path("leaderboard/model/", leaderboard_model, name="leaderboard-model"),
    path("leaderboard/satisfaction/", model_satisfaction, name="model-satisfaction"),
    path("leaderboard/satisfaction/rows/", model_satisfaction_rows, name="model-satisfaction-rows"),
    path("leaderboard/satisfaction.csv", model_satisfaction_csv, name="model-satisfaction-csv"),
    path("leaderboard/grades/", grades, name="grades"),
    path("leaderboard/grades/rows/", graded_responses, name="graded-responses"),
    path("leaderboard/grades.csv", grades_csv, name="grades-csv"),
    path("leaderboard/corrected/", corrected, name="corrected"),
    path("leaderboard/corrected/rows/", corrected_rows, name="corrected-rows"),
    path("leaderboard/corrected.csv", corrected_csv, name="corrected-csv"),
    path("leaderboard/leaderboard.csv", leaderboard_csv, name="leaderboard-csv"),
    path("leaderboard/annotators/", leaderboard_annotators, name="leaderboard-annotators"),
    path(
        "leaderboard/annotators.csv",
        leaderboard_annotators_csv,
        name="leaderboard-annotators-csv",
    ),
    path("leaderboard/pairs/", leaderboard_pairs, name="leaderboard-pairs"),
    path("leaderboard/pairs.csv", leaderboard_pairs_csv, name="leaderboard-pairs-csv"),
    path("leaderboard/reference/", leaderboard_reference, name="leaderboard-reference"),
    path("leaderboard/head-to-head.csv", head_to_head_csv, name="head-to-head-csv"),
]
