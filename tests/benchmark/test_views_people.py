from __future__ import annotations

import csv
import io
import re

import pytest
from django.urls import reverse

from annotation.models import GoldLabel, PairwiseLabel, Response, User
from tests.benchmark.stage import Stage
from tests.benchmark.test_views_gold import record
from tests.factory import make_user
from tests.markup import one_line

pytestmark = pytest.mark.django_db

PEOPLE, CSV, QUEUE = "/trust/people/", "/trust/people.csv", "/trust/disagreements/"


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def study():
    """Four comparisons; expert_1 and expert_2 agree on three, author_1 says B throughout."""
    stage = Stage.make(scenarios=("Writing", "Code"), size=2)
    for name, letters in (("expert_1", "AABB"), ("expert_2", "AABA"), ("author_1", "BBBT")):
        stage.label(stage.rater(name), letters)
    run = record(stage, "gpt-4", "AABA", "AABB")
    return stage, run


def test_strangers_sign_in_first(client):
    for address in (PEOPLE, CSV, QUEUE):
        assert client.get(address).url == f"/sign-in/?next={address}"


def test_annotators_are_refused(client):
    study()
    client.force_login(make_user(role="ANNOTATOR"))
    assert [client.get(address).status_code for address in (PEOPLE, CSV, QUEUE)] == [403] * 3


def test_pages_are_only_read(viewer):
    assert [viewer.post(each).status_code for each in (PEOPLE, CSV, QUEUE)] == [405] * 3


def test_without_verdicts_the_pages_say_what_will_appear(viewer):
    assert "Nothing to compare yet" in one_line(viewer.get(PEOPLE))
    assert "Nothing to compare yet" in one_line(viewer.get(QUEUE))
    assert viewer.get(CSV).content == b"\r\n"


def test_a_judge_stands_beside_people(viewer):
    study()
    page = one_line(viewer.get(f"{PEOPLE}?people=expert"))
    # The judge's verdicts: A, A, B, and a tie where its orders differ. With ties 6 of 8 pairs.
    assert "6 / 8" in page
    assert "6 / 6" in page
    # The two experts: 3 of 4.
    assert "3 / 4" in page
    assert "Shares: 95 % Wilson intervals by session." in page
    assert "Fewer than ten sessions have no interval.</a>" in page


def test_all_people_count_unless_a_group_is_asked_for(viewer):
    study()
    # author_1 adds B, B, B, tie to A, A, B, tie: 2 of 4 more.
    assert "8 / 12" in one_line(viewer.get(PEOPLE))


def test_the_agreement_comes_as_a_file(viewer):
    study()
    rows = list(csv.DictReader(io.StringIO(viewer.get(f"{CSV}?people=expert").content.decode())))
    assert [
        (row["by"], row["turn"], row["scenario"], row["first"], row["judge_agree"]) for row in rows
    ] == [
        ("turn", "1", "", "", "6"),
        ("turn", "1", "", "", "6"),
        ("scenario", "", "Writing", "", "4"),
        ("scenario", "", "Writing", "", "4"),
        ("scenario", "", "Code", "", "2"),
        ("scenario", "", "Code", "", "2"),
        ("gap", "", "", "beta", "6"),
    ]
    assert [row["judge_pairs"] for row in rows] == ["8", "6", "4", "4", "4", "2", "6"]
    assert {row["people"] for row in rows} == {"expert"}


def test_scenarios_and_models_lead_to_what_is_behind_them(viewer):
    stage, run = study()
    page = one_line(viewer.get(f"{PEOPLE}?people=expert"))
    assert "Agreement by difference in win rate" in page
    # All people's votes: alpha has 5 of 12 and half a tie.
    assert "8.3 %" in page
    address = "/leaderboard/model/?dataset=study&model=beta&opponent=alpha&source=human"
    assert address.replace("&", "&amp;") in page
    assert "beta" in one_line(viewer.get(address))
    code = stage.scenarios[1].pk
    assert f"{QUEUE}?dataset=study&amp;run={run.pk}&amp;scenario={code}" in page


@pytest.mark.parametrize("address", [PEOPLE, QUEUE])
def test_to_htmx_the_figures_alone_are_sent(viewer, address):
    study()
    part = one_line(viewer.get(address, headers={"HX-Request": "true", "HX-Target": "figures"}))
    assert part.startswith("<nav")
    assert "<html" not in part


@pytest.mark.parametrize("query", ["dataset=nope", "run=999", "people=nope"])
def test_what_is_not_there_is_not_found(viewer, query):
    study()
    assert viewer.get(f"{PEOPLE}?{query}").status_code == 404
    assert viewer.get(f"{CSV}?{query}").status_code == 404


@pytest.mark.parametrize("query", ["dataset=nope", "run=999", "annotator=999", "scenario=999"])
def test_a_queue_that_is_not_there_is_not_found(viewer, query):
    study()
    assert viewer.get(f"{QUEUE}?{query}").status_code == 404


def rows_of(page):
    return page.split("<tbody>")[1].split("<tr>")[1:]


