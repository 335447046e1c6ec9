"""The prompts of a run's page are those that it asked, not all that its judge was given."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.core.conversations import Message, Speaker
from annotation.models import Session, Turn
from judging.core.rules import JudgePrompt, Level, SatisfactionSettings
from judging.queries.asked_prompts import asked_labels
from judging.services.injection import TriedPair
from judging.services.kinds import start
from tests.factory import make_call, make_endpoint, make_user
from tests.judging.ratings import make_ratings
from tests.judging.study import (
    make_study,
    planned_check,
    start_distillation,
    start_satisfaction_run,
    start_test_run,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    dataset, annotator = make_study()
    return {"dataset": dataset, "annotator": annotator, "judge": make_endpoint().name}


def test_a_distillation_writes_preferences_and_judges_with_and_without_them(study):
    run = start_distillation(**study)
    assert len(run.config["judge"]["prompts"]) > 8
    assert asked_labels(run) == [
        "distil_aggregate.v1.en",
        "distil_preference.v1.en",
        "judge_pair.v1.en",
        "judge_pair_base.v1.en",
    ]


def test_the_base_judge_is_asked_without_a_preference_in_the_languages_of_the_sessions(study):
    run = start_test_run(**study, with_sets=False)
    assert asked_labels(run) == ["judge_pair_base.v1.en"]
    first = Session.objects.order_by("pk").first()
    Session.objects.filter(pk=first.pk).update(language="zh")
    both = asked_labels(run)
    assert set(both) <= {"judge_pair_base.v1.en", "judge_pair_base.v1.zh"}
    Session.objects.update(language="zh")
    assert asked_labels(run) == ["judge_pair_base.v1.zh"]


def test_a_session_that_names_no_language_is_asked_in_that_of_its_first_message(study):
    run = start_test_run(**study, with_sets=False)
    Session.objects.update(language="")
    assert asked_labels(run) == ["judge_pair_base.v1.en"]
    Turn.objects.update(user_message="请写一封感谢信")
    assert asked_labels(run) == ["judge_pair_base.v1.zh"]


def test_the_database_sends_what_differs_and_not_every_row(study):
    run = start_distillation(**study)
    Session.objects.update(language="en")
    with CaptureQueriesContext(connection) as asked:
        asked_labels(run)
    tables = ("judging_judgment", "judging_preference")
    rows = [
        query["sql"] for query in asked if any(f'FROM "{name}"' in query["sql"] for name in tables)
    ]
    assert len(rows) == len(tables)
    assert all(sql.startswith("SELECT DISTINCT ") for sql in rows)


def test_a_reminder_is_asked_by_a_second_try(study):
    run = start_test_run(**study, with_sets=False)
    make_call(run=run, attempt=1)
    assert "remind_verdict.v1.en" in asked_labels(run)


def test_a_rubric_and_grades_are_asked_in_the_languages_of_the_sessions(study):
    rubric = start_test_run(**study, prompt=JudgePrompt.PAIRWISE)
    assert {label.split(".")[2] for label in asked_labels(rubric)} == {"en"}
    graded = start_test_run(**study, prompt=JudgePrompt.SINGLE)
    assert {label.split(".")[2] for label in asked_labels(graded)} == {"en"}
    assert asked_labels(graded)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_scoring_asks_in_the_languages_of_its_turns_and_histories(language):
    dataset = make_ratings(people=2, language=language)
    run = start_satisfaction_run(dataset=dataset, judge=make_endpoint().name)
    labels = asked_labels(run)
    assert {label.split(".")[2] for label in labels} == {language}
    assert f"build_memory.v1.{language}" in labels


@pytest.mark.parametrize("level", list(Level))
def test_scoring_of_sessions_that_name_no_language_asks_as_they_are_written(level):
    whole = level is Level.SESSION
    dataset = make_ratings(people=2, language="zh", sessions=whole)
    Session.objects.update(language="")
    run = start_satisfaction_run(
        dataset=dataset, judge=make_endpoint().name, settings=SatisfactionSettings(level=level)
    )
    asked = "score_session.v1.zh" if whole else "score_turn.v1.zh"
    assert {label.split(".")[2] for label in asked_labels(run)} == {"zh"}
    assert asked in asked_labels(run)


def test_a_check_asks_without_preferences_in_the_languages_of_its_pairs():
    pair = TriedPair((Message(Speaker.USER, "How long?"),), "Five.", "Eight.", "en")
    run = start(planned_check(make_endpoint().name, [pair]))
    assert asked_labels(run) == ["judge_pair_base.v1.en"]


def test_the_page_of_a_run_lists_them(client, study):
    run = start_test_run(**study, with_sets=False)
    client.force_login(make_user(role="VIEWER"))
    for page in (f"/runs/{run.pk}/", f"/runs/{run.pk}/prompts/"):
        shown = client.get(page).content.decode()
        assert "judge_pair_base.v1.en" in shown
        assert "distil_preference" not in shown
        assert ".v1.zh" not in shown
