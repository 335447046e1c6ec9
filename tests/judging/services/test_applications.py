"""What a run judges, and under which sets: targets of a test run."""

from __future__ import annotations

import pytest

from annotation.core.splits import Pooling
from annotation.models import Comparison
from judging.core.rules import PairwiseSettings, SelectionMode
from judging.core.targets import Basis, RunTarget, Targets
from judging.models import JudgeRun, Judgment, PreferenceSet, RunKind
from judging.queries.configurations import applied_plans, distil_plans
from judging.services.estimates import estimate
from judging.services.foreground import run_to_end
from judging.services.kinds import plan
from judging.services.preference_sets import sets_of
from judging.services.run_requests import RunRequest
from tests.factory import make_dataset, make_item, make_rater, make_scenario
from tests.factory import make_study as make_labelling_study
from tests.judging.study import (
    FakeJudge,
    label_pair,
    make_pair,
    make_study,
    opener_of,
    start_distillation,
    start_test_run,
)
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

UNLABELLED = Targets(kind=RunTarget.UNLABELLED)
EVERYTHING = Targets(kind=RunTarget.ALL)


@pytest.fixture
def study():
    """Twelve labelled pairs of one scenario, learned from, and three that nobody labelled."""
    dataset, rater = make_study(comparisons=12)
    parent = learned(dataset, rater)
    scenario = dataset.scenarios.get()
    fresh = [make_pair(scenario).pk for _ in range(3)]
    return dataset, rater, parent, fresh


def learned(dataset, rater, **settings):
    rules = PairwiseSettings(**{"pooling": Pooling.SCENARIO, **settings})
    run = start_distillation(dataset=dataset, annotator=rater, judge="lexical", settings=rules)
    return run_to_end(run.pk, opener=opener_of(FakeJudge()))


def applied(dataset, rater, **asked):
    return applied_plans(start_test_run(dataset=dataset, annotator=rater, **asked).config)


def test_what_nobody_labelled_is_judged_and_counts_nowhere(study):
    dataset, rater, parent, fresh = study
    run = start_test_run(dataset=dataset, annotator=rater, targets=UNLABELLED)
    (only,) = applied_plans(run.config)
    assert (list(only.unscored), only.winners, only.learned_from) == (fresh, (), ())
    assert (run.parent, run.config["unscored"], run.config["set_dataset"]) == (
        parent,
        True,
        dataset.slug,
    )
    asked = Judgment.objects.filter(run=run).values_list("comparison", flat=True)
    assert set(asked) == set(fresh)


def test_everything_holds_dev_pairs_which_are_no_agreement(study):
    dataset, rater, parent, fresh = study
    (only,) = applied(dataset, rater, targets=EVERYTHING)
    dev = distil_plans(parent.config)[0].dev
    assert set(only.learned_from) == set(dev)
    assert set(only.unscored) == {*dev, *fresh}
    assert set(only.comparisons) == set(Comparison.objects.values_list("pk", flat=True))
    assert only.winners == distil_plans(parent.config)[0].test_winners


def test_a_study_names_its_comparisons(study):
    dataset, rater, _parent, fresh = study
    pilot = make_labelling_study(dataset)
    make_item(pilot, comparison=Comparison.objects.get(pk=fresh[1]))
    targets = Targets(kind=RunTarget.STUDY, study=pilot.slug)
    (only,) = applied(dataset, rater, targets=targets)
    assert only.comparisons == (fresh[1],)
    with refuses("run:targets", match="no study 'none'"):
        applied(dataset, rater, targets=Targets(kind=RunTarget.STUDY, study="none"))


def test_filters_by_scenario_model_language_and_sample(study):
    dataset, rater, _parent, fresh = study
    one = Comparison.objects.get(pk=fresh[0])
    session = one.turn.session
    session.language = "zh-Hans"
    session.save()

    def judged(**filters):
        targets = Targets(kind=RunTarget.UNLABELLED, **filters)
        return [
            key for each in applied(dataset, rater, targets=targets) for key in each.comparisons
        ]

    assert judged(models=(one.response_b.model,)) == [fresh[0]]
    assert judged(languages=("zh",)) == [fresh[0]]
    assert judged(scenarios=(session.scenario.name,)) == fresh
    sample = judged(sample=2)
    assert len(sample) == 2
    assert judged(sample=2) == sample
    with refuses("run:no-targets"):
        judged(languages=("fr",))


