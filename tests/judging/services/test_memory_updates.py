"""A memory written anew from what was rated since, and never from what it judges."""

import pytest

from annotation.core.choices import JudgmentStatus
from annotation.models import SatisfactionLabel
from judging.core.rules import Level, SatisfactionSettings
from judging.models import JudgeRun, RunStatus, SatisfactionJudgment, UserMemory
from judging.queries.satisfaction.labels import changes_since
from judging.queries.satisfaction.memories import newest, turns_of_memory
from judging.services.foreground import run_to_end
from judging.services.memories import revise_memory
from judging.services.memory_updates import plan_updates
from tests.factory import (
    make_dataset,
    make_rating,
    make_response,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)
from tests.judging.services.test_memories import edit_of
from tests.judging.services.test_satisfaction_stages import rate
from tests.judging.study import start_satisfaction_run
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

SENTINEL = "INSUFFICIENT_DIVERSITY"


@pytest.fixture
def dataset():
    return make_dataset()


@pytest.fixture
def travel(dataset):
    return make_scenario(dataset, name="travel", position=0)


@pytest.fixture
def gifts(dataset):
    return make_scenario(dataset, name="gifts", position=1)


@pytest.fixture
def ann(travel, gifts):
    user = make_user(username="ann")
    rate(user, travel, [5, 4, 4])
    rate(user, gifts, [5, 5, 4, 4, 4, 5])
    return user


@pytest.fixture
def run(dataset, ann):
    return run_to_end(start_satisfaction_run(dataset=dataset, judge="lexical").pk)


def memory_of(run, scenario, version=1):
    return UserMemory.objects.select_related("run").get(
        run=run, target_scenario=scenario, version=version
    )


def change_of(memory):
    return changes_since([memory]).get(memory.pk)


def test_a_memory_is_whole_while_nothing_is_rated_elsewhere(run, ann, travel):
    memory = memory_of(run, travel)
    assert change_of(memory) is None
    rate(ann, travel, [1, 1])  # what it judges is not what it is written from
    assert change_of(memory) is None
    with refuses("memory:up-to-date"):
        plan_updates(run.pk, memory_id=memory.pk)


def test_new_changed_and_withdrawn_ratings_elsewhere_are_told(run, ann, travel, gifts):
    rate(ann, gifts, [3])
    labels = SatisfactionLabel.objects.filter(response__turn__session__scenario=gifts)
    first, second = labels.order_by("pk")[:2]
    first.score = 4
    first.save()
    second.delete()
    change = change_of(memory_of(run, travel))
    assert (change.added, change.changed, change.removed) == (1, 1, 1)


def test_an_outdated_memory_becomes_a_new_version(run, ann, travel, gifts):
    before = memory_of(run, travel)
    judged = list(SatisfactionJudgment.objects.order_by("pk").values())
    rate(ann, gifts, [2, 2, 2, 2])
    assert plan_updates(run.pk, memory_id=before.pk) == 1
    waiting = memory_of(run, travel, version=2)
    assert (waiting.status, waiting.previous) == (JudgmentStatus.PENDING, before)
    assert run_to_end(run.pk).status == RunStatus.DONE
    after = memory_of(run, travel, version=2)
    assert (after.status, after.edited_by) == (JudgmentStatus.DONE, None)
    assert (before.statistics["turns"], after.statistics["turns"]) == (6, 10)
    assert after.statistics["counts"] == [0, 4, 0, 3, 3]
    assert change_of(after) is None
    before.refresh_from_db()
    assert before.statistics["turns"] == 6
    assert list(SatisfactionJudgment.objects.order_by("pk").values()) == judged
    assert set(newest(UserMemory.objects.filter(target_scenario=travel))) == {after}


def test_nothing_of_the_target_scenario_gets_into_a_new_version(run, ann, travel, gifts):
    """New ratings of travel are sentinels: 1, and a reason that nothing else has."""
    rate(ann, travel, [1, 1, 1])
    rate(ann, gifts, [4])
    labels = SatisfactionLabel.objects.filter(response__turn__session__scenario=travel)
    assert labels.filter(reason=SENTINEL).count() == 3
    plan_updates(run.pk)
    run_to_end(run.pk)
    memory = memory_of(run, travel, version=2)
    assert memory.statistics["counts"] == [0, 0, 0, 4, 3]
    assert [each["scenario"] for each in memory.statistics["scenarios"]] == ["gifts"]
    targets = {str(label.response_id) for label in labels}
    assert all(targets.isdisjoint(turns) for turns in memory.evidence["by_score"].values())
    assert "1" not in memory.evidence["by_score"]
    assert "travel" not in repr(memory.texts)
    assert memory_of(run, gifts, version=2).statistics["counts"][0] == 3  # there they are history


