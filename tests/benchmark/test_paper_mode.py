"""Sets that were selected as the paper's code does are read apart from others."""

from __future__ import annotations

import pytest
from django.core.cache import cache

from benchmark.core.trust import Condition, ConditionKind
from benchmark.queries.choices import annotators, dataset_of
from benchmark.queries.judges import TablesQuestion, tables_page
from benchmark.queries.personal import personal_claims
from benchmark.queries.ranking import LeaderboardQuestion, Source, leaderboard_scope, runs_of
from benchmark.queries.trust import Reader, TrustQuestion, report, trust_page
from tests.benchmark.stage import Stage

pytestmark = pytest.mark.django_db


def as_paper(run):
    run.config |= {"mode": "PAPER"}
    run.save()
    cache.clear()
    return run


def applied(stage, rater):
    return stage.tested(rater, stage.distilled(rater), base="B" * 12, selected="A" * 12)


@pytest.fixture
def study():
    """Two annotators with a run each; the second one's is in paper mode."""
    stage = Stage.make(size=12)
    ann, bea = stage.rater("ann"), stage.rater("bea")
    for rater in (ann, bea):
        stage.label(rater, "A" * 12)
    return stage, applied(stage, ann), as_paper(applied(stage, bea))


def board_runs(*, run=None):
    scope = leaderboard_scope(LeaderboardQuestion(dataset="study", run=run))
    return [each.pk for each in runs_of(scope, Source.SELECTED, "lexical")]


def test_an_annotator_s_usual_run_is_read_before_one_in_paper_mode(study):
    stage, own, _other = study
    later = as_paper(applied(stage, own.annotator))
    question = TrustQuestion(annotator=own.annotator_id)
    assert trust_page(question, Reader(None)).scope.run.id == own.pk
    asked = TrustQuestion(annotator=own.annotator_id, run=later.pk)
    assert trust_page(asked, Reader(None)).scope.run.id == later.pk


def test_among_judges_they_have_a_line_of_their_own(study):
    _stage, own, other = study
    lines = tables_page(TablesQuestion(dataset="study")).lines
    assert {(line.name.way, line.runs) for line in lines} == {
        ("", (own.pk,)),
        ("paper", (other.pk,)),
    }


def test_boards_hear_them_only_where_there_are_no_others(study):
    _stage, own, other = study
    assert board_runs() == [own.pk]
    assert board_runs(run=other.pk) == [other.pk]
    as_paper(own)
    assert set(board_runs()) == {own.pk, other.pk}


def test_claims_are_of_one_family(study):
    _stage, own, other = study
    dataset = dataset_of("study")

    def claims():
        found = personal_claims(dataset, "lexical", annotators(dataset), seed=42)
        return {claim.run for claim in found}

    assert claims() == {own.pk}
    as_paper(own)
    assert claims() == {own.pk, other.pk}


def test_no_judge_is_held_against_another_s_of_the_other_mode(study):
    stage, own, other = study
    theirs = Condition(ConditionKind.OTHER, "bea")

    def heard():
        question = TrustQuestion(annotator=own.annotator_id)
        page = trust_page(question, Reader(None))
        return {each.voice for each in page.figures.overall.others}

    assert theirs not in heard()
    applied(stage, other.annotator)
    assert theirs in heard()


def test_a_report_says_which_of_its_runs_are(study):
    assert {name: run.is_paper for name, run in report("study").runs} == {
        "ann": False,
        "bea": True,
    }
