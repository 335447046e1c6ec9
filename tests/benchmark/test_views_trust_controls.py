"""What stands beside a judge on the trust page: other prompts, and baselines that ask nobody."""

from __future__ import annotations

import csv
from html import unescape
from io import StringIO

import pytest
from django.core.cache import cache
from django.utils.html import escape

from annotation.models import PairwiseLabel
from benchmark.queries.choices import annotators, datasets, verdict_runs
from judging.models import JudgeRun
from tests.benchmark.stage import Stage
from tests.factory import make_label, make_scenario, make_study, make_user
from tests.markup import tight

pytestmark = pytest.mark.django_db


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def study():
    """Twelve labels for B, the longer; the judge says A, with preferences B."""
    stage = Stage.make(size=12)
    ann = stage.rater("ann")
    stage.label(ann, "B" * 12)
    run = stage.tested(ann, stage.distilled(ann), base="A" * 12, selected="B" * 12)
    return stage, ann, run


def by_rubric(stage, ann, *, prompt="PAIRWISE", base="AAABBBBBBBBB"):
    run = stage.tested(ann, None, base=base)
    run.config["prompt"] = prompt
    run.save()
    return run


def rows_of(viewer, ann, **more):
    page = viewer.get("/trust/", {"annotator": ann.pk, **more})
    assert page.status_code == 200
    return {row.name: row.figures.agreement for row in page.context["voices"]}, page


def test_the_longer_response_and_the_other_annotators_need_no_judge(viewer):
    stage, ann, _run = study()
    for name, verdicts in (("bea", "A" * 6 + "B" * 6), ("cas", "A" * 6 + "B" * 6)):
        stage.label(stage.rater(name), verdicts)
    rows, page = rows_of(viewer, ann)
    longer, others = (
        rows["No judge: the longer response"],
        rows["No judge: the other annotators"],
    )
    assert (longer.value, longer.verdicts) == (1.0, 12)
    assert (others.value, others.verdicts) == (0.5, 12)
    assert "No judge: the longer response" in page.content.decode()


def test_the_best_rule_that_reads_nothing_is_named_with_the_result(viewer):
    stage = Stage.make(size=12)
    ann = stage.rater("ann")
    stage.label(ann, "A" * 9 + "BBB", shown="SWAPPED")  # the shorter, and the one shown second
    run = stage.tested(ann, stage.distilled(ann), base="B" * 12, selected="A" * 6 + "B" * 6)
    rows, page = rows_of(viewer, ann)
    assert rows["No judge: the shorter response"].value == 0.75
    assert "No judge: the longer response" not in rows
    assert "No judge: the response shown first" not in rows
    told = tight(page)
    assert "Best rule without a judge: always the shorter response," in told
    assert "no better than always choosing the shorter response" in told  # 9 of 12, as the judge
    stage.tested(ann, run.parent, base="B" * 12, selected="AAAAA" + "B" * 7)
    assert "(the judge against it: -8 points," in tight(rows_of(viewer, ann)[1]).replace("−", "-")
    for of, agreeing in (("longer", 3), ("shorter", 9), ("first", 3)):
        found = viewer.get("/trust/rows/", {"annotator": ann.pk, "of": of}).context["found"]
        assert (found.run, found.counts["agrees"]) == (None, agreeing)
    PairwiseLabel.objects.filter(annotator=ann).update(shown_order="ORIGINAL")
    PairwiseLabel.objects.filter(annotator=ann, verdict="B").update(shown_order="SWAPPED")
    cache.clear()
    assert "always the response shown first," in tight(rows_of(viewer, ann)[1])


