"""How annotators' rankings differ, and leaderboards beside a reference."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.models import PairwiseLabel
from tests.benchmark.stage import Stage
from tests.benchmark.test_views_leaderboard import text
from tests.factory import (
    make_comparison,
    make_label,
    make_rater,
    make_response,
    make_session,
    make_turn,
    make_user,
)

pytestmark = pytest.mark.django_db

PAGE = "/leaderboard/annotators/"
CSV = "/leaderboard/annotators.csv"
REFERENCE = "/leaderboard/reference/"


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def study(*, sessions=12):
    """ann ranks alpha, beta, gamma; bob the other way round; eve labelled twice."""
    stage = Stage.make(size=0)
    ann, bob, eve = (make_rater(stage.dataset, name) for name in ("ann", "bob", "eve"))
    for place in range(sessions):
        turn = make_turn(make_session(stage.scenarios[0]))
        texts = {
            name: make_response(turn, model=name, text=name) for name in ("alpha", "beta", "gamma")
        }
        for number, (one, other) in enumerate(
            [("alpha", "beta"), ("beta", "gamma"), ("alpha", "gamma")]
        ):
            pair = make_comparison(
                turn, response_a=texts[one], response_b=texts[other], key=str(number)
            )
            upset = (place + number) % 4 == 0
            make_label(pair, annotator=ann, verdict="B" if upset else "A")
            make_label(pair, annotator=bob, verdict="A" if upset else "B")
            if place < 2:
                make_label(pair, annotator=eve, verdict="A")
    return stage, ann, bob, eve


def test_a_board_of_annotators_who_disagree_warns(viewer):
    _stage, ann, _bob, _eve = study()
    page = text(viewer.get("/leaderboard/"))
    assert 'hx-get="/leaderboard/annotators/?dataset=study"' in page
    assert "probability when only these two are compared. With all models compared at once:" in page
    assert "alpha, beta, gamma cannot be told apart." in page
    alone = text(viewer.get(f"/leaderboard/?annotator={ann.pk}"))
    assert 'hx-get="/leaderboard/annotators/' not in alone
    warning = text(viewer.get(f"{PAGE}?dataset=study", headers={"HX-Request": "true"}))
    assert "First for ann: alpha. First for bob: gamma." in warning
    assert 'href="/leaderboard/annotators/?dataset=study"' in warning
    PairwiseLabel.objects.filter(annotator__username__endswith="bob").delete()
    answer = viewer.get(f"{PAGE}?dataset=study", headers={"HX-Request": "true"})
    assert text(answer) == ""


def post(client, content, address=REFERENCE):
    return client.post(address, {"file": SimpleUploadedFile("reference.csv", content.encode())})


def test_who_may_look(client):
    study()
    for address in (PAGE, CSV):
        assert client.get(address).status_code == 302
        assert client.post(address).status_code in {302, 405}
    assert post(client, "x").status_code == 302
    client.force_login(make_user(role="ANNOTATOR"))
    assert [client.get(address).status_code for address in (PAGE, CSV)] == [403, 403]
    assert post(client, "x").status_code == 403


def test_only_a_reference_is_posted(viewer):
    assert viewer.post(PAGE).status_code == 405
    assert viewer.post(CSV).status_code == 405
    assert viewer.get(REFERENCE).status_code == 405


def test_annotators_are_ranked_apart(viewer, django_assert_max_num_queries):
    _stage, ann, _bob, _eve = study()
    with django_assert_max_num_queries(16):
        page = viewer.get(PAGE)
    rows = {row.annotator: (row.models, number) for row, _order, number in page.context["rows"]}
    assert rows["ann"] == (("alpha", "beta", "gamma"), ann.pk)
    assert rows["bob"][0] == ("gamma", "beta", "alpha")
    assert page.context["found"].pairs["ann", "bob"].kendall == -1
    shown = text(page)
    assert '<span class="nowrap">alpha ›</span> <span class="nowrap">beta ›</span>' in shown
    assert f'<a href="/leaderboard/?annotator={ann.pk}">ann</a>' in shown
    assert "Too few sessions or models: eve." in shown
    assert "How annotators differ" in text(viewer.get("/leaderboard/"))
    lines = viewer.get(CSV).content.decode().splitlines()
    assert lines[0].startswith("annotator,other,models,kendall,kendall_low,kendall_high,spearman")
    assert ",comparisons,other_comparisons," in lines[0]
    assert [line.split(",")[:4] for line in lines[1:]] == [
        ["ann", "", "3", "-1.0"],
        ["bob", "", "3", "-1.0"],
        ["ann", "bob", "3", "-1.0"],
    ]


def test_files_are_never_behind_and_a_reference_says_of_when_it_is(viewer, monkeypatch):
    monkeypatch.setattr("benchmark.queries.kept._LONG_SECONDS", 0)
    monkeypatch.setattr("benchmark.queries.kept._LONGER", 10**6)
    stage, ann, *_others = study()
    files = (CSV, "/leaderboard/leaderboard.csv", "/leaderboard/head-to-head.csv")
    before = [viewer.get(each).content for each in files]
    turn = make_turn(make_session(stage.scenarios[0]))
    pair = make_comparison(
        turn,
        response_a=make_response(turn, model="alpha"),
        response_b=make_response(turn, model="beta"),
    )
    make_label(pair, annotator=ann)
    reference = "model,score\nalpha,3\nbeta,2\ngamma,1\n"
    assert "Figures as of" in text(post(viewer, reference))
    assert "Figures as of" in text(viewer.get(PAGE))
    assert all(
        viewer.get(each).content != old for each, old in zip(files[1:], before[1:], strict=True)
    )
    viewer.get(CSV)
    assert "Figures as of" not in text(viewer.get(PAGE))


def test_where_nobody_labelled_enough_the_page_says_so(viewer):
    study(sessions=3)
    page = text(viewer.get(PAGE))
    assert "No annotator has labelled enough" in page
    assert viewer.get(CSV).content.decode().strip() == ""
    assert viewer.get(f"{PAGE}?dataset=none").status_code == 404


def test_a_reference_is_compared_with_every_leaderboard(viewer):
    _stage, ann, *_others = study()
    page = post(
        viewer,
        "model,rank\nalpha,1\nbeta,2\ngamma,3\nother,4\n",
        f"{REFERENCE}?annotator={ann.pk}",
    )
    ((name, found, ranks),) = page.context["boards"]
    assert (name, found.kendall, found.spearman, found.models) == ("Human labels", 1, 1, 3)
    assert ranks == {"alpha": 1, "beta": 2, "gamma": 3}
    shown = [row[:2] for row in page.context["rows"]]
    assert shown == [("alpha", 1), ("beta", 2), ("gamma", 3), ("other", 4)]
    assert "1.00" in text(page)
    few = text(post(viewer, "model,score\nx,3\ny,2\nz,1\n"))
    assert "fewer than 3 models are rated here and in the file" in few


@pytest.mark.parametrize("content", ["model,score\nx,1\n", "x" * (2**20 + 1)])
def test_what_is_no_reference_is_refused(viewer, content):
    study(sessions=1)
    answer = post(viewer, content)
    assert answer.status_code == 409
    assert "reference ranking" in text(answer)
    assert viewer.post(REFERENCE).status_code == 409