def test_a_filter_hides_no_pair_that_was_learned_from():
    dataset, rater = make_study(comparisons=12)
    first = Comparison.objects.order_by("pk")
    siblings = [make_pair(each.turn.session.scenario, session=each.turn.session) for each in first]
    for sibling in siblings:
        label_pair(sibling, rater)
    parent = learned(dataset, rater)
    dev = Comparison.objects.get(pk=distil_plans(parent.config)[0].dev[0])
    (beside,) = Comparison.objects.filter(turn__session=dev.turn.session).exclude(pk=dev.pk)
    only = (beside.response_a.model,)
    with refuses("run:no-targets"):
        applied(dataset, rater, targets=Targets(models=only))
    whole = Targets(kind=RunTarget.ALL, models=only)
    (judged,) = applied(dataset, rater, targets=whole)
    assert (judged.winners, judged.learned_from) == ((), (beside.pk,))


def test_a_sample_of_the_test_part_is_all_test(study):
    dataset, rater, parent, _fresh = study
    (judged,) = applied(dataset, rater, targets=Targets(sample=4))
    assert len(judged.winners) == 4
    assert not set(judged.comparisons) & set(distil_plans(parent.config)[0].dev)


def test_a_scenario_with_nothing_to_learn_from_has_no_set_of_its_own(study):
    dataset, rater, _parent, _fresh = study
    lonely = make_pair(make_scenario(dataset, name="lonely", position=1))
    label_pair(lonely, rater)
    learned(dataset, rater, pooling=Pooling.ALL)
    learned(dataset, rater, seed=7)  # one conversation gives no dev pair
    PreferenceSet.objects.update(is_used=True)
    bases = {each.scenario: each.basis for each in applied(dataset, rater, targets=EVERYTHING)}
    assert bases == {"scenario 0": Basis.OWN, "lonely": Basis.ALL}


def test_another_dataset_is_judged_under_the_sets_learned_here(study):
    dataset, rater, parent, _fresh = study
    other = make_dataset()
    own = make_pair(make_scenario(other, name="scenario 0"))
    foreign = make_pair(make_scenario(other, name="unknown", position=1))
    run = start_test_run(dataset=other, annotator=rater, sets_dataset=dataset, targets=EVERYTHING)
    first, second = applied_plans(run.config)
    chosen = PreferenceSet.objects.get(run=parent, control="NONE")
    assert (run.dataset, run.parent, run.config["set_dataset"]) == (other, parent, dataset.slug)
    assert (first.comparisons, first.sets["NONE"]) == ((own.pk,), chosen.pk)
    assert first.basis is (Basis.OWN if chosen.is_used else Basis.BASE)
    assert (second.comparisons, second.basis) == ((foreign.pk,), Basis.BASE)
    assert second.selected == (second.base,)


def test_a_scenario_without_a_set_falls_back_to_the_set_over_all(study):
    dataset, rater, _parent, _fresh = study
    foreign = make_pair(make_scenario(dataset, name="unknown", position=1))
    over_all = learned(dataset, rater, pooling=Pooling.ALL)
    by_scenario = learned(dataset, rater, seed=7)
    PreferenceSet.objects.update(is_used=True)
    run = start_test_run(dataset=dataset, annotator=rater, targets=UNLABELLED)
    bases = {each.scenario: each for each in applied_plans(run.config)}
    assert run.parent == by_scenario
    assert bases["scenario 0"].basis is Basis.OWN
    assert (bases["unknown"].basis, bases["unknown"].comparisons) == (Basis.ALL, (foreign.pk,))
    pooled = PreferenceSet.objects.get(run=over_all, control="NONE")
    assert bases["unknown"].sets["NONE"] == pooled.pk


def test_data_that_nobody_labelled_are_judged_in_nobody_s_stead():
    dataset = make_dataset()
    pair = make_pair(make_scenario(dataset))
    (run,) = plan(RunRequest(kind=RunKind.TEST, dataset=dataset))
    (only,) = applied_plans(run.config)
    assert (run.annotator, run.parent, run.config["sets_of"]) == (None, None, None)
    assert (only.unscored, only.selected) == ((pair.pk,), None)


def test_all_annotators_are_one_request(study):
    dataset, rater, _parent, _fresh = study
    other, silent = make_rater(dataset, "bea"), make_rater(dataset, "silent")
    for comparison in Comparison.objects.all():
        label_pair(comparison, other, "A")
    learned(dataset, other)
    runs = plan(RunRequest(kind=RunKind.TEST, dataset=dataset))
    assert [run.annotator for run in runs] == [rater, other]
    assert silent not in [run.annotator for run in runs]
    without = RunRequest(kind=RunKind.TEST, dataset=dataset, with_sets=False, targets=EVERYTHING)
    assert [run.annotator for run in plan(without)] == [None]


def test_nothing_for_anybody_is_said():
    dataset, _rater = make_study()
    with refuses("run:not-distilled"):
        plan(RunRequest(kind=RunKind.TEST, dataset=dataset))