def test_a_control_on_few_comparisons_is_marked_and_stands_below(viewer):
    stage, ann, _run = study()
    stage.label(stage.rater("bea"), "B" * 5 + "." * 7)
    by_rubric(stage, ann, base="B" * 12)
    _rows, page = rows_of(viewer, ann)
    last = page.context["voices"][-1]
    assert (last.name, last.is_thin) == ("No judge: the other annotators", True)
    assert not any(row.is_thin for row in page.context["voices"][:-1])
    told = tight(page)
    assert "▲ No judge: the other annotators, on 5 only" in told
    assert told.count("far fewer than the result") == 2
    ticks = page.context["plot"].ticks
    assert (ticks[0].label, ticks[-1].label) == ("0\u202f%", "100\u202f%")


def test_the_annotator_s_own_hidden_repeats_stand_beside_the_result(viewer, client):
    stage, ann, _run = study()
    assert "repeated their own answer" not in tight(rows_of(viewer, ann)[1])
    quality = make_study(stage.dataset, repeat_rate=0.2, status="CLOSED")
    for place, comparison in enumerate(stage.comparisons["Writing"][:4]):
        make_label(comparison, annotator=ann, verdict="B", study=quality)
        verdict = "A" if place == 0 else "B"
        make_label(comparison, annotator=ann, verdict=verdict, study=quality, repeat_index=1)
    said = "repeated their own answer on 75 % of 4 hidden repeats"
    assert said in tight(rows_of(viewer, ann)[1])
    other = make_scenario(stage.dataset, name="Code").pk
    assert said not in tight(viewer.get(f"/trust/?annotator={ann.pk}&scenario={other}"))
    file = f"/trust/figures.csv?annotator={ann.pk}&table=controls"
    row = list(csv.DictReader(StringIO(viewer.get(file).content.decode())))[-1]
    told = ("annotator", "scenario", "control", "n", "value", "dataset")
    assert [row[name] for name in told] == ["ann", "", "repeats", "4", "0.75", "study"]
    file = f"{file}&scenario={other}"
    assert "repeats" not in viewer.get(file).content.decode()
    ann.is_active = True
    ann.save()
    client.force_login(ann)
    assert "hidden repeat" not in tight(rows_of(client, ann)[1])


def test_nobody_else_labelled_so_there_is_no_majority(viewer):
    _stage, ann, _run = study()
    rows, _page = rows_of(viewer, ann)
    assert "No judge: the other annotators" not in rows


def test_a_run_by_a_generic_rubric_is_a_control_of_the_same_judge(viewer):
    stage, ann, run = study()
    by_rubric(stage, ann, base="A" * 12)
    newest = by_rubric(stage, ann)
    by_rubric(stage, ann, prompt="SINGLE", base="B" * 12)
    unfinished = by_rubric(stage, ann, prompt="THOUGHT")
    JudgeRun.objects.filter(pk=unfinished.pk).update(status="RUNNING")
    other = by_rubric(stage, ann, prompt="REFERENCE")
    JudgeRun.objects.filter(pk=other.pk).update(judge="another")
    rows, page = rows_of(viewer, ann)
    assert rows["Generic rubric"].value == 0.75
    assert rows["Grades from 1 to 10"].value == 1.0
    assert "With a reference answer" not in rows
    assert page.context["scope"].run.id == run.pk
    assert f"{newest.pk} · " in page.content.decode()
    assert "· Generic rubric · 12 comparisons</option>" in tight(page)


