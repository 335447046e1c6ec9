from __future__ import annotations

import pytest

from annotation.core.hidden_items import REPEAT_GAPS
from annotation.models import GoldLabel, ItemKind
from annotation.services.studies import change_rules, make_items
from tests.factory import (
    make_comparison,
    make_dataset,
    make_response,
    make_scenario,
    make_session,
    make_study,
    make_turn,
    make_user,
)

pytestmark = pytest.mark.django_db


def pairs(dataset, number, *, verdict="A", gold=0):
    scenario = make_scenario(dataset)
    turn = make_turn(make_session(scenario))
    made = [make_comparison(turn) for _each in range(number)]
    for each in made[:gold]:
        GoldLabel.objects.create(comparison=each, verdict=verdict, source="DATASET")
    return [each.pk for each in made]


def sessions(dataset, number, *, gold=0):
    scenario = make_scenario(dataset)
    made = []
    for place in range(number):
        session = make_session(scenario)
        response = make_response(make_turn(session), original=True)
        if place < gold:
            GoldLabel.objects.create(response=response, score=4, source="DATASET")
        made.append(session.pk)
    return made


def kinds(study):
    return list(study.items.order_by("position").values_list("kind", flat=True))


def test_pairs_have_gold_and_repeats_at_the_rates():
    study = make_study(gold_rate=0.1, repeat_rate=0.2)
    made = make_items(study, pairs(study.dataset, 80, gold=40))
    assert made == {"items": 100, "gold": 10, "repeats": 20}
    assert kinds(study).count(ItemKind.GOLD) == 10
    for repeat in study.items.filter(kind=ItemKind.REPEAT).select_related("repeat_of"):
        first = repeat.repeat_of
        assert (first.kind, first.comparison_id) == (ItemKind.NORMAL, repeat.comparison_id)
        assert repeat.position - first.position >= REPEAT_GAPS["PAIRWISE"]
    gold = study.items.filter(kind=ItemKind.GOLD)
    assert all(item.comparison.gold_labels.exists() for item in gold)


def test_numbers_in_addresses_rise_with_the_position():
    study = make_study(gold_rate=0.1, repeat_rate=0.2)
    make_items(study, pairs(study.dataset, 60, gold=30))
    numbers = list(study.items.order_by("position").values_list("pk", flat=True))
    assert numbers == sorted(numbers)


def test_sessions_have_gold_and_repeats_too():
    study = make_study(kind="SATISFACTION", gold_rate=0.1, repeat_rate=0.1)
    made = make_items(study, sessions(study.dataset, 36, gold=20))
    assert made == {"items": 40, "gold": 4, "repeats": 4}
    repeat = study.items.filter(kind=ItemKind.REPEAT).first()
    assert repeat.session_id == repeat.repeat_of.session_id


def test_a_gold_score_of_a_text_that_nobody_rates_makes_no_gold_item():
    study = make_study(kind="SATISFACTION", gold_rate=0.5)
    numbers = sessions(study.dataset, 8)
    turn = make_turn(study.dataset.sessions.first())
    other = make_response(turn, original=False)
    GoldLabel.objects.create(response=other, score=4, source="DATASET")
    assert make_items(study, numbers)["gold"] == 0


@pytest.mark.parametrize(("allow_tie", "gold"), [(False, 0), (True, 4)])
def test_a_tie_is_gold_where_it_is_an_answer(allow_tie, gold):
    study = make_study(gold_rate=0.5, allow_tie=allow_tie)
    numbers = pairs(study.dataset, 8, gold=8, verdict="TIE")
    assert make_items(study, numbers)["gold"] == gold


def test_the_answer_that_holds_decides_whether_a_pair_can_be_gold():
    study = make_study(gold_rate=0.5, allow_tie=False)
    numbers = pairs(study.dataset, 2, gold=2, verdict="TIE")
    GoldLabel.objects.create(comparison_id=numbers[0], verdict="B", source="MANAGER")
    make_items(study, numbers)
    assert study.items.get(kind=ItemKind.GOLD).comparison_id == numbers[0]


def test_a_draft_that_allows_no_ties_any_more_has_none_as_gold():
    study = make_study(gold_rate=0.5, allow_tie=True, status="DRAFT")
    make_items(study, pairs(study.dataset, 8, gold=8, verdict="TIE"))
    assert study.items.filter(kind="GOLD").count() == 4
    change_rules(study=study.slug, rules={"allow_tie": False}, since=0, by=make_user())
    assert not study.items.filter(kind="GOLD").exists()
    assert study.items.count() == 8


def test_without_rates_everything_is_normal():
    study = make_study()
    make_items(study, pairs(study.dataset, 5, gold=5))
    assert kinds(study) == [ItemKind.NORMAL] * 5


def test_conversations_to_hold_have_neither():
    study = make_study(kind="CONVERSATION", gold_rate=0.5, repeat_rate=0.5)
    made = make_items(study, sessions(study.dataset, 30, gold=30))
    assert made == {"items": 30, "gold": 0, "repeats": 0}


def test_the_same_seed_makes_the_same_study():
    dataset = make_dataset()
    numbers = pairs(dataset, 60, gold=30)
    made = []
    for _each in range(2):
        study = make_study(dataset, gold_rate=0.2, repeat_rate=0.2, seed=7)
        make_items(study, numbers)
        made.append(list(study.items.order_by("position").values_list("comparison", "kind")))
    assert made[0] == made[1]


def test_a_large_study_takes_few_statements(django_assert_max_num_queries):
    study = make_study(gold_rate=0.1, repeat_rate=0.1)
    numbers = pairs(study.dataset, 900, gold=200)
    with django_assert_max_num_queries(16):
        make_items(study, numbers)