@pytest.fixture
def several():
    """Twelve pairs that three people labelled alike, one of them six more; all were learned."""
    dataset, ann = make_study(comparisons=12)
    others = [make_rater(dataset, name) for name in ("bea", "cas")]
    for comparison in Comparison.objects.all():
        for other in others:
            label_pair(comparison, other)
    scenario = dataset.scenarios.get()
    more = [make_pair(scenario) for _ in range(6)]
    for comparison in more:
        label_pair(comparison, ann)
    for rater in (ann, *others):
        learned(dataset, rater)
    return dataset, ann, others


def test_other_annotators_judges_are_heard_but_on_what_they_were_learned_from(several):
    dataset, ann, others = several
    run = start_test_run(dataset=dataset, annotator=ann)
    (only,) = applied_plans(run.config)
    dev = {other.pk: own_dev(other) for other in others}
    assert run.config["others"] == {"drawn": 2, "of": 2}
    assert [each.annotator for each in only.others] == [other.pk for other in others]
    for each in only.others:
        stack = PreferenceSet.objects.get(annotator=each.annotator, control="NONE").stack_id
        assert each.preferences == (stack,)
        assert set(each.learned_from) == dev[each.annotator] & {key for key, _ in only.winners}
        judged = Judgment.objects.filter(run=run, preference=stack)
        assert set(judged.values_list("comparison", flat=True)) == only.judged_by(each)
        assert judged.count() == 2 * len(only.judged_by(each))
    questions = estimate(start_test_run(dataset=dataset, annotator=ann, again=True)).stages
    assert sum(stage.questions for stage in questions) == run.judgments.count()


def own_dev(rater):
    run = JudgeRun.objects.get(kind=RunKind.DISTIL, annotator=rater)
    return {key for each in distil_plans(run.config) for key in each.dev}


@pytest.mark.parametrize(
    "asked",
    [{"with_control": False}, {"with_sets": False}, {"targets": UNLABELLED}, "of"],
    ids=["no control", "base judge", "unlabelled", "another's sets"],
)
def test_nobody_else_is_heard_where_it_shows_nothing(several, asked):
    dataset, ann, others = several
    asked = {"sets_of": others[0]} if asked == "of" else asked
    if "targets" in asked:
        make_pair(dataset.scenarios.get())
    run = start_test_run(dataset=dataset, annotator=ann, **asked)
    assert [each.others for each in applied_plans(run.config)] == [()]
    assert "others" not in run.config


def test_of_many_others_five_are_drawn_the_same_ones_every_time():
    dataset, ann = make_study(comparisons=4)
    learned(dataset, ann)
    for number in range(7):
        other = make_rater(dataset, f"other {number}")
        label_pair(Comparison.objects.first(), other)
        label_pair(Comparison.objects.last(), other)
        learned(dataset, other)
    plans = [applied(dataset, ann), applied(dataset, ann)]
    heard = [[each.annotator for each in one.others] for (one,) in plans]
    assert heard[0] == heard[1]
    assert len(set(heard[0])) == 5
    run = start_test_run(dataset=dataset, annotator=ann)
    assert run.config["others"] == {"drawn": 5, "of": 7}


def test_who_learned_nothing_of_use_is_heard_as_the_base_judge(several):
    dataset, ann, others = several
    PreferenceSet.objects.filter(annotator=others[0]).update(is_used=False, stack=None)
    (only,) = applied(dataset, ann)
    assert only.others[0].preferences == (only.base,)
    (cell, *_rest) = [keys for key, keys in only.cells() if key in only.judged_by(only.others[0])]
    assert len(cell) == len(set(cell))


def test_nobody_is_heard_elsewhere_who_did_not_label_there(several):
    dataset, ann, (bea, _cas) = several
    other = make_dataset()
    pair = make_pair(make_scenario(other, name="scenario 0"))
    for rater in (ann, bea):
        label_pair(pair, rater)
    asked = {"dataset": other, "sets_dataset": dataset, "targets": EVERYTHING}
    run = start_test_run(annotator=ann, **asked)
    (only,) = applied_plans(run.config)
    assert [each.annotator for each in only.others] == [bea.pk]
    assert run.config["others"] == {"drawn": 1, "of": 1}


def test_sets_over_all_scenarios_are_of_one_distillation_of_the_same_mode(study):
    dataset, rater, _parent, _fresh = study
    make_pair(make_scenario(dataset, name="unknown", position=1))
    learned(dataset, rater, pooling=Pooling.ALL)
    bare = learned(dataset, rater, pooling=Pooling.ALL, seed=3)
    PreferenceSet.objects.filter(run=bare).exclude(control="NONE").delete()
    learned(dataset, rater, pooling=Pooling.ALL, mode=SelectionMode.PAPER)
    parent = learned(dataset, rater, seed=7)
    sets = sets_of(parent)
    over_all = {key: one.run for key, one in sets.items() if key[0] is None}
    assert over_all == {(None, "NONE", 0): bare}
    assert {one.run for key, one in sets.items() if key[0]} == {parent}