def test_a_permanent_link_shows_the_same_figures_after_later_runs(viewer):
    stage, ann, run = study()
    bea = stage.rater("bea")
    stage.label(bea, "A" * 6 + "B" * 6)
    parent = stage.distilled(bea)
    stage.tested(bea, parent, base="A" * 12, selected="A" * 6 + "B" * 6)
    by_rubric(stage, ann)
    before, page = rows_of(viewer, ann)
    told = unescape(tight(page))
    assert "the one that covers most of this annotator's labels." in told
    link = "/trust/?" + page.context["query"]
    assert f'<a href="{link}" data-permanent>Permanent link to these figures</a>' in told
    assert "Newer runs exist" not in tight(viewer.get(link))
    shown = viewer.get(link).context["page"].personal

    stage.tested(bea, parent, base="B" * 12, selected="B" * 12)
    by_rubric(stage, ann, base="B" * 12)
    newer = stage.tested(ann, run.parent, base="B" * 12, selected="A" * 12)
    after, page = rows_of(viewer, ann)
    assert page.context["scope"].run.id == newer.pk
    assert after != before
    kept = viewer.get(link)
    assert {row.name: row.figures.agreement for row in kept.context["voices"]} == before
    assert kept.context["page"].personal == shown
    assert "Newer runs exist." in tight(kept)
    assert f'name="until" value="{kept.context["scope"].pin.until}"' in tight(kept)
    for row in kept.context["voices"]:  # and so do the rows behind its numbers
        judged_in = viewer.get(row.url).context["found"].run
        assert (judged_in or 0) <= kept.context["scope"].pin.until
    _rows, page = rows_of(viewer, ann, run=run.pk)
    assert f"Run {newer.pk} of " in tight(page)
    # Another run than the link's is shown with all that is there.
    _rows, page = rows_of(viewer, ann, run=newer.pk, was_run=run.pk, until=run.pk)
    assert page.context["scope"].question.until is None
    _rows, page = rows_of(viewer, ann, until=run.pk)
    assert page.context["scope"].run.id == run.pk


def test_no_link_is_permanent_while_a_run_goes_on(viewer):
    stage, ann, run = study()
    rubric = by_rubric(stage, ann)
    link = "Permanent link to these figures</a>"
    for status in ("PENDING", "RUNNING", "BATCH"):
        JudgeRun.objects.filter(pk=rubric.pk).update(status=status)
        _rows, page = rows_of(viewer, ann, run=run.pk)
        assert link not in tight(page)
        assert "A run is in progress. A permanent link is available when it has" in tight(page)
        assert "until" not in page.context["query"]
    _rows, page = rows_of(viewer, ann, run=run.pk, until=run.pk)  # ended before it
    assert f"runs up to number {run.pk} only" in tight(page)
    assert "Newer runs exist." in tight(page)
    JudgeRun.objects.filter(pk=rubric.pk).update(status="DONE")
    _rows, page = rows_of(viewer, ann, run=run.pk)
    assert link in tight(page)
    assert f"until={rubric.pk}" in page.context["query"]


def test_a_run_by_a_rubric_is_read_only_where_it_is_asked_for(viewer):
    stage, ann, _run = study()
    JudgeRun.objects.filter(kind="TEST").delete()
    rubric = by_rubric(stage, ann)
    base = stage.tested(ann, None, base="A" * 12)
    later = by_rubric(stage, ann)
    (dataset,) = datasets()
    (person,) = annotators(dataset)
    assert [run.id for run in verdict_runs(dataset, person)] == [base.pk, later.pk, rubric.pk]
    rows, _page = rows_of(viewer, ann, run=later.pk)
    assert rows["Base judge, no preferences"].value == 0.75


def test_a_judge_that_a_rule_beats_gets_no_plain_yes(viewer):
    stage = Stage.make(size=12)
    ann = stage.rater("ann")
    stage.label(ann, "A" * 12, shown="ORIGINAL")
    parent = stage.distilled(ann)
    stage.tested(ann, parent, base="B" * 12, selected="A" * 12)
    assert "Not enough evidence: preferences help (0 % → 100 %), no better than" in tight(
        viewer.get("/trust/")
    )
    stage.tested(ann, parent, base="B" * 12, selected="A" * 11 + "B")
    told = tight(viewer.get("/trust/"))
    assert "preferences help (0 % → 92 %), no better than always choosing the" in told
    assert "Yes:" not in told


def test_a_run_over_unlabelled_comparisons_is_no_choice_and_says_what_it_is(viewer):
    stage, ann, run = study()
    other = stage.tested(ann, run.parent, base="." * 12, selected="." * 12)
    config = {**other.config, "unscored": True}
    JudgeRun.objects.filter(pk=other.pk).update(config=config)
    _rows, page = rows_of(viewer, ann)
    assert [each.id for each in page.context["scope"].runs] == [run.pk]
    _rows, page = rows_of(viewer, ann, run=other.pk)
    assert "it judged no unseen comparison" in tight(page)
    assert [each.id for each in page.context["scope"].runs] == [run.pk, other.pk]


