"""What a judge says where nobody labelled: rankings count it, agreement does not."""

from __future__ import annotations

import pytest

from annotation.core.splits import Pooling
from annotation.models import GoldLabel
from benchmark.core.accuracy import InvalidPolicy
from benchmark.queries.boards import board
from benchmark.queries.gold import dataset_gold_reports
from benchmark.queries.ranking import LeaderboardQuestion, Source, leaderboard_scope, runs_of
from benchmark.queries.trust import Reader, TrustQuestion, report, trust_page
from judging.core.rules import PairwiseSettings
from judging.core.targets import RunTarget, Targets
from judging.models import RunKind
from judging.services.foreground import run_to_end
from judging.services.kinds import plan, start
from judging.services.run_requests import RunRequest
from tests.factory import make_dataset, make_run, make_scenario, make_user
from tests.judging.study import (
    FakeJudge,
    make_pair,
    make_study,
    opener_of,
    start_distillation,
    start_test_run,
)

pytestmark = pytest.mark.django_db

EVERYBODY = Reader(only=None)
UNLABELLED = Targets(kind=RunTarget.UNLABELLED)


def judged(run):
    return run_to_end(run.pk, opener=opener_of(FakeJudge()))


@pytest.fixture
def study():
    """Twelve pairs labelled, learned from and measured; then four that nobody labelled."""
    dataset, rater = make_study(comparisons=12)
    rules = PairwiseSettings(pooling=Pooling.SCENARIO)
    judged(start_distillation(dataset=dataset, annotator=rater, judge="lexical", settings=rules))
    measured = judged(start_test_run(dataset=dataset, annotator=rater))
    fresh = [make_pair(dataset.scenarios.get()) for _ in range(4)]
    more = judged(start_test_run(dataset=dataset, annotator=rater, targets=UNLABELLED))
    return dataset, rater, measured, more, fresh


def verdicts(dataset, source):
    scope = leaderboard_scope(LeaderboardQuestion(dataset=dataset.slug))
    return board(scope, source, seed=1).verdicts


def test_a_leaderboard_counts_what_nobody_labelled_beside_the_test_part(study):
    dataset, _rater, _measured, _more, _fresh = study
    assert verdicts(dataset, Source.SELECTED) == (6 + 4) * 2
    assert verdicts(dataset, Source.HUMAN) == 12


def test_agreement_is_still_read_from_the_run_that_can_be_measured(study):
    dataset, rater, measured, _more, _fresh = study
    page = trust_page(TrustQuestion(dataset=dataset.slug, annotator=rater.pk), EVERYBODY)
    assert page.scope.run.id == measured.pk
    assert [run.id for run in page.scope.runs] == [measured.pk]  # of another there are no figures
    assert page.figures.overall.selected.agreement.comparisons == 6
    row = report(dataset.slug).rows[0]
    assert (row.n, row.verdicts) == (6, 12)


def test_an_everything_run_measures_the_test_part_alone(study):
    dataset, rater, _measured, _more, _fresh = study
    whole = Targets(kind=RunTarget.ALL)
    run = judged(start_test_run(dataset=dataset, annotator=rater, targets=whole))
    question = TrustQuestion(dataset=dataset.slug, annotator=rater.pk)
    page = trust_page(question, EVERYBODY)
    assert page.scope.run.id == run.pk
    assert page.figures.overall.selected.agreement.comparisons == 6
    assert verdicts(dataset, Source.SELECTED) == 10 * 2  # six learned from are left out
    assert verdicts(dataset, Source.BASE) == 16 * 2


def test_a_run_in_nobody_s_stead_is_measured_on_every_label(study):
    dataset, rater, _measured, _more, _fresh = study
    request = RunRequest(
        kind=RunKind.TEST,
        dataset=dataset,
        with_sets=False,
        targets=Targets(kind=RunTarget.ALL),
    )
    [run] = [judged(start(each)) for each in plan(request)]
    question = TrustQuestion(dataset=dataset.slug, annotator=rater.pk, run=run.pk)
    page = trust_page(question, EVERYBODY)
    assert page.figures.overall.base.agreement.comparisons == 12


def test_without_a_run_over_test_comparisons_those_that_ask_as_the_last_one_stand():
    dataset = make_dataset()
    asked = [("PAIRWISE", "STRICT"), ("THOUGHT", "STRICT"), ("THOUGHT", "BRACKETS")] * 2
    runs = [
        make_run(
            dataset,
            status="DONE",
            config={"targets": {"kind": "ALL"}, "prompt": prompt, "verdict_rule": rule},
        )
        for prompt, rule in asked
    ]
    scope = leaderboard_scope(LeaderboardQuestion(dataset=dataset.slug))
    assert runs_of(scope, Source.BASE, "lexical") == [runs[2], runs[5]]


def test_gold_answers_alone_are_enough_to_measure_a_judge(client):
    dataset = make_dataset()
    scenario = make_scenario(dataset)
    for place in range(3):
        GoldLabel.objects.create(
            comparison=make_pair(scenario), verdict="A" if place else "B", source="DATASET"
        )
    [run] = [judged(start(each)) for each in plan(RunRequest(kind=RunKind.TEST, dataset=dataset))]
    assert (run.annotator, run.judgments.count()) == (None, 6)
    (told,) = dataset_gold_reports(dataset.slug, policy=InvalidPolicy.EXCLUDED)
    # The judge names the first shown: right in one order of each pair.
    agreement = told.report.overall.agreement
    assert (agreement.value, agreement.comparisons) == (0.5, 3)
    client.force_login(make_user(role="VIEWER"))
    page = client.get("/trust/gold/", {"dataset": dataset.slug}).content.decode()
    assert "lexical" in page
