from __future__ import annotations

import pytest

from judging.models import Judgment, PreferenceSet, SatisfactionJudgment
from tests.benchmark.stage import Stage
from tests.factory import (
    make_dataset,
    make_label,
    make_rating,
    make_response,
    make_run,
    make_session,
    make_turn,
    make_user,
)
from tests.markup import tight

pytestmark = pytest.mark.django_db

ROWS = "/trust/rows/"


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def study(**fields):
    """Twelve labels of `ann`; the base judge names B, the selected set mostly what `ann` said."""
    stage = Stage.make(scenarios=("Writing", "Code"), size=6, **fields)
    ann = stage.rater("ann")
    stage.label(ann, "ABABAB" + "AABBAT", shown="ORIGINAL")
    run = stage.tested(
        ann,
        stage.distilled(ann),
        base="BBBBBB" + "BBBBBB",
        selected="ABABAB" + "AABBB.",
        shuffled="ABBA?A" + "BBAAA.",
    )
    return stage, ann, run


def text(answer):
    return " ".join(answer.content.decode().split())


def test_strangers_sign_in_first(client):
    for address in ("/trust/", ROWS):
        answer = client.get(address)
        assert (answer.status_code, answer.url) == (302, f"/sign-in/?next={address}")


def test_pages_are_only_read(viewer):
    assert [viewer.post(address).status_code for address in ("/trust/", ROWS)] == [405, 405]


def test_without_labels_the_page_says_what_will_appear(viewer):
    page = text(viewer.get("/trust/"))
    assert "No labels yet" in page
    make_dataset()
    page = text(viewer.get("/trust/"))
    assert "No labels in this dataset yet" in page
    assert "/studies/new/" not in page.split("<main")[1]
    viewer.force_login(make_user(role="MANAGER"))
    assert 'href="/studies/new/">New study' in text(viewer.get("/trust/"))


def test_labels_without_a_judge_have_no_answer_yet(client):
    stage = Stage.make()
    stage.label(stage.rater("ann"), "AB.T", shown="SWAPPED")
    client.force_login(make_user(role="MANAGER"))
    page = text(client.get("/trust/"))
    assert "Not known yet" in page
    assert "There are 3 labels." in page
    assert f"/runs/new/?dataset={stage.dataset.slug}" in page
    # Who favours the first shown is known all the same: A shown second, B shown first.
    assert "Annotator" in page


def test_the_answer_comes_in_words_with_its_numbers(viewer):
    study()
    page = text(viewer.get("/trust/"))
    # Selected: 10 of 11 comparisons right in both orders; base: the 5 that ann gave to B.
    assert "Not enough evidence: preferences help (45 % → 91 %), not clearly better than" in page
    assert "On 22 unseen verdicts (11 comparisons)" in page
    assert "Control: shuffled labels" in page


def test_figures_rows_and_disagreements_lead_to_one_another(viewer):
    stage, ann, run = study()
    queue = f"dataset=study&amp;run={run.pk}s&amp;annotator={ann.pk}"
    page = text(viewer.get("/trust/"))
    assert f'<a href="/trust/disagreements/?{queue}">See disagreements</a>' in page
    one = stage.comparisons["Writing"][0].pk
    rows = text(viewer.get(f"{ROWS}?of=own"))
    assert f'href="/trust/disagreements/{one}/{ann.pk}/?{queue}"' in rows
    assert f'href="/trust/disagreements/?{queue}"' in rows
    rows = text(viewer.get(f"{ROWS}?of=shuffled"))
    assert f"/runs/{run.pk}/comparisons/{one}/" in rows  # controls stand in nobody's queue
    listed = text(viewer.get("/trust/disagreements/"))
    assert f"/trust/?dataset=study&amp;annotator={ann.pk}&amp;run={run.pk}" in listed


def test_every_number_leads_to_its_rows(viewer):
    _stage, ann, run = study()
    page = text(viewer.get("/trust/"))
    question = f"dataset=study&amp;annotator={ann.pk}&amp;run={run.pk}"
    for of in ("human", "base", "selected"):
        assert f"{ROWS}?{question}&amp;rule=DEFAULT&amp;policy=EXCLUDED&amp;of={of}" in page