def links(page):
    return {row.name: row.url for row in page.context["voices"]}


def test_every_control_leads_to_its_comparisons_and_the_run_that_judged_them(viewer):
    stage, ann, run = study()
    bea = stage.rater("bea")
    stage.label(bea, "A" * 6 + "B" * 6)
    tried = stage.tested(
        ann, stage.distilled(bea), base="A" * 12, selected="BBBAAAAAAAAA", sets_of=bea
    )
    rubric = by_rubric(stage, ann)
    rows, page = rows_of(viewer, ann)
    assert rows["Preferences of bea"].value == 0.25
    assert rows["Preferences of bea"].interval is not None
    assert [row.name for row in page.context["voices"]] == [
        "Selected preferences",
        "Base judge, no preferences",
        "Preferences of bea",
        "Generic rubric",
        "No judge: the longer response",
        "No judge: the other annotators",
    ]
    comparison = stage.comparisons["Writing"][0].pk
    expected = {
        "Selected preferences": (run.pk, 12),
        "Base judge, no preferences": (run.pk, 0),
        "Preferences of bea": (tried.pk, 3),
        "Generic rubric": (rubric.pk, 9),
        "No judge: the longer response": (None, 12),
        "No judge: the other annotators": (None, 6),
    }
    for name, (judged_in, agreeing) in expected.items():
        answer = viewer.get(links(page)[name])
        found = answer.context["found"]
        assert (found.total, found.counts["agrees"]) == (12, agreeing)
        assert found.run == judged_in
        address = f"/runs/{judged_in}/comparisons/{comparison}/"
        if judged_in == run.pk:
            letter = "s" if name == "Selected preferences" else ""
            address = (
                f"/trust/disagreements/{comparison}/{ann.pk}/?dataset=study"
                f"&run={run.pk}{letter}&annotator={ann.pk}"
            )
        if judged_in is None:
            address = f"/comparisons/{comparison}/"
        assert f'href="{escape(address)}"' in answer.content.decode()
        assert viewer.get(address).status_code == 200
    title = viewer.get(links(page)["Preferences of bea"]).content.decode()
    assert "Decided with the preferences of bea" in title


def test_managers_are_led_to_the_controls_that_could_be_judged(viewer, client):
    _stage, ann, run = study()
    address = f'href="/runs/{run.pk}/controls/"'
    assert address not in rows_of(viewer, ann)[1].content.decode()
    client.force_login(make_user(role="MANAGER"))
    assert address in rows_of(client, ann)[1].content.decode()
    assert client.get(f"/runs/{run.pk}/controls/").status_code == 200


def test_a_control_that_is_not_there_has_no_rows(viewer):
    _stage, ann, _run = study()
    for more in ({"of": "other", "who": "nobody"}, {"of": "rubric", "who": "%d"}):
        answer = viewer.get("/trust/rows/", {"annotator": ann.pk, **more})
        assert answer.status_code == 200
        assert "No comparisons" in answer.content.decode()


@pytest.mark.parametrize("of", ["other", "rubric", "longer", "shorter", "first", "majority"])
def test_annotators_do_not_see_the_rows_beside_their_result(client, of):
    _stage, ann, _run = study()
    ann.is_active = True
    ann.save()
    client.force_login(ann)
    assert client.get("/trust/rows/", {"of": "selected"}).status_code == 200
    assert client.get("/trust/rows/", {"of": of, "who": "bea"}).status_code == 404


def test_an_annotator_is_not_shown_what_others_said(client):
    stage, ann, _run = study()
    stage.label(stage.rater("bea"), "B" * 12)
    ann.is_active = True
    ann.save()
    client.force_login(ann)
    rows, _page = rows_of(client, ann)
    assert set(rows) == {
        "Selected preferences",
        "Base judge, no preferences",
        "No judge: the longer response",
    }


