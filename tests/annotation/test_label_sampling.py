"""Which labels count as a random part, and what a manager states of imported ones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from annotation.core.choices import StudyKind
from annotation.models import AuditEvent, LabelSampling
from annotation.queries.label_sampling import Ground, LabelOrigin, random_labels
from annotation.services.datasets import state_sampling
from tests.factory import (
    make_claim,
    make_comparison,
    make_dataset,
    make_item,
    make_label,
    make_scenario,
    make_session,
    make_study,
    make_turn,
    make_user,
)

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 5, 4, tzinfo=UTC)


@pytest.fixture
def dataset():
    return make_dataset(slug="mine")


@pytest.fixture
def scenario(dataset):
    return make_scenario(dataset, name="Writing")


@pytest.fixture
def pairs(scenario):
    return [make_comparison(make_turn(make_session(scenario))).pk for _ in range(6)]


def drawn(dataset, pairs, states, **fields):
    """A study with an item for each letter: done, skipped, gold, a repeat, or open."""
    study, person = make_study(dataset, **fields), make_user()
    for pair, state in zip(pairs, states, strict=False):
        kind = {"g": "GOLD", "G": "GOLD"}.get(state, "NORMAL")
        item = make_item(study, comparison_id=pair, kind=kind)
        if state in "dsG":
            told = {"state": "SKIPPED", "slot": None} if state == "s" else {"state": "DONE"}
            make_claim(item, person, **told)
    return study


def asked(dataset, pairs, origins, *, fewest=1, scenario=None, complete=False, since=NOW, alone=()):
    return random_labels(
        dataset.pk,
        StudyKind.PAIRWISE,
        targets=pairs,
        labels={key: LabelOrigin(key, study, since) for key, study in origins.items()},
        complete=complete,
        fewest=fewest,
        scenario=scenario,
        alone=alone,
    )


def test_where_all_is_labelled_all_counts(dataset, pairs, django_assert_num_queries):
    with django_assert_num_queries(0):
        found = asked(dataset, pairs, dict.fromkeys(pairs), complete=True)
    assert (found.grounds, found.keys, found.is_random) == ((Ground.ALL,), set(pairs), True)


def test_imported_labels_are_not_random_by_themselves(dataset, pairs):
    found = asked(dataset, pairs, dict.fromkeys(pairs[:4]))
    assert (found.grounds, found.left_out, found.is_random) == ((Ground.NONE,), 0, False)
    assert found.keys == set(pairs[:4])


def test_a_statement_makes_imported_labels_count(dataset, pairs):
    state_sampling(dataset="mine", statement=" By lot. ", by=None, now=NOW)
    found = asked(dataset, pairs, dict.fromkeys(pairs[:4]))
    assert (found.grounds, found.is_random) == ((Ground.STATED,), True)
    assert found.statement.statement == "By lot."


def test_a_statement_is_of_the_labels_that_were_there(dataset, pairs):
    later = NOW + timedelta(days=1)
    state_sampling(dataset="mine", statement="By lot.", by=None, now=NOW)
    labels = dict.fromkeys(pairs[:4])
    assert asked(dataset, pairs, labels, since=later).grounds == (Ground.NONE,)
    state_sampling(dataset="mine", statement="By lot.", by=None, now=later)
    assert asked(dataset, pairs, labels, since=later).grounds == (Ground.STATED,)


@pytest.mark.parametrize(
    ("states", "counted"),
    [
        ("dddooo", {0, 1, 2}),
        ("ddoddd", {0, 1}),
        ("dsdood", {0, 2}),
        ("dgdodo", {0, 2}),  # a gold item was chosen by its answer, done or not
        ("dGdodo", {0, 2}),
        ("oddddd", None),
    ],
)
def test_the_beginning_of_a_study_s_order_counts(
    dataset, pairs, states, counted, django_assert_max_num_queries
):
    study = drawn(dataset, pairs, states, name="Pilot")
    make_item(study, comparison_id=pairs[0], kind="REPEAT", repeat_of=study.items.first())
    labelled = [pair for pair, state in zip(pairs, states, strict=True) if state in "dG"]
    with django_assert_max_num_queries(4):
        found = asked(dataset, pairs, dict.fromkeys(labelled, study.pk))
    if counted is None:
        assert found.grounds == (Ground.NONE,)
    else:
        assert found.keys == {pairs[place] for place in counted}
        assert (found.grounds, found.studies) == ((Ground.STUDIES,), ("Pilot",))
        assert found.left_out == len(labelled) - len(counted)


@pytest.mark.parametrize(
    ("selection", "within", "is_random"),
    [
        ({"sample": 3}, None, True),
        ({"sample": 3, "scenarios": []}, None, True),
        ({}, None, False),  # other comparisons could not be drawn
        ({"sample": 3, "strata": ["MODELS"]}, None, False),
        ({"sample": 3, "scenarios": ["Writing"]}, None, False),
        ({"sample": 3, "scenarios": ["Writing"]}, "Writing", True),
        ({"sample": 3, "scenarios": ["Writing", "Code"]}, "Writing", False),
        ({"sample": 3, "models": ["a"]}, None, False),
    ],
)
def test_a_study_speaks_for_what_it_could_have_drawn(dataset, pairs, selection, within, is_random):
    study = drawn(dataset, pairs[:3], "ddd", selection=selection, newest_target=pairs[-1])
    found = asked(dataset, pairs, dict.fromkeys(pairs[:3], study.pk), scenario=within)
    assert found.is_random is is_random
    # With no other target than its items nothing was filtered away.
    inside = asked(dataset, pairs[:3], dict.fromkeys(pairs[:2], study.pk))
    assert inside.grounds == (Ground.STUDIES,)


@pytest.mark.parametrize("newest", [None, 4])
def test_what_came_after_a_sample_could_not_be_drawn(dataset, pairs, newest):
    newest = newest and pairs[newest]
    study = drawn(dataset, pairs[:3], "ddd", selection={"sample": 3}, newest_target=newest)
    labels = dict.fromkeys(pairs[:3], study.pk)
    assert asked(dataset, pairs, labels).grounds == (Ground.NONE,)
    known = asked(dataset, pairs[:5], labels)
    assert known.grounds == ((Ground.NONE,) if newest is None else (Ground.STUDIES,))


@pytest.mark.parametrize("uneven", ["sessions", "strata"])
def test_an_order_that_is_no_random_one_counts_when_all_is_answered(dataset, pairs, uneven):
    """The first items hold each session once, so one of a large session has less of a chance."""
    selection = {"sample": 7}
    if uneven == "strata":
        selection["strata"] = ["SCENARIO"]
    else:
        pairs.append(make_comparison(make_turn(dataset.sessions.first())).pk)
    last = len(pairs) - 1
    study = drawn(
        dataset, pairs, "d" * last + "o", selection=selection, newest_target=pairs[-1], name="Pilot"
    )
    found = asked(dataset, pairs, dict.fromkeys(pairs[:last], study.pk))
    assert (found.grounds, found.unfinished) == ((Ground.NONE,), ("Pilot",))
    make_claim(study.items.last(), make_user(), state="SKIPPED", slot=None)
    whole = asked(dataset, pairs, dict.fromkeys(pairs[:last], study.pk))
    assert (whole.grounds, whole.unfinished) == ((Ground.STUDIES,), ())


@pytest.mark.parametrize("drawn_of", ["all", "more"])
def test_of_an_uneven_order_nobody_has_a_random_part(
    dataset, pairs, drawn_of, django_assert_max_num_queries
):
    """Two share a balanced sample, of which the rare comparisons come last."""
    asked_about = pairs if drawn_of == "all" else pairs[:4]
    study = make_study(
        dataset,
        selection={"sample": 6, "strata": ["MODELS"]},
        newest_target=pairs[-1],
        name="Pilot",
    )
    one, other = make_user(), make_user()
    items = [make_item(study, comparison_id=pair, inclusion_chance=0.5) for pair in asked_about]
    make_item(study, comparison_id=pairs[0], kind="REPEAT", repeat_of=items[0])
    for place, item in enumerate(items):
        make_claim(item, one if place < 2 else other, state="DONE", slot=0)
    labels = dict.fromkeys(asked_about, study.pk)
    assert asked(dataset, pairs, labels).is_random
    with django_assert_max_num_queries(5):
        found = asked(dataset, pairs, dict.fromkeys(pairs[:2], study.pk), alone={one.pk})
    assert (found.grounds, found.shared) == ((Ground.NONE,), ("Pilot",))
    for place, item in enumerate(items[2:]):
        state = {"state": "DONE", "slot": 1} if place else {"state": "SKIPPED", "slot": None}
        make_claim(item, one, **state)
    assert asked(dataset, pairs, labels, alone={one.pk}).is_random
    assert asked(dataset, pairs, labels, alone={one.pk, other.pk}).shared == ("Pilot",)


def test_a_sample_of_uneven_sessions_is_no_random_part(dataset, pairs):
    more = make_comparison(make_turn(dataset.sessions.first())).pk
    study = drawn(dataset, pairs[:3], "ddd", selection={"sample": 3}, newest_target=more)
    labels = dict.fromkeys(pairs[:3], study.pk)
    assert asked(dataset, [*pairs, more], labels).is_random is False
    assert asked(dataset, pairs[1:], labels).is_random is True


def test_too_few_random_labels_give_way_to_all(dataset, pairs):
    study = drawn(dataset, pairs, "ddoooo")
    origins = {**dict.fromkeys(pairs[:2], study.pk), **dict.fromkeys(pairs[2:])}
    assert asked(dataset, pairs, origins, fewest=2).keys == set(pairs[:2])
    given_way = asked(dataset, pairs, origins, fewest=3)
    assert (given_way.grounds, given_way.keys) == ((Ground.NONE,), set(pairs))
    assert asked(dataset, pairs, origins, fewest=7).grounds == (Ground.STUDIES,)


def test_sessions_are_targets_of_rating_studies(dataset, scenario):
    sessions = [make_session(scenario) for _ in range(3)]
    study = make_study(
        dataset, kind="SATISFACTION", selection={"sample": 2}, newest_target=sessions[2].pk
    )
    make_claim(make_item(study, session=sessions[0]), make_user(), state="DONE")
    make_item(study, session=sessions[1])
    found = random_labels(
        dataset.pk,
        StudyKind.SATISFACTION,
        targets=[each.pk for each in sessions],
        labels={(1, 9): LabelOrigin(sessions[0].pk, study.pk, NOW)},
        complete=False,
        fewest=1,
    )
    assert (found.keys, found.is_random) == ({(1, 9)}, True)


def test_what_is_stated_is_kept_changed_and_withdrawn(dataset):
    ann = make_user(role="MANAGER")
    for said in ("By lot.", "By lot.", "Every fifth.", "  "):
        state_sampling(dataset="mine", statement=said, by=ann, now=NOW)
    assert not LabelSampling.objects.exists()
    events = AuditEvent.objects.filter(action="dataset.label_sampling").order_by("pk")
    assert [each.detail for each in events] == [
        {"before": "", "after": "By lot."},
        {"before": "By lot.", "after": "Every fifth."},
        {"before": "Every fifth.", "after": ""},
    ]
    state_sampling(dataset="mine", statement="", by=ann, now=NOW)
    assert events.count() == 3
    state_sampling(dataset="mine", statement="Again.", by=ann, now=NOW)
    assert str(LabelSampling.objects.get()) == f"{dataset.pk}: Again."


ADDRESS = "/datasets/mine/sampling/"


def test_managers_state_it_on_the_dataset_s_page(client, dataset, pairs):
    make_label(dataset.sessions.first().turns.first().comparisons.first())
    client.force_login(make_user(role="MANAGER", username="meg"))
    page = client.get("/datasets/mine/").content.decode()
    assert "know how these labels were sampled" in page
    answer = client.post(ADDRESS, {"statement": "By <lot>."})
    assert (answer.status_code, answer.url) == (302, "/datasets/mine/#sampling")
    page = client.get("/datasets/mine/").content.decode()
    assert "by meg, " in page
    assert "By &lt;lot&gt;." in page
    lines = "a\r\n" * 1000 + "a"
    refused = client.post(ADDRESS, {"statement": lines})
    assert refused.status_code == 422
    page = refused.content.decode()
    assert "at most 2000 characters (it has 2001)" in page
    assert lines in page
    assert LabelSampling.objects.get().statement == "By <lot>."
    client.post(ADDRESS, {"statement": "a\r\n" * 999 + "a"})
    assert len(LabelSampling.objects.get().statement) == 1999


def test_readers_see_it_and_do_not_state_it(client, dataset, pairs):
    make_label(dataset.sessions.first().turns.first().comparisons.first())
    assert client.post(ADDRESS).url == f"/sign-in/?next={ADDRESS}"
    client.force_login(make_user(role="VIEWER"))
    assert client.post(ADDRESS, {"statement": "By lot."}).status_code == 403
    assert "State that they are" not in client.get("/datasets/mine/").content.decode()
    client.force_login(make_user(role="MANAGER"))
    assert client.get(ADDRESS).status_code == 405
    assert client.post("/datasets/none/sampling/").status_code == 404


def test_a_dataset_without_labels_says_nothing_of_them(client, dataset):
    client.force_login(make_user(role="MANAGER"))
    assert "Sampling of imported labels" not in client.get("/datasets/mine/").content.decode()