def test_the_selected_texts_are_shown_with_their_evidence(viewer):
    study()
    PreferenceSet.objects.filter(control="NONE").update(p_value=0.011, p_over_base=0.613)
    answer = viewer.get("/trust/")
    assert '<td class="n">0.613</td>' in tight(answer)  # against the base judge
    page = text(answer)
    assert "p against the base judge" in page
    assert "0.011" in page
    assert "ann prefers writing none." in page
    assert "ann prefers code none." in page
    assert "shuffled." not in page  # the control's texts are on their own page
    assert "/preference-sets/" in page


@pytest.mark.parametrize(
    ("policy", "agreement", "verdicts"), [("EXCLUDED", 3 / 10, 20), ("WRONG", 3 / 11, 22)]
)
def test_unreadable_verdicts_are_left_out_or_wrong(viewer, policy, agreement, verdicts):
    study()
    figures = viewer.get(f"/trust/?policy={policy}").context["figures"]
    shuffled = figures.overall.shuffled.agreement
    assert (shuffled.value, shuffled.verdicts) == (pytest.approx(agreement), verdicts)
    assert shuffled.unreadable == 2


def test_one_scenario_narrows_every_figure(viewer):
    stage, _ann, _run = study()
    page = text(viewer.get(f"/trust/?scenario={stage.scenarios[0].pk}"))
    assert "On 12 unseen verdicts (6 comparisons)" in page
    assert "By scenario" not in page


def test_other_annotators_sets_are_tried_on_these_labels(viewer):
    stage, ann, _run = study()
    other = stage.rater("other")
    stage.label(other, "BABABA" + "BBAABA")
    stage.tested(other, stage.distilled(other), base="AAAAAA" * 2, selected="BABABA" + "BBAABA")
    page = text(viewer.get(f"/trust/?annotator={ann.pk}"))
    # On what both labelled with a winner, other's set contradicts ann but for one comparison.
    assert "Preferences of other" in page


def test_a_set_tried_on_the_same_labels_comes_before_its_owners_own_run(viewer):
    stage, ann, _run = study()
    other = stage.rater("other")
    stage.label(other, "B" * 12)
    parent = stage.distilled(other)
    stage.tested(other, parent, base="A" * 12, selected="B" * 12)
    tried = stage.tested(ann, parent, base="A" * 12, selected="A" * 12, sets_of=other)
    page = viewer.get(f"/trust/?annotator={ann.pk}")
    voices = {row.name: row.figures for row in page.context["voices"]}
    assert voices["Preferences of other"].agreement.value == pytest.approx(6 / 11)
    # It is no run of ann's own preferences.
    assert tried.pk not in {run.id for run in page.context["scope"].runs}


@pytest.mark.parametrize("status", ["DONE", "RUNNING"])
def test_a_later_run_does_not_hide_a_finished_one_with_preferences(viewer, status):
    stage, ann, run = study()
    later = stage.distilled(ann) if status == "RUNNING" else None
    stage.tested(ann, later, base="B" * 12, status=status)
    page = viewer.get("/trust/")
    assert page.context["scope"].run.id == run.pk
    assert page.context["overall"].selected.agreement.verdicts


def test_the_newer_of_two_runs_with_preferences_is_read(viewer):
    stage, ann, _run = study()
    newer = stage.tested(ann, stage.distilled(ann), base="A" * 12, selected="A" * 12)
    assert viewer.get("/trust/").context["scope"].run.id == newer.pk


def test_where_no_run_applied_preferences_the_latest_is_read(viewer):
    stage = Stage.make()
    ann = stage.rater("ann")
    stage.label(ann, "ABAB")
    stage.tested(ann, None, base="AAAA")
    newer = stage.tested(ann, None, base="ABAA")
    assert viewer.get("/trust/").context["scope"].run.id == newer.pk


