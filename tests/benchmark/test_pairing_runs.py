"""Plans that are made by runs: as a whole, once, by the rules and verdicts that were asked for."""

from __future__ import annotations

import pytest
from django.db import connection

from annotation.core.pairing import PairingKind, PairingRules
from annotation.models import Comparison, PairingPlan, Turn
from annotation.queries.pairing import possible_at_most, possible_pairs
from benchmark.queries.ranking import Source
from benchmark.services import pairing_runs
from benchmark.services.pairing import Verdicts, make_next_batch
from benchmark.services.pairing_runs import created_by_run, plan_pairing, work_pairing
from judging.services.foreground import run_to_end
from judging.services.heartbeats import SupersededError
from judging.services.kinds import start
from judging.services.run_control import cancel, reset_failed
from tests.benchmark.pairing import make_answers
from tests.factory import make_dataset, make_response

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("fields", "made"),
    [
        ({"scenarios": ("Code",), "models": ("alpha",), "seed": 0}, 8),
        ({"kind": PairingKind.ANCHOR, "anchor": "beta"}, 16),
        ({"kind": PairingKind.SAMPLE, "size": 7, "cap": 2}, 7),
        ({"kind": PairingKind.ADAPTIVE, "size": 5}, 5),
        ({"variants": True}, 24),
    ],
)
def test_a_run_makes_what_its_rules_say(fields, made):
    dataset, rules = make_answers(), PairingRules(**fields)
    run = start(plan_pairing(dataset, rules, Verdicts(Source.BASE, "lexical")))
    assert run_to_end(run.pk).status == "DONE"
    assert (created_by_run(run), Comparison.objects.count()) == (made, made)
    plan = PairingPlan.objects.get()
    assert (plan.kind, plan.anchor, plan.size) == (rules.kind, rules.anchor, rules.size)
    assert (plan.cap, plan.seed, plan.selection) == (rules.cap, rules.seed, rules.selection())


def test_the_anchor_can_be_a_variant_of_a_model_with_a_long_name():
    dataset, model, variant = make_answers(turns=1), "m" * 150, "v" * 60
    for turn in Turn.objects.all():
        make_response(turn, model=model, variant=variant)
    anchor = f"{model} ({variant})"
    rules = PairingRules(kind=PairingKind.ANCHOR, anchor=anchor, variants=True)
    run = run_to_end(start(plan_pairing(dataset, rules, Verdicts())).pk)
    assert (run.status, created_by_run(run)) == ("DONE", 6)
    assert PairingPlan.objects.get().anchor == anchor
    longest = PairingPlan(anchor=f"{'m' * 200} ({'v' * 120})")
    longest.clean_fields(exclude=["dataset", "kind", "seed"])


def test_verdicts_that_are_missing_hold_a_batch_back_unless_it_is_wanted_all_the_same():
    dataset, rules = make_answers(), PairingRules(kind=PairingKind.ADAPTIVE, size=5)
    made = []
    for incomplete in (False, False, True):
        run = start(plan_pairing(dataset, rules, Verdicts(incomplete=incomplete)))
        run_to_end(run.pk)
        made.append(created_by_run(run))
    assert made == [5, 0, 5]


def test_a_run_that_somebody_else_has_by_now_makes_nothing(monkeypatch):
    dataset = make_answers()
    run = start(plan_pairing(dataset, PairingRules(), Verdicts()))

    def superseded(_run):
        raise SupersededError

    monkeypatch.setattr(pairing_runs, "beat", superseded)
    with pytest.raises(SupersededError):
        work_pairing(run, run.units.get(), None)
    assert not Comparison.objects.exists()
    assert run.units.get().status == "PENDING"


def pulse_with(monkeypatch, act):
    """Have `act` called at each sign of life while a plan is made, with how many there were."""
    beaten = []

    def pulse():
        beaten.append(len(connection.savepoint_ids))
        act(len(beaten))

    monkeypatch.setattr(pairing_runs, "Pulse", lambda _run: pulse)
    return beaten


@pytest.mark.parametrize("kind", [PairingKind.ALL, PairingKind.ADAPTIVE])
def test_while_it_chooses_a_run_gives_signs_of_life_and_nobody_waits_for_it(monkeypatch, kind):
    run = start(plan_pairing(make_answers(), PairingRules(kind=kind, size=5), Verdicts()))
    outside = len(connection.savepoint_ids)
    beaten = pulse_with(monkeypatch, lambda _number: None)
    assert run_to_end(run.pk).status == "DONE"
    assert len(beaten) > 8  # turns
    assert set(beaten) == {outside}


def test_a_run_that_was_taken_over_while_it_chose_makes_nothing(monkeypatch):
    run = start(plan_pairing(make_answers(), PairingRules(), Verdicts()))

    def superseded(_number):
        raise SupersededError

    pulse_with(monkeypatch, superseded)
    with pytest.raises(SupersededError):
        work_pairing(run, run.units.get(), None)
    assert not PairingPlan.objects.exists()


@pytest.mark.parametrize(
    ("fields", "meanwhile", "plans", "created"),
    [
        ({}, {}, 1, 0),
        ({}, {"kind": PairingKind.SAMPLE, "size": 5}, 2, 19),
        (
            {"kind": PairingKind.ADAPTIVE, "size": 5},
            {"kind": PairingKind.ADAPTIVE, "size": 5},
            1,
            0,
        ),
    ],
)
def test_what_others_make_while_a_run_chooses_is_not_made_twice(
    monkeypatch, fields, meanwhile, plans, created
):
    dataset = make_answers()
    run = start(plan_pairing(dataset, PairingRules(**fields), Verdicts()))

    def act(number):
        if number == 9:
            make_next_batch(dataset, PairingRules(**meanwhile), Verdicts(), by=None)

    pulse_with(monkeypatch, act)
    assert run_to_end(run.pk).status == "DONE"
    plan = PairingPlan.objects.get(pk=run.units.get().result["plan"])
    assert (created_by_run(run), PairingPlan.objects.count()) == (created, plans)
    assert plan.comparisons.count() == Comparison.objects.count()


def test_a_run_that_was_stopped_goes_on_later():
    run = start(plan_pairing(make_answers(), PairingRules(), Verdicts()))
    cancel(run.pk)
    run_to_end(run.pk)
    assert not Comparison.objects.exists()
    reset_failed(run.pk)
    assert run_to_end(run.pk).status == "DONE"
    assert Comparison.objects.count() == 24


def test_a_run_with_nothing_to_compare_says_so():
    run = start(plan_pairing(make_dataset(), PairingRules(), Verdicts()))
    run = run_to_end(run.pk)
    assert (run.status, run.error_code) == ("FAILED", "pairing:nothing")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"scenarios": ("Code",)},
        {"models": ("alpha",)},
        {"models": ("alpha", "beta")},
        {"models": ("alpha", "beta"), "both_models": True},
        {"both_models": True},
        {"variants": True},
    ],
)
def test_what_is_possible_is_counted_as_it_is_planned(fields, django_assert_num_queries):
    dataset = make_answers(models=("alpha", "beta", "gamma", "delta"))
    rules = PairingRules(**fields)
    with django_assert_num_queries(1):
        found = possible_at_most(dataset, rules)
    assert found == len(possible_pairs(dataset, rules))
