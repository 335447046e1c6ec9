"""Which responses a run scores, in whose stead, and what is read of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from annotation.models import AnnotatorProfile, Response, Session
from judging.core.rules import Level
from judging.core.targets import RunTarget, Targets
from judging.queries.satisfaction.targets import TurnScope, planned_turns, target_blocks
from tests.factory import (
    make_dataset,
    make_item,
    make_rater,
    make_rating,
    make_response,
    make_scenario,
    make_session,
    make_study,
    make_turn,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def data():
    """Ann and bob each hold a session of two turns in two scenarios; nobody holds a fifth one.

    Of every session the first turn is rated by its owner and has a candidate by `other`.
    """
    dataset = make_dataset()
    people = {name: make_rater(dataset, name) for name in ("ann", "bob")}
    made: dict[str, Response] = {}
    for scenario_name in ("travel", "gifts"):
        scenario = make_scenario(dataset, name=scenario_name, position=len(made))
        for name in [*people, *(["free"] if scenario_name == "gifts" else [])]:
            session = make_session(
                scenario,
                key=f"{name} {scenario_name}",
                original_user=people.get(name),
                language="zh-Hans" if name == "bob" else "en",
            )
            for place in range(2):
                turn = make_turn(session, user_message=f"ask {place}")
                key = f"{name} {scenario_name} {place}"
                made[key] = make_response(turn, text=key, original=True, model="bot")
                if place == 0:
                    made[f"{key} other"] = make_response(turn, text=f"{key}!", model="other")
                    if name in people:
                        make_rating(made[key], annotator=people[name], score=4)
    make_response(make_turn(session), text=None, model="other")  # not available
    return SimpleNamespace(dataset=dataset, made=made, **people)


def scope_of(data, kind=RunTarget.ALL, *, user=None, level=Level.TURN, everything=False, **more):
    dataset = data.dataset.pk
    targets = Targets(kind=kind, **more)
    return TurnScope(dataset, dataset, user and user.pk, level, targets, everything)


def named(data, scope):
    """What is planned, by the names of its users and responses, with its part."""
    names = {response.pk: name for name, response in data.made.items()}
    users = {data.ann.pk: "ann", data.bob.pk: "bob"}
    return [
        f"{users[each.user_id]}: {names[each.target_id]} {each.part.value.lower()}"
        for each in planned_turns(scope)
    ]


def test_all_are_the_users_own_by_block_in_stored_order(data, django_assert_num_queries):
    with django_assert_num_queries(5):
        found = named(data, scope_of(data))
    assert found[:6] == [
        "ann: ann travel 0 rated",
        "ann: ann travel 0 other candidate",
        "ann: ann travel 1 unlabelled",
        "ann: ann gifts 0 rated",
        "ann: ann gifts 0 other candidate",
        "ann: ann gifts 1 unlabelled",
    ]
    assert len(found) == 12
    assert not any("free" in each for each in found)


@pytest.mark.parametrize(
    ("kind", "parts"),
    [
        (RunTarget.RATED, ["rated", "reference"]),
        (RunTarget.UNLABELLED, ["reference", "unlabelled"]),
        (RunTarget.CANDIDATES, ["reference", "candidate", "reference"]),
    ],
)
def test_the_other_originals_of_a_block_are_its_reference(data, kind, parts):
    found = named(data, scope_of(data, kind))
    assert [each.split()[-1] for each in found] == parts * 4


def test_of_a_study_the_originals_of_its_sessions_are_asked_for(data, django_assert_num_queries):
    study = make_study(data.dataset, slug="pilot", kind="SATISFACTION")
    for key in ("ann travel", "free gifts"):
        make_item(study, session=Session.objects.get(key=key))
    make_rating(data.made["free gifts 0"], annotator=data.bob, score=4)
    with django_assert_num_queries(6):
        found = named(data, scope_of(data, RunTarget.STUDY, study="pilot"))
    assert [each for each in found if not each.endswith("reference")] == [
        "ann: ann travel 0 rated",
        "ann: ann travel 1 unlabelled",
        "bob: free gifts 0 rated",
        "bob: free gifts 1 unlabelled",
    ]
    assert [each for each in found if each.endswith("reference")] == [
        "bob: bob gifts 0 reference",
        "bob: bob gifts 1 reference",
    ]


def test_a_rated_candidate_is_both(data):
    make_rating(data.made["ann gifts 0 other"], annotator=data.ann, score=2, reason="OTHER")
    assert "ann: ann gifts 0 other rated" in named(data, scope_of(data, RunTarget.CANDIDATES))


def test_a_user_alone_also_stands_in_where_nobody_holds_a_session(data):
    found = named(data, scope_of(data, RunTarget.UNLABELLED, user=data.bob))
    assert [each for each in found if each.endswith("unlabelled")] == [
        "bob: bob travel 1 unlabelled",
        "bob: bob gifts 1 unlabelled",
        "bob: free gifts 0 unlabelled",
        "bob: free gifts 1 unlabelled",
    ]


def test_in_ones_stead_everything_of_a_dataset_is_scored(data):
    found = named(data, scope_of(data, user=data.bob, everything=True))
    assert len(found) == 15
    assert {each.split(":")[0] for each in found} == {"bob"}


def test_sessions_that_somebody_rated_in_are_theirs_too(data):
    make_rating(data.made["free gifts 1"], annotator=data.ann, score=5)
    found = named(data, scope_of(data, RunTarget.UNLABELLED))
    assert "ann: free gifts 0 unlabelled" in found
    assert "bob: free gifts 0 unlabelled" not in found


@pytest.mark.parametrize(
    ("filters", "asked"),
    [
        ({"scenarios": ("travel",)}, 6),
        ({"models": ("other",)}, 4),
        ({"languages": ("zh",)}, 6),
        ({"languages": ("zh", "en"), "models": ("bot",), "scenarios": ("gifts",)}, 4),
        ({"scenarios": ("cooking",)}, 0),
        ({"sample": 3}, 3),
        ({"sample": 100}, 12),
    ],
)
def test_filters_and_samples_leave_the_reference_whole(data, filters, asked):
    found = named(data, scope_of(data, **filters))
    assert sum(not each.endswith("reference") for each in found) == asked
    blocks = {(each.split()[0], each.split()[2]) for each in found}
    originals = [each for each in found if " other " not in each]
    assert len(originals) == 2 * len(blocks)


def test_a_sample_is_drawn_of_keys_and_not_of_ids_or_labels(data):
    before = named(data, scope_of(data, sample=4))
    asked = {each.rsplit(" ", 1)[0] for each in before if not each.endswith("reference")}
    make_rating(data.made["ann gifts 1"], annotator=data.ann, score=1, reason="OTHER")
    after = named(data, scope_of(data, sample=4))
    assert {each.rsplit(" ", 1)[0] for each in after if not each.endswith("reference")} == asked


def test_whole_sessions_are_rated_or_not(data):
    session = Session.objects.get(key="ann gifts")
    make_rating(session=session, annotator=data.ann, score=3, reason="OTHER")
    found = planned_turns(scope_of(data, level=Level.SESSION))
    assert [each.part.value for each in found] == ["UNLABELLED", "RATED"] + ["UNLABELLED"] * 2
    assert found[1].target_id == session.pk
    models = scope_of(data, level=Level.SESSION, models=("nobody",))
    assert planned_turns(models) == []


def test_targets_come_with_history_of_other_scenarios_and_without_labels(
    data, django_assert_max_num_queries
):
    AnnotatorProfile.objects.create(user=data.bob, occupation="cook")
    Session.objects.filter(key="bob gifts").update(profile_snapshot={"occupation": "student"})
    scope = scope_of(data, user=data.bob)
    asked = [(each.user_id, each.target_id) for each in planned_turns(scope)]
    with django_assert_max_num_queries(11):
        travel, zh, en = target_blocks(scope, asked)
    assert [block.language for block in (travel, zh, en)] == ["zh-Hans", "zh-Hans", "en"]
    assert zh.scenario_id == en.scenario_id  # one block, in two languages
    assert [turn.turn_id for turn in zh.block.history] == [str(data.made["bob travel 0"].pk)]
    assert zh.block.history == en.block.history != travel.block.history
    assert zh.block.targets[0].profile == {"occupation": "student"}
    assert en.block.targets[0].profile == {"occupation": "cook"}
    (part,) = target_blocks(scope, asked[-1:])
    assert part.block.targets == en.block.targets[-1:]


def test_a_candidate_is_read_after_its_own_line(data):
    first = data.made["ann gifts 0 other"]
    turn = data.made["ann gifts 1"].turn
    second = make_response(turn, text="mine", model="other", continues=first)
    (found,) = target_blocks(scope_of(data), [(data.ann.pk, second.pk)])
    (target,) = found.block.targets
    assert [message.text for message in target.dialogue] == ["ask 0", "ann gifts 0!", "ask 1"]


def test_history_of_another_dataset_leaves_out_the_scenario_of_the_same_name(data):
    other = make_dataset()
    session = make_session(make_scenario(other, name="gifts"), original_user=data.bob)
    response = make_response(make_turn(session), text="far", original=True)
    scope = scope_of(data, user=data.ann, everything=True)._replace(dataset=other.pk)
    (planned,) = planned_turns(scope)
    (found,) = target_blocks(scope, [(planned.user_id, planned.target_id)])
    assert found.block.targets[0].turn_id == str(response.pk)
    assert [turn.scenario for turn in found.block.history] == ["travel"]