def test_anothers_sets_are_heard_although_the_base_judge_alone_ran_since(viewer):
    stage, ann, _run = study()
    other = stage.rater("other")
    stage.label(other, "B" * 12)
    parent = stage.distilled(other)
    stage.tested(other, parent, base="A" * 12, selected="B" * 12)
    run = stage.tested(other, parent, base="A" * 12)
    run.config = {
        "sets_of": None,
        "scenarios": [
            {**plan, "selected": None, "shuffled": None} for plan in run.config["scenarios"]
        ],
    }
    run.save()
    assert "Preferences of other" in text(viewer.get(f"/trust/?annotator={ann.pk}"))


def test_a_run_under_way_says_so(viewer):
    stage = Stage.make()
    ann = stage.rater("ann")
    stage.label(ann, "ABAB")
    stage.tested(ann, None, base="A--A", status="RUNNING")
    page = text(viewer.get("/trust/"))
    assert "4 judgments are missing" in page
    assert "This is the base judge; no preferences were applied yet." in page


def test_calls_that_failed_are_named(viewer):
    _stage, _ann, run = study()
    Judgment.objects.filter(run=run, status="UNPARSEABLE").update(
        status="FAILED", error_code="llm:timeout"
    )
    assert "2 calls failed and are not counted." in text(viewer.get("/trust/"))


def test_labels_edited_after_the_run_do_not_change_its_figures(viewer):
    _stage, ann, _run = study()
    ann.pairwiselabels.update(verdict="B")
    assert "preferences help (45 % → 91 %)" in text(viewer.get("/trust/"))


def test_htmx_gets_the_part_below_the_navigation(viewer):
    study()
    part = text(viewer.get("/trust/", headers={"HX-Request": "true", "HX-Target": "figures"}))
    assert "<html" not in part
    assert "preferences help (45 % → 91 %)" in part


def test_another_dataset_drops_the_finer_choices(viewer):
    _stage, ann, run = study()
    make_label(annotator=(someone := make_user()))
    other = someone.pairwiselabels.get().comparison.turn.session.dataset
    address = f"/trust/?dataset={other.slug}&was_dataset=study&annotator={ann.pk}&run={run.pk}"
    assert viewer.get(address).context["scope"].annotator.id == someone.pk


@pytest.mark.parametrize(
    "address",
    [
        "/trust/?dataset=none",
        "/trust/?annotator=999999",
        "/trust/?run=999999",
        "/trust/?scenario=999999",
        "/trust/?annotator=abc",
        "/trust/?policy=LENIENT",
        f"/trust/?annotator={2**70}",
        f"{ROWS}?of=nobody",
        f"{ROWS}?annotator=999999",
    ],
)
def test_what_is_not_there_is_not_found(viewer, address):
    study()
    assert viewer.get(address).status_code == 404


def test_rows_show_both_orders_and_the_outcome(viewer):
    study()
    page = viewer.get(ROWS)
    found = page.context["found"]
    assert found.total == 11
    assert {key.value: count for key, count in found.counts.items()} == {
        "agrees": 10,
        "disagrees": 1,
    }
    only = viewer.get(f"{ROWS}?outcome=disagrees").context["found"]
    (row,) = only.rows
    assert (row.cells, row.found.human, row.opening) == (
        ("B", "B"),
        "A",
        "Write a note to my landlord.",
    )


def test_rows_of_a_control_with_an_unreadable_reply(viewer):
    study()
    found = viewer.get(f"{ROWS}?of=shuffled&outcome=unreadable").context["found"]
    assert [row.cells for row in found.rows] == [("", "")]


def test_rows_of_a_run_in_one_order_leave_the_other_empty(viewer):
    stage = Stage.make()
    ann = stage.rater("ann")
    stage.label(ann, "ABAB")
    stage.tested(ann, None, base="aTAB")
    rows = viewer.get(f"{ROWS}?of=base").context["found"].rows
    assert [row.cells for row in rows] == [("A", None), ("TIE", "TIE"), ("A", "A"), ("B", "B")]


def test_rows_of_the_annotator_are_labels_with_a_winner_and_a_known_order(viewer):
    stage = Stage.make()
    ann = stage.rater("ann")
    stage.label(ann, "AT..", shown="SWAPPED")
    stage.label(ann, "..B.")
    found = viewer.get(f"{ROWS}?of=human").context["found"]
    assert [(row.found.human, row.found.shown) for row in found.rows] == [("A", "SWAPPED")]


