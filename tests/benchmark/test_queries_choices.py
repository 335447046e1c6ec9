"""Of several runs the one that covers most is read, and others can be chosen."""

from __future__ import annotations

import io

import pytest
from django.core.management import call_command

from benchmark.queries.choices import dataset_of
from benchmark.queries.satisfaction import satisfaction_figures
from judging.models import SatisfactionJudgment
from tests.benchmark.stage import Stage
from tests.benchmark.test_views_grades import grade
from tests.benchmark.test_views_model_satisfaction import ratings, scored
from tests.factory import make_user
from tests.markup import tight

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def study():
    """Twelve labels in each of two scenarios, no set, and a run over everything."""
    stage = Stage.make(scenarios=("Writing", "Maths"), size=12)
    ann = stage.rater("ann")
    stage.label(ann, "A" * 24)
    return stage, ann, by_pairs(stage, ann, "A" * 24)


def by_pairs(stage, ann, base, prompt="PAIRWISE", **fields):
    run = stage.tested(ann, None, base=base, **fields)
    run.config["prompt"] = prompt
    run.save()
    return run


def of_maths(stage, ann, **fields):
    """A later run of grades over the second scenario alone."""
    return by_pairs(stage, ann, "." * 12 + "B" * 12, prompt="SINGLE", kind="GRADE", **fields)


def leaderboard(*arguments):
    out = io.StringIO()
    call_command("leaderboard", "--dataset", "study", *arguments, stdout=out)
    return out.getvalue()


def base_board(viewer, query=""):
    page = viewer.get(f"/leaderboard/{query}")
    boards = {view.board.source.value: view.board for view in page.context["boards"]}
    return boards["base"], tight(page)


@pytest.mark.parametrize("judge", ["lexical", "gpt-4"])
def test_a_later_run_over_a_part_does_not_take_a_board(viewer, judge):
    stage, ann, whole = study()
    part = of_maths(stage, ann, judge=judge)
    board, page = base_board(viewer)
    assert (board.judge, board.runs, board.ranking.comparisons) == ("lexical", (whole.pk,), 24)
    assert f'Run:<a href="/runs/{whole.pk}/">{whole.pk}</a>· 24 of 24 comparisons' in page
    assert f'<option value="{part.pk}">{part.pk} · {judge}' in page
    assert f"run {whole.pk}" in leaderboard("--verdicts", "base")

    board, page = base_board(viewer, f"?run={part.pk}")
    assert (board.judge, board.runs, board.ranking.comparisons) == (judge, (part.pk,), 12)
    assert "12 of 24 comparisons" in page
    permanent = viewer.get(f"/leaderboard/?run={part.pk}").context["permanent"]
    board, _page = base_board(viewer, f"?{permanent}")
    assert board.runs == (part.pk,)
    assert viewer.get("/leaderboard/?run=99999").status_code == 404


def test_in_a_scenario_the_run_that_covers_most_of_it_is_read(viewer):
    stage, ann, whole = study()
    part = of_maths(stage, ann)
    maths = f"?scenario={stage.scenarios[1].pk}"
    assert base_board(viewer, maths)[0].runs == (part.pk,)  # of equals the newest
    by_pairs(stage, ann, "." * 14 + "A" * 10)
    assert base_board(viewer, maths)[0].runs == (part.pk,)
    assert base_board(viewer)[0].runs == (whole.pk,)


def test_a_judge_of_many_short_runs_covers_what_they_cover_together(viewer):
    stage = Stage.make(size=12)
    ann, bob = stage.rater("ann"), stage.rater("bob")
    stage.label(ann, "A" * 6 + "." * 6)
    stage.label(bob, "." * 6 + "A" * 6)
    runs = [by_pairs(stage, each, "A" * 12) for each in (ann, bob)]
    stage.label(stage.rater("cas"), "A" * 12)
    by_pairs(stage, ann, "A" * 12, judge="other")
    assert set(base_board(viewer)[0].runs) == {run.pk for run in runs}