def test_the_request_of_a_disagreement_leads_to_it(viewer):
    stage, run = study()
    page = one_line(viewer.get(f"{QUEUE}?run={run.pk}"))
    first = stage.comparisons["Writing"][0].pk
    links = re.findall(rf'<a href="{QUEUE}{first}/[^"]*"> *([^<]*)</a>', page)
    assert set(links) == {"Write a note to my landlord."}


def test_the_surest_disagreement_comes_first(viewer):
    stage, run = study()
    page = one_line(viewer.get(QUEUE))
    assert "4 of 12 labels differ from its verdict" in page
    assert "(2 name the other response, 2 meet a tie;" in page
    rows = rows_of(page)
    assert len(rows) == 4
    # author_1 on the first two: both orders name A, a person B. Last the comparison it is split on.
    assert all("author_1" in row and "100" in row for row in rows[:2])
    assert all("0 %" in row for row in rows[2:])
    first = stage.comparisons["Writing"][0].pk
    author = User.objects.get(display_name="author_1").pk
    assert f"{QUEUE}{first}/{author}/?dataset=study&amp;run={run.pk}" in rows[0]


def test_ties_can_be_left_out_and_one_annotator_chosen(viewer):
    stage, _run = study()
    page = one_line(viewer.get(f"{QUEUE}?opposed=1"))
    assert len(rows_of(page)) == 2
    expert = User.objects.get(display_name="expert_1").pk
    page = one_line(viewer.get(f"{QUEUE}?annotator={expert}"))
    assert "1 of 4 labels differ from its verdict" in page
    page = one_line(viewer.get(f"{QUEUE}?annotator={expert}&scenario={stage.scenarios[0].pk}"))
    assert "No disagreement here" in page


def test_a_judge_that_stands_in_for_somebody_is_compared_with_them(viewer):
    stage = Stage.make(size=4)
    ann, bob = stage.rater("ann"), stage.rater("bob")
    stage.label(ann, "AAAA")
    stage.label(bob, "BBBB")
    stage.tested(ann, stage.distilled(ann), base="BBBB", selected="AAAB")
    page = one_line(viewer.get(QUEUE))
    assert "1 of 4 labels differ from its verdict" in page
    assert "meet a tie" not in page
    assert "with preferences" in page
    page = one_line(viewer.get(f"{QUEUE}?annotator={bob.pk}"))
    assert "3 of 4 labels differ from its verdict" in page


def test_a_manager_can_decide_what_several_people_labelled(client):
    study()
    client.force_login(make_user(role="MANAGER"))
    assert "/adjudication/comparison/" in one_line(client.get(QUEUE))
    client.force_login(make_user(role="VIEWER"))
    assert "/adjudication/comparison/" not in one_line(client.get(QUEUE))


def test_an_unreadable_judge_disagrees_with_nobody(viewer):
    stage = Stage.make(size=1)
    stage.label(stage.rater("ann"), "A")
    record(stage, "gpt-4", "?", "?")
    page = one_line(viewer.get(QUEUE))
    assert "0 of 0 labels differ from its verdict" in page


def test_the_queue_costs_few_queries(viewer, django_assert_max_num_queries):
    study()
    with django_assert_max_num_queries(24):
        viewer.get(QUEUE)


def test_a_weighted_vote_is_offered_first_beside_the_selected_set(viewer):
    stage = Stage.make(size=4)
    for name in ("ann", "bob"):
        stage.label(stage.rater(name), "AAAB")
    ann = User.objects.get(username="study:ann")
    run = stage.tested(ann, stage.distilled(ann), base="BBBB", selected="BBBB", stack="AAAA")
    page = one_line(viewer.get(PEOPLE))
    assert f'<option value="{run.pk}v" selected>' in page
    assert "6 / 8" in page  # the vote says A four times, two people B once
    assert "2 / 8" in one_line(viewer.get(f"{PEOPLE}?run={run.pk}s"))
    queue = one_line(viewer.get(f"{QUEUE}?run={run.pk}v"))
    assert "weighted vote" in queue


def test_a_judge_of_a_candidate_s_family_is_named(viewer):
    stage, run = study()
    Response.objects.filter(model="beta").update(model="gpt-3.5-turbo")
    GoldLabel.objects.create(comparison=stage.comparisons["Code"][0], verdict="A", source="DATASET")
    for address in (PEOPLE, QUEUE, "/trust/gold/", f"/runs/compare/?run={run.pk}"):
        page = one_line(viewer.get(address))
        assert "gpt-4 may favour the responses of gpt-3.5-turbo when judging" in page, address


def heading(page):
    return page.split("<h1>")[1].split("</h1>")[0].strip()