def test_no_rows_is_a_page_of_its_own(viewer):
    study()
    assert "No comparisons" in text(viewer.get(f"{ROWS}?outcome=split"))


def test_imported_verdicts_are_read_against_the_labels_in_the_tables(viewer):
    stage = Stage.make()
    ann = stage.rater("ann")
    stage.label(ann, "ABA.")
    run = stage.tested(ann, None, base="AAA.", kind="RECORDED")
    run.config = {}
    run.save()
    page = text(viewer.get("/trust/"))
    assert "Not enough evidence: the judge agrees 67 %" in page
    assert "These are recorded verdicts" in page


def test_scenarios_of_a_judge_without_preferences_have_no_columns_of_them(viewer):
    stage = Stage.make(scenarios=("Writing", "Code"))
    ann = stage.rater("ann")
    stage.label(ann, "ABABABAB")
    stage.tested(ann, None, base="AAAAAAAA")
    page = text(viewer.get("/trust/")).split("By scenario")[1]
    assert "gain (pp)" not in page
    assert '<th class="n">selected</th>' not in page


def test_a_stopped_run_that_could_still_count_is_named(viewer):
    stage, ann, _run = study()
    assert "stopped early" not in text(viewer.get("/trust/"))
    stopped = stage.tested(ann, None, base="AAAAAAAA", status="FAILED")
    told = f"Run {stopped.pk} stopped early; if it is resumed, its verdicts count here."
    assert told in text(viewer.get(f"/trust/?until={stopped.pk}"))
    assert told in text(viewer.get("/leaderboard/"))
    assert told not in text(viewer.get(f"/trust/?until={stopped.pk - 1}"))


def rated_and_scored(stage, rater, run, scores):
    """A session a score, rated by one person and scored alike in a satisfaction run."""
    for place, score in enumerate(scores):
        turn = make_turn(make_session(stage.scenarios[0]))
        response = make_response(turn, model=f"m{place}", text=str(place))
        reason = {"reason": "OTHER"} if score <= 3 else {}
        make_rating(response, annotator=rater, score=score, **reason)
        SatisfactionJudgment.objects.create(
            run=run, user=rater, response=response, status="DONE", score=score, calibrated=score
        )


def test_satisfaction_alone_has_its_own_answer(viewer):
    stage = Stage.make()
    rater = stage.rater("rater")
    run = make_run(stage.dataset, kind="SATISFACTION", status="DONE")
    rated_and_scored(stage, rater, run, [1, 2, 3, 4, 5, 5, 4, 3, 2])
    page = text(viewer.get("/trust/"))
    assert "Not enough data to say whether its scores follow the stated ones: r = 1.00." in page
    assert "On 9 turns. Too few sessions (conversations) for an interval: about 1 more is" in page
    assert "1 user. Too few users for intervals: about 9 more are needed." in page
    rated_and_scored(stage, rater, run, [1])
    page = text(viewer.get("/trust/"))
    assert "Its scores follow the stated ones: r = 1.00." in page
    assert "On 10 turns; 95 % interval" in page
    assert "Turns rated by rater" in page
    assert "Pearson within users" in page
    run.satisfaction_judgments.update(calibrated=3)
    page = text(viewer.get("/trust/?annotator=" + str(rater.pk)))
    assert "there are too few scores" in page
    assert "all predicted scores are equal" in page


def test_what_the_page_costs_does_not_grow_with_rows(viewer, django_assert_num_queries):
    stage, ann, _run = study()
    other = stage.rater("other")
    stage.label(other, "BABABA" * 2)
    stage.tested(other, stage.distilled(other), base="A" * 12, selected="B" * 12)
    viewer.get("/trust/")
    with django_assert_num_queries(32):
        viewer.get(f"/trust/?annotator={ann.pk}")
    with django_assert_num_queries(13):
        viewer.get(f"{ROWS}?annotator={ann.pk}")


def voted(**fields):
    """Twelve labels; base judge and set name B always, the weighted vote A."""
    stage = Stage.make(scenarios=("Writing", "Code"), size=6, **fields)
    ann = stage.rater("ann")
    stage.label(ann, "AAAAAA" + "AAAAAB", shown="ORIGINAL")
    stage.tested(ann, stage.distilled(ann), base="B" * 12, selected="B" * 12, stack="A" * 12)
    return ann


