"""Addresses of the judging app."""

from __future__ import annotations

from django.urls import URLPattern, path, re_path

from annotation.views.labelling import ITEM
from judging.views import (
    conversations,
    endpoints,
    generation,
    injections,
    memories,
    preferences,
    prompts,
    run_starts,
    runs,
)

app_name = "judging"

# Downloads of what the judges said, beside those of labels.
_exports = [
    re_path(
        r"^datasets/(?P<slug>[-\w]+)/export/"
        r"(?P<kind>judgments|preferences|preference_sets|memories|satisfaction_judgments|rubrics"
        r"|generated_responses|mtbench_(?:questions|answers|votes|pairs|singles)"
        r"|alpaca_(?:outputs|annotations)|arena_battles|rewardbench)"
        r"\.(?P<format_name>jsonl|csv|excel|zip|parquet)$",
        runs.export,
        name="export",
    ),
]

# Runs, and what came of them.
_runs = [
    path("runs/", runs.runs, name="runs"),
    path("runs/new/", run_starts.new_run, name="run-new"),
    path("runs/new/estimate/", run_starts.estimate, name="run-estimate"),
    path("runs/compare/", runs.compare, name="run-compare"),
    path("runs/<number:run_id>/", runs.run, name="run"),
    path("runs/<number:run_id>/progress/", runs.progress, name="run-progress"),
    path("runs/<number:run_id>/retry/", runs.retry, name="run-retry"),
    path("runs/<number:run_id>/budget/", runs.budget, name="run-budget"),
    path("runs/<number:run_id>/stop/", runs.stop, name="run-stop"),
    path("runs/<number:run_id>/controls/", run_starts.controls, name="run-controls"),
    path("runs/<number:run_id>/controls/start/", run_starts.start_control, name="control-start"),
    path(
        "runs/<number:run_id>/comparisons/<number:comparison_id>/",
        runs.comparison,
        name="comparison",
    ),
    path("preference-sets/<number:set_id>/", preferences.preference_set, name="preference-set"),
]

# Endpoints that runs may ask.
_ENDPOINT = "runs/endpoints/<number:endpoint_id>/"
_endpoints = [
    path("runs/endpoints/", endpoints.endpoints, name="endpoints"),
    path("runs/endpoints/new/", endpoints.edit_endpoint, name="endpoint-new"),
    path(_ENDPOINT, endpoints.edit_endpoint, name="endpoint"),
    path(f"{_ENDPOINT}test/", endpoints.test_endpoint, name="endpoint-test"),
    path(f"{_ENDPOINT}switch/", endpoints.switch_endpoint, name="endpoint-switch"),
]

# Preferences, which their annotators and managers edit.
_preferences = [
    path("preferences/", preferences.my_preferences, name="my-preferences"),
    path("preferences/<number:preference_id>/", preferences.preference, name="preference"),
    path("preferences/<number:preference_id>/edit/", preferences.edit, name="preference-edit"),
    path(
        "preferences/<number:preference_id>/switch/", preferences.switch, name="preference-switch"
    ),
    path("runs/<number:run_id>/preferences/", preferences.run_preferences, name="run-preferences"),
    path("runs/<number:run_id>/preferences/judge/", preferences.judge_again, name="judge-again"),
    path(
        "runs/<number:run_id>/preferences/<number:scenario_id>/new/",
        preferences.new_preference,
        name="preference-new",
    ),
]