def test_selected_verdicts_of_another_judge_are_found():
    stage = Stage.make(size=6)
    ann, bob = stage.rater("ann"), stage.rater("bob")
    stage.label(ann, "AAABBT")
    stage.label(bob, "AAABBT")
    sets = stage.distilled(ann)
    own = stage.tested(ann, sets, base="AABBA.", selected="AAAAB.")
    # A later judge tried ann's preferences on bob's labels alone: nobody's stand-in.
    stage.tested(bob, sets, base="AABBA.", selected="AAAAB.", judge="other", sets_of=ann)
    printed = leaderboard("--verdicts", "selected")
    assert f"by lexical, under the annotators' selected preferences; run {own.pk}" in printed


def test_trust_reads_the_run_that_covers_most_labels(viewer):
    stage, ann, whole = study()
    part = of_maths(stage, ann)
    page = viewer.get("/trust/")
    assert page.context["scope"].run.id == whole.pk
    told = tight(page)
    assert "Of the suitable runs, the one that covers most of this annotator's labels." in told
    assert f'<a href="/runs/{whole.pk}/">' in told
    assert "24 comparisons</option>" in told
    assert "12 comparisons</option>" in told
    other = viewer.get(f"/trust/?annotator={ann.pk}&run={part.pk}")
    assert other.context["figures"].overall.base.agreement.comparisons == 12
    out = io.StringIO()
    call_command("report", "--dataset", "study", stdout=out)
    assert f"judged by lexical, run {whole.pk};" in out.getvalue()


def test_runs_of_nobody_are_told_apart_by_what_the_annotator_labelled(viewer):
    stage, ann, whole = study()
    bob = stage.rater("bob")
    stage.label(bob, "." * 12 + "A" * 12)
    assert viewer.get(f"/trust/?annotator={bob.pk}").context["scope"].run is None
    long = by_pairs(stage, ann, "A" * 14 + "." * 10)
    short = by_pairs(stage, ann, "." * 12 + "A" * 12)
    for run in (long, short):  # two comparisons of bob's, and all twelve
        run.annotator = None
        run.save()
    newest = by_pairs(stage, ann, "." * 20 + "A" * 4)
    newest.annotator = None
    newest.save()
    scope = viewer.get(f"/trust/?annotator={bob.pk}").context["scope"]
    assert [(run.id, run.covers) for run in scope.runs] == [
        (short.pk, 12),
        (newest.pk, 4),
        (long.pk, 2),
    ]
    assert whole.pk not in {run.id for run in scope.runs}


def test_a_rubric_beside_a_judge_is_its_run_over_most(viewer):
    stage = Stage.make(size=12)
    ann = stage.rater("ann")
    stage.label(ann, "B" * 12)
    stage.tested(ann, stage.distilled(ann), base="A" * 12, selected="B" * 12)
    by_pairs(stage, ann, "B" * 12)
    by_pairs(stage, ann, "A" * 6 + "." * 6)
    rows = {row.name: row.figures.agreement for row in viewer.get("/trust/").context["voices"]}
    assert rows["Generic rubric"].comparisons == 12


def test_grades_are_those_of_the_run_with_most(viewer):
    stage = Stage.make(size=4)
    whole = grade(stage.dataset, [9, 5, 8, 4, 7, 3, 7, 2])
    part = grade(stage.dataset, [1, 1])
    page = viewer.get("/leaderboard/grades/")
    assert [run.pk for run in page.context["page"].runs] == [whole.pk, part.pk]
    assert page.context["page"].run.pk == whole.pk
    assert f"run {whole.pk}" in leaderboard("--grades")


def test_satisfaction_is_that_of_the_run_over_most_turns(viewer):
    dataset = ratings(users=4)
    whole = scored(dataset)
    part = scored(dataset, score=1)
    SatisfactionJudgment.objects.filter(run=part).exclude(
        pk=SatisfactionJudgment.objects.filter(run=part).earliest("pk").pk
    ).delete()
    page = viewer.get("/leaderboard/satisfaction/?voice=judge")
    assert [(run.id, run.n) for run in page.context["board"].runs] == [(whole.pk, 16), (part.pk, 1)]
    assert page.context["board"].run.id == whole.pk
    found = satisfaction_figures(dataset_of(dataset.slug), user=None, seed=1)
    assert found.run.id == whole.pk