def test_every_control_is_shown_in_each_scenario_with_what_it_decided_there(viewer):
    stage = Stage.make(scenarios=("Writing", "Code"), size=4)
    ann = stage.rater("ann")
    stage.label(ann, "B" * 8)
    stage.tested(ann, stage.distilled(ann), base="A" * 8, selected="B" * 8)
    by_rubric(stage, ann, base="BBBA" + "AAAA")
    page = viewer.get("/trust/", {"annotator": ann.pk})
    assert "Controls by scenario" in page.content.decode()
    place = page.context["controls"].index("Generic rubric")
    found = [row["controls"][place] for row in page.context["scenario_rows"]]
    assert [each.figures.agreement.value for each in found] == [0.75, 0.0]
    for each in found:
        rows = viewer.get(each.url)
        assert rows.context["page"].paginator.count == each.figures.agreement.comparisons == 4


def test_a_control_that_decided_nothing_in_a_scenario_has_no_figure_there(viewer):
    stage = Stage.make(scenarios=("Writing", "Code"), size=4)
    ann = stage.rater("ann")
    stage.label(ann, "B" * 8)
    stage.tested(ann, stage.distilled(ann), base="A" * 8, selected="B" * 8)
    run = by_rubric(stage, ann, base="B" * 8)
    code = stage.comparisons["Code"]
    run.judgments.filter(comparison__in=code).delete()
    page = viewer.get("/trust/", {"annotator": ann.pk})
    place = page.context["controls"].index("Generic rubric")
    writing, code_row = (row["controls"][place] for row in page.context["scenario_rows"])
    assert (writing.figures.agreement.value, code_row) == (1.0, None)


def test_more_sets_than_a_statement_may_name_decide_alike(viewer, monkeypatch):
    stage, ann, _run = study()
    bea = stage.rater("bea")
    stage.label(bea, "A" * 12)
    stage.tested(bea, stage.distilled(bea), base="A" * 12, selected="A" * 6 + "B" * 6)
    rows, _page = rows_of(viewer, ann)
    assert rows["Preferences of bea"].value == 0.5
    monkeypatch.setattr("benchmark.queries.evidence._MOST_NAMED", 0)
    assert rows_of(viewer, ann)[0] == rows


def test_another_s_judge_is_read_as_in_their_own_run(viewer):
    stage, ann, run = study()
    bea = stage.rater("bea")
    stage.label(bea, "A" * 12)
    theirs = stage.tested(bea, stage.distilled(bea), base="A" * 12, selected="A" * 9 + "BBB")
    assert rows_of(viewer, ann)[0]["Preferences of bea"].value == 0.25
    # What was selected as the worst means the opposite of what it says.
    (plan,) = theirs.config["scenarios"]
    theirs.config |= {"mode": "PAPER", "scenarios": [plan | {"inverted": True}]}
    theirs.save()
    run.config |= {"mode": "PAPER"}  # what is not in the same mode is not heard
    run.save()
    cache.clear()  # no run that is over changes
    assert rows_of(viewer, ann)[0]["Preferences of bea"].value == 0.75


@pytest.mark.parametrize("state", ["CANCELLED", "DONE"])
def test_a_trial_of_another_s_sets_that_judged_less_hides_no_whole_one(viewer, state):
    stage, ann, _run = study()
    bea = stage.rater("bea")
    stage.label(bea, "A" * 12)
    parent = stage.distilled(bea)
    stage.tested(ann, parent, base="A" * 12, selected="B" * 12, sets_of=bea)
    less = stage.tested(ann, parent, base="A" * 12, selected="AB" + "." * 10, sets_of=bea)
    less.status = state
    if state == "DONE":
        less.config["targets"] = {"kind": "TEST", "sample": 2}
    less.save()
    other = rows_of(viewer, ann)[0]["Preferences of bea"]
    assert (other.value, other.verdicts) == (1.0, 24)