# Satisfaction: judged turns beside the users' own scores, and user memories.
_satisfaction = [
    path("runs/<number:run_id>/turns/", memories.run_turns, name="run-turns"),
    path(
        "runs/<number:run_id>/turns/<number:judgment_id>/",
        memories.run_turn,
        name="run-turn",
    ),
    path("runs/<number:run_id>/memories/", memories.run_memories, name="run-memories"),
    path(
        "runs/<number:run_id>/memories/update/",
        memories.update_run_memories,
        name="memories-update",
    ),
    path("runs/<number:run_id>/memories/score/", memories.rescore, name="run-rescore"),
    path("memories/", memories.my_memories, name="my-memories"),
    path("memories/<number:memory_id>/", memories.memory, name="memory"),
    path("memories/<number:memory_id>/edit/", memories.edit_memory, name="memory-edit"),
    path("memories/<number:memory_id>/update/", memories.update_memory, name="memory-update"),
    path("memories/<number:memory_id>/turns/", memories.memory_turns, name="memory-turns"),
]

# Learned evaluators: their versions, and training another one.
_LEARNED = "datasets/<slug:slug>/learned/"
_learned = [
    path(_LEARNED, memories.learned, name="learned"),
    path(f"{_LEARNED}train/", memories.train, name="learned-train"),
    path(f"{_LEARNED}<number:version>/", memories.learned_version, name="learned-version"),
]

# Having models answer the turns of a dataset.
_generation = [
    path("datasets/<slug:slug>/generate/", generation.generate, name="generate"),
    path("datasets/<slug:slug>/generate/estimate/", generation.estimate, name="generate-estimate"),
]

# Live conversations: what a participant does under an item, and what a manager sets up.
_TALK = f"{ITEM}talk/"
_conversations = [
    path("studies/<slug:slug>/conversation/", conversations.setup, name="conversation-setup"),
    path(_TALK, conversations.conversation, name="talk"),
    path(f"{_TALK}send/", conversations.send_message, name="talk-send"),
    path(f"{_TALK}replies/<number:message>/", conversations.reply, name="talk-reply"),
    path(f"{_TALK}retry/", conversations.retry_reply, name="talk-retry"),
    path(f"{_TALK}withdraw/", conversations.withdraw_message, name="talk-withdraw"),
    path(f"{_TALK}stop/", conversations.stop_reply, name="talk-stop"),
    path(f"{_TALK}requirements/", conversations.tick_requirements, name="talk-tick"),
    path(f"{_TALK}end/", conversations.end_talk, name="talk-end"),
]

# Prompts of a dataset or a study, and those that a run asked.
_OWNED = "<slug:slug>/prompts/"
_ONE = f"{_OWNED}<slug:name>/<str:language>/"
_prompts = [
    path("runs/<number:run_id>/prompts/", prompts.run_prompts, name="run-prompts"),
    *(
        path(f"{folder}/{place}", view, {"kind": kind}, name=f"{kind}-{name}")
        for kind, folder in (("dataset", "datasets"), ("study", "studies"))
        for place, view, name in (
            (_OWNED, prompts.prompts, "prompts"),
            (_ONE, prompts.prompt, "prompt"),
            (f"{_ONE}check/", prompts.check, "prompt-check"),
            (f"{_ONE}restore/", prompts.restore, "prompt-restore"),
            (f"{_ONE}history/", prompts.history, "prompt-history"),
        )
    ),
]

# What injected texts did to judges.
_injections = [
    path("trust/injections/", injections.checks, name="injections"),
    path("trust/injections/new/", injections.new_check, name="injection-new"),
    path("trust/injections/new/estimate/", injections.estimate, name="injection-estimate"),
    path("trust/injections/<number:check_id>/", injections.check, name="injection-check"),
    path("trust/injections/<number:check_id>.csv", injections.trials_csv, name="injections-csv"),
    path(
        "trust/injections/<number:check_id>/attempts/", injections.trials, name="injection-trials"
    ),
    path(
        "trust/injections/<number:check_id>/attempts/<number:trial_id>/",
        injections.trial,
        name="injection-trial",
    ),
]

urlpatterns: list[URLPattern] = [
    *_exports,
    *_runs,
    *_endpoints,
    *_preferences,
    *_satisfaction,
    *_learned,
    *_generation,
    *_conversations,
    *_prompts,
    *_injections,
]