def test_a_disagreement_says_both_verdicts_and_leads_to_the_next(viewer):
    stage, run = study()
    first, second = stage.comparisons["Writing"]
    author = User.objects.get(display_name="author_1").pk
    PairwiseLabel.objects.filter(comparison=first, annotator=author).update(comment="Too curt.")
    GoldLabel.objects.create(comparison=first, verdict="B", source="MANAGER", rationale="Checked.")
    page = one_line(viewer.get(f"{QUEUE}{first.pk}/{author}/?run={run.pk}"))
    assert heading(page) == "author_1 said B, the judge says A (2 of 2 votes)"
    assert "Disagreement 1 of 4" in page
    decide = reverse("annotation:adjudicate", args=["comparison", first.pk])
    assert decide not in page
    viewer.force_login(make_user(role="MANAGER"))
    assert decide in one_line(viewer.get(f"{QUEUE}{first.pk}/{author}/?run={run.pk}"))
    assert page.count('class="status bad"') == 2  # the vote in each order
    for told in ("Too curt.", "Checked.", "alpha", "chosen by author_1", "author_1 said B"):
        assert told in page, told
    following = f'href="{QUEUE}{second.pk}/{author}/?dataset=study&amp;run={run.pk}" data-key="j"'
    assert following in page
    assert 'data-key="k"' not in page
    page = one_line(viewer.get(f"{QUEUE}{second.pk}/{author}/?run={run.pk}"))
    assert f'{QUEUE}{first.pk}/{author}/?dataset=study&amp;run={run.pk}" data-key="k"' in page


@pytest.mark.parametrize(
    ("person", "place", "told"),
    [
        ("expert_1", 0, "expert_1 said A, and so does the judge (2 of 2 votes)"),
        ("expert_1", 3, "expert_1 said B, the judge says tie (votes: A 1, B 1)"),
        ("author_1", 3, "author_1 said tie, and so does the judge"),
    ],
)
def test_what_both_said_is_one_sentence(viewer, person, place, told):
    stage, run = study()
    comparison = [*stage.comparisons["Writing"], *stage.comparisons["Code"]][place]
    person = User.objects.get(display_name=person).pk
    page = one_line(viewer.get(f"{QUEUE}{comparison.pk}/{person}/?run={run.pk}"))
    assert heading(page) == told


@pytest.mark.parametrize(
    ("label", "vote", "told"),
    [
        ("A", "B", "ann said A, the judge says B"),
        ("A", "A", "ann said A, and so does the judge"),
        ("A", "T", "ann said A, the judge says tie"),
        ("T", "A", "ann said tie, the judge says A"),
    ],
)
def test_a_single_vote_is_not_counted(viewer, label, vote, told):
    stage = Stage.make(size=1)
    ann = stage.rater("ann")
    stage.label(ann, label)
    run = record(stage, "gpt-4", vote)
    address = f"{QUEUE}{stage.comparisons['Writing'][0].pk}/{ann.pk}/?run={run.pk}"
    assert heading(one_line(viewer.get(address))) == told


def test_a_tie_against_a_winner_and_votes_that_could_not_be_read(viewer):
    stage = Stage.make(size=2)
    ann = stage.rater("ann")
    stage.label(ann, "TA")
    run = record(stage, "gpt-4", "A?", "A?")
    tie, unread = stage.comparisons["Writing"]
    page = one_line(viewer.get(f"{QUEUE}{tie.pk}/{ann.pk}/?run={run.pk}"))
    assert heading(page) == "ann said tie, the judge says A (2 of 2 votes)"
    assert "ann said tie" in page.split("</h1>")[1]
    page = one_line(viewer.get(f"{QUEUE}{unread.pk}/{ann.pk}/?run={run.pk}"))
    assert heading(page) == "ann said A, no vote of the judge could be read"
    assert "Back to disagreements" in page


def test_controls_are_folded(viewer):
    stage = Stage.make(size=2)
    ann = stage.rater("ann")
    stage.label(ann, "AA")
    run = stage.tested(ann, stage.distilled(ann), base="AB", selected="BB", shuffled="AA")
    comparison = stage.comparisons["Writing"][0].pk
    page = one_line(viewer.get(f"{QUEUE}{comparison}/{ann.pk}/?run={run.pk}s"))
    assert heading(page) == "ann said A, the judge says B (2 of 2 votes)"
    own, folded = page.split("1 control ")
    assert "shuffled labels" in folded
    assert "as ann said" in own  # the base judge
    assert f"/trust/?dataset=study&amp;annotator={ann.pk}&amp;run={run.pk}" in page


def test_a_label_without_a_judge_has_no_such_page(client):
    stage, run = study()
    first, expert = stage.comparisons["Writing"][0].pk, User.objects.get(display_name="expert_1").pk
    address = f"{QUEUE}{first}/{expert}/?run={run.pk}"
    assert client.get(address).status_code == 302
    client.force_login(make_user(role="ANNOTATOR"))
    assert client.get(address).status_code == 403
    client.force_login(make_user(role="VIEWER"))
    assert client.post(address).status_code == 405
    for odd in (f"{first}/999999/", f"999999/{expert}/"):
        assert client.get(f"{QUEUE}{odd}?run={run.pk}").status_code == 404


def test_a_disagreement_costs_few_queries(viewer, django_assert_max_num_queries):
    stage, run = study()
    first, expert = stage.comparisons["Writing"][0].pk, User.objects.get(display_name="expert_1").pk
    with django_assert_max_num_queries(32):
        viewer.get(f"{QUEUE}{first}/{expert}/?run={run.pk}")