def test_all_outdated_memories_of_a_run_at_once(run, ann, travel, gifts):
    rate(ann, gifts, [4])
    assert plan_updates(run.pk) == 1  # travel's: gifts' own history is what it was
    with refuses("run:not-finished"):
        plan_updates(run.pk)
    assert UserMemory.objects.filter(version=2).count() == 1


def test_the_run_may_be_scored_anew_with_the_new_version(run, dataset, ann, travel, gifts):
    rate(ann, gifts, [2, 2])
    plan_updates(run.pk)
    run_to_end(run.pk)
    again = start_satisfaction_run(
        dataset=dataset, judge="lexical", settings=SatisfactionSettings(memories_of=run.pk)
    )
    copied = memory_of(again, travel)
    assert copied.previous == memory_of(run, travel, version=2)
    assert copied.statistics["turns"] == 8


def test_a_persons_words_stay_in_their_version(run, ann, travel, gifts):
    edited = revise_memory(
        memory_of(run, travel),
        edit=edit_of(memory_of(run, travel), scoring_style="Mine."),
        editor=ann,
    )
    rate(ann, gifts, [2, 2])
    plan_updates(run.pk, memory_id=edited.pk)
    with refuses("memory:not-editable"):  # one is on its way
        revise_memory(edited, edit=edit_of(edited, scoring_style="Late."), editor=ann)
    run_to_end(run.pk)
    written = memory_of(run, travel, version=3)
    assert written.texts["scoring_style"]["text"] != "Mine."
    assert written.previous == edited


def test_a_version_that_could_not_be_written_stands_in_nobodys_way(run, ann, travel, gifts):
    rate(ann, gifts, [2, 2])
    plan_updates(run.pk)
    JudgeRun.objects.filter(pk=run.pk).update(status=RunStatus.DONE)
    failed = memory_of(run, travel, version=2)
    UserMemory.objects.filter(pk=failed.pk).update(status="FAILED", error_code="llm:timeout")
    first = memory_of(run, travel)
    assert set(newest(UserMemory.objects.filter(target_scenario=travel))) == {first}
    edited = revise_memory(first, edit=edit_of(first, scoring_style="Mine."), editor=ann)
    assert edited.version == 3
    assert plan_updates(run.pk, memory_id=edited.pk) == 1
    assert memory_of(run, travel, version=4).previous == edited


def test_an_emptied_history_is_nothing_to_write_from(run, ann, travel, gifts):
    SatisfactionLabel.objects.filter(response__turn__session__scenario=gifts).delete()
    assert change_of(memory_of(run, travel)).is_emptied
    with refuses("memory:up-to-date"):
        plan_updates(run.pk)


def test_only_a_newest_version_is_written_anew(run, ann, travel, gifts):
    first = memory_of(run, travel)
    revise_memory(first, edit=edit_of(first, scoring_style="Mine."), editor=ann)
    rate(ann, gifts, [2])
    with refuses("memory:up-to-date"):
        plan_updates(run.pk, memory_id=first.pk)


def test_many_memories_are_compared_by_one_query(
    run, dataset, travel, gifts, django_assert_num_queries
):
    for number in range(3):
        user = make_user(username=f"user {number}")
        rate(user, travel, [4])
        rate(user, gifts, [5])
    rows = list(
        UserMemory.objects.filter(
            run=run_to_end(start_satisfaction_run(dataset=dataset, judge="lexical").pk)
        ).select_related("run")
    )
    assert len(rows) == 8
    with django_assert_num_queries(1):
        assert changes_since(rows) == {}
    with django_assert_num_queries(0):
        assert changes_since([]) == {}


def test_where_sessions_are_rated_they_stand_in_the_place_of_turns(dataset, travel, gifts):
    user = make_user(username="bea")
    for scenario, score in ((travel, 4), (gifts, 5), (gifts, 3), (travel, 1)):
        session = make_session(scenario, task_context=f"task of {scenario.name}")
        make_response(make_turn(session, user_message="first"), text="a", original=True)
        make_response(make_turn(session, user_message="then"), text="last", original=True)
        make_rating(None, session=session, annotator=user, score=score, reason=below(score))
    settings = SatisfactionSettings(level=Level.SESSION)
    started = start_satisfaction_run(dataset=dataset, judge="lexical", settings=settings)
    run = run_to_end(started.pk)
    memory = memory_of(run, travel)
    assert (memory.statistics["counts"], change_of(memory)) == ([0, 0, 1, 0, 1], None)
    found, _page = turns_of_memory(memory, score=3)
    assert [(one.position, one.user_message, one.response, one.score) for one in found] == [
        (None, "first\n\nthen", "last", 3)
    ]
    assert turns_of_memory(memory, scenario="travel")[0] == ()
    label = SatisfactionLabel.objects.get(session__scenario=gifts, score=5)
    label.score = 4
    label.save()
    assert change_of(memory).changed == 1
    assert change_of(memory_of(run, gifts)) is None
    assert plan_updates(run.pk) == 1


def below(score):
    return "OTHER" if score < 4 else None