def test_the_answer_is_of_the_weighted_vote_and_leads_to_its_rows(viewer):
    voted()
    page = text(viewer.get("/trust/"))
    # 11 of 12 by the vote, 1 of 12 by the set and by the base judge.
    assert "preferences help (8 % → 92 %)" in page
    assert "Weighted vote of several ways</a>" in page
    assert "The selected preferences alone:" in page
    assert "of=own" in page
    rows = text(viewer.get("/trust/rows/?of=own"))
    assert "Decided by the annotator&#x27;s stand-in" in rows
    assert "12 comparisons" in rows


def test_the_base_judge_is_named_where_no_set_is_applied(viewer):
    _stage, _ann, run = study()
    # The sets are of another dataset, and no better than the base judge in any scenario.
    PreferenceSet.objects.all().delete()
    for plan in run.config["scenarios"]:
        plan["selected"] = [plan["base"]]
    run.save()
    page = viewer.get("/trust/")
    assert page.context["page"].sets == ()
    assert "Base judge, no preferences</a>" in text(page)
    names = [row.name for row in page.context["voices"]]
    assert "Base judge, no preferences" in names
    assert "Selected preferences" not in names  # what they decided is what the base judge did
    assert "gain (pp)" not in text(page)


def test_shuffled_labels_are_held_against_what_stands_in(viewer):
    stage = Stage.make(size=12)
    ann = stage.rater("ann")
    stage.label(ann, "A" * 12)
    stage.tested(
        ann,
        stage.distilled(ann),
        base="B" * 12,
        selected="A" * 9 + "BBB",
        shuffled="A" * 6 + "B" * 6,
        stack="A" * 12,
    )
    page = text(viewer.get("/trust/"))
    assert "Against the same learned from shuffled labels: +50 points" in page


def test_where_no_set_is_used_there_is_no_gain_over_shuffled_labels(viewer):
    stage = Stage.make(size=12)
    ann = stage.rater("ann")
    stage.label(ann, "A" * 12)
    run = stage.tested(
        ann, stage.distilled(ann), base="A" * 12, selected="A" * 12, shuffled="B" * 12
    )
    (plan,) = run.config["scenarios"]
    plan["selected"] = [plan["base"]]
    run.save()
    page = text(viewer.get("/trust/"))
    assert "Base judge, no preferences</a>" in page
    assert "shuffled labels" not in page


def test_rows_of_what_stands_in_say_that_their_figure_is_a_mean(viewer):
    _stage, _ann, run = study()
    (plan, *_more) = run.config["scenarios"]
    tied = plan["selected"] + [plan["base"]]
    run.config["scenarios"][0] |= {"selected": tied, "tied": [1, 3]}
    run.config |= {"mode": "PAPER"}
    run.save()
    for of in ("selected", "own"):
        assert "mean over 2 sets of preferences" in text(viewer.get(f"/trust/rows/?of={of}"))


def test_a_scenario_that_was_renamed_since_the_run_goes_by_its_new_name(viewer):
    stage, _ann, _run = study()
    scenario = stage.scenarios[1]
    scenario.name = "Programming"
    scenario.save()
    page = text(viewer.get("/trust/"))
    assert "Programming" in page
    assert "Code" not in page
    rows = viewer.get(f"{ROWS}?of=base&scenario={scenario.pk}")
    assert rows.status_code == 200


@pytest.mark.parametrize(("size", "folded"), [(5, False), (6, True)])
def test_what_stands_in_is_folded_where_there_are_many_scenarios(viewer, size, folded):
    stage = Stage.make(scenarios=[f"Topic {number}" for number in range(size)], size=2)
    ann = stage.rater("ann")
    stage.label(ann, "AB" * size)
    voices = {"base": "BB" * size, "selected": "AB" * size, "shuffled": "BA" * size}
    stage.tested(ann, stage.distilled(ann), **voices)
    page = text(viewer.get("/trust/"))
    assert page.count("</b> · The selected preferences stand in") == size
    assert (f"What stands in, by scenario ({size})" in page) is folded
