"""An estimate is what then happens: the same questions, the same calls, never dearer."""

from __future__ import annotations

import pytest

from annotation.models import Comparison, Response
from judging.core.rules import JudgePrompt, SatisfactionSettings, Variant
from judging.queries.configurations import applied_plans
from judging.queries.runs import preference_rows, run_progress
from judging.services.estimates import estimate
from judging.services.foreground import run_to_end
from tests.factory import (
    make_dataset,
    make_endpoint,
    make_rating,
    make_response,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)
from tests.fake_llm import FakeLlm
from tests.judging.study import (
    make_study,
    planned_distillation,
    planned_satisfaction,
    planned_test,
    start_distillation,
    start_satisfaction_run,
    start_test_run,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def endpoint():
    with FakeLlm(rule="longer") as server:
        yield make_endpoint(
            base_url=server.base_url, input_price=1, output_price=2, cached_input_price=None
        )


@pytest.fixture
def study():
    """Twenty different pairs, so that no two questions are equal by accident."""
    dataset, rater = make_study(comparisons=20)
    for response in Response.objects.all():
        response.text = f"{response.text} No {response.pk}."
        response.save()
    return dataset, rater


def asked_for(study, endpoint):
    return {"dataset": study[0], "annotator": study[1], "judge": endpoint.name}


def test_before_and_after_a_distillation(study, endpoint):
    asked = asked_for(study, endpoint)
    before = estimate(planned_distillation(**asked))
    distil, judge = before.stages
    # 10 pairs and the aggregate; for the control 5 that are flipped and an aggregate. Under 18
    # columns with the base judge's: 10 pairs x 2 orders x 18
    assert (distil.questions, judge.questions, judge.calls) == (17, 360, 360)
    assert (before.output_tokens, before.cost_likely) == (None, None)
    run = run_to_end(start_distillation(**asked).pk)
    assert distil.calls == preference_rows(run.pk).values("call").distinct().count() == 17
    progress = run_progress(run.pk)
    assert progress.calls < before.calls  # the fake model writes the same two texts over and over
    assert before.cost_at_most is not None
    assert 0 < (progress.cost or 0) < before.cost_at_most
    after = estimate(planned_distillation(**asked))
    assert (after.calls, after.stored, after.cost_at_most) == (0, 377, 0)
    assert after.mean_output is not None


def test_before_and_after_a_test_run(study, endpoint):
    run_to_end(start_distillation(**asked_for(study, endpoint)).pk)
    before = estimate(planned_test(**asked_for(study, endpoint)))
    run = run_to_end(start_test_run(**asked_for(study, endpoint)).pk)
    progress = run_progress(run.pk)
    assert progress.calls == before.calls > 0
    assert before.stages[0].questions == progress.total
    assert before.cost_likely is not None
    # The estimator errs on the high side, and so does the mean.
    assert (progress.input_tokens or 0) <= before.input_tokens
    assert (progress.cost or 0) <= before.cost_at_most
    assert estimate(planned_test(**asked_for(study, endpoint))).calls == 0


@pytest.mark.parametrize("known", [0, 3])
def test_a_reference_that_the_judge_writes_is_one_more_call_a_comparison(study, endpoint, known):
    asked = {**asked_for(study, endpoint), "with_sets": False, "prompt": JudgePrompt.OWN_REFERENCE}
    test = [key for plan in applied_plans(planned_test(**asked).config) for key, _ in plan.winners]
    Comparison.objects.filter(pk__in=test[:known]).update(extra={"reference": "It is 42."})
    before = estimate(planned_test(**asked))
    assert [(one.stage.value, one.questions) for one in before.stages] == [
        ("reference", len(test) - known),
        ("judge", 2 * len(test)),
    ]
    run = run_to_end(start_test_run(**asked).pk)
    progress = run_progress(run.pk)
    assert progress.calls == before.calls == len(test) - known + 2 * len(test)
    assert progress.done == 2 * len(test)
    assert (progress.cost or 0) <= before.cost_at_most
    assert estimate(planned_test(**asked)).calls == 0


def test_of_many_questions_a_part_stands_for_all(study, endpoint):
    whole = estimate(planned_distillation(**asked_for(study, endpoint)))
    part = estimate(planned_distillation(**asked_for(study, endpoint)), most=60)
    assert (whole.sampled, part.sampled) == (False, True)
    assert part.calls == whole.calls
    assert abs(part.input_tokens - whole.input_tokens) < whole.input_tokens * 0.05


def test_a_missing_text_is_no_call(study, endpoint):
    run_to_end(start_distillation(**asked_for(study, endpoint)).pk)
    asked = planned_test(**asked_for(study, endpoint))
    whole = estimate(asked)
    Response.objects.update(text=None)
    assert (whole.calls > 0, estimate(asked).calls) == (True, 0)


def test_the_lexical_judge_costs_nothing(study):
    dataset, rater = study
    found = estimate(planned_distillation(dataset=dataset, annotator=rater, judge="lexical"))
    assert (found.calls, found.cost_at_most, found.cost_likely) == (0, None, None)
    # Ten draws of the control: 10 flipped pairs and 10 aggregates beside the 11; 32 columns.
    assert [stage.questions for stage in found.stages] == [31, 640]


@pytest.fixture
def ratings():
    """One user who rated two turns in each of two scenarios."""
    dataset, user = make_dataset(), make_user(username="ann")
    for name in ("travel", "cooking"):
        scenario = make_scenario(dataset, name=name)
        session = make_session(scenario, key=name, original_user=user)
        for position in range(2):
            turn = make_turn(session, position=position, user_message=f"{name} {position}?")
            response = make_response(turn, text=f"{name} {position}!", original=True)
            make_rating(response, annotator=user, score=4 + position)
    return dataset


@pytest.mark.parametrize("with_memory", [True, False])
def test_before_and_after_a_satisfaction_run(ratings, endpoint, with_memory):
    asked = {
        "dataset": ratings,
        "judge": endpoint.name,
        "settings": SatisfactionSettings(
            variant=Variant.CHECKLIST if with_memory else Variant.NO_MEMORY
        ),
    }
    before = estimate(planned_satisfaction(**asked))
    run = run_to_end(start_satisfaction_run(**asked).pk)
    progress = run_progress(run.pk)
    assert progress.calls == before.calls == (6 if with_memory else 4)
    assert sum(stage.done for stage in progress.stages) == before.calls
    after = estimate(planned_satisfaction(**asked))
    assert (after.calls, after.stored) == (0, before.calls)
