"""Models two by two: the SenseJudge paper's section 4.2.2 and its Figure 4."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Comparison, Response
from judging.models import JudgeRun, PreferenceSet
from judging.queries.configurations import applied_plans
from tests.benchmark.stage import Stage
from tests.benchmark.test_views_leaderboard import text
from tests.benchmark.test_views_leaderboard_annotators import study
from tests.factory import make_rater, make_user
from tests.judging.study import label_pair, make_study

pytestmark = pytest.mark.django_db

PAGE = "/leaderboard/pairs/"
CSV = "/leaderboard/pairs.csv"


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def test_who_may_look(client):
    study(sessions=1)
    assert [client.get(address).status_code for address in (PAGE, CSV)] == [302, 302]
    client.force_login(make_user(role="ANNOTATOR"))
    assert [client.get(address).status_code for address in (PAGE, CSV)] == [403, 403]
    client.force_login(make_user(role="VIEWER"))
    assert [client.post(address).status_code for address in (PAGE, CSV)] == [405, 405]


def test_people_decide_by_majority(viewer, django_assert_max_num_queries):
    study(sessions=12)
    with django_assert_max_num_queries(18):
        page = viewer.get(PAGE)
    # ann and bob contradict each other throughout; eve decides what she labelled.
    shown = {each[:5] for each in page.context["pairs"]}
    assert shown == {
        ("alpha", "beta", 2, 10, 0),
        ("alpha", "gamma", 2, 10, 0),
        ("beta", "gamma", 2, 10, 0),
    }
    assert "Human labels" in text(page)
    chart = page.context["chart"]
    assert [row.text for row in chart.rows] == ["2 / 10 / 0"] * 3
    assert chart.rows[0].bars[0].title == "alpha – beta: won 17\u202f%"
    assert 'href="/leaderboard/model/?dataset=study&amp;model=alpha&amp;opponent=beta' in text(page)
    lines = viewer.get(CSV).content.decode().splitlines()
    assert lines[0].startswith(
        "source,judge,left,right,wins,ties,losses,comparisons,win_rate,low,high,run"
    )
    assert lines[1].startswith("human,,alpha,beta,2,10,0,12,")
    against = viewer.get(f"{PAGE}?anchor=beta").context["pairs"]
    assert [each[:2] for each in against] == [("alpha", "beta"), ("gamma", "beta")]
    assert viewer.get(f"{PAGE}?anchor=nobody").status_code == 404
    part = text(viewer.get(PAGE, headers={"HX-Request": "true", "HX-Target": "figures"}))
    assert "<html" not in part


def test_what_stands_in_is_named_apart_from_the_selected_set(viewer):
    stage = Stage.make(size=4)
    ann = stage.rater("ann")
    stage.label(ann, "AAAB")
    stage.tested(ann, stage.distilled(ann), base="BBBB", selected="BBBB", stack="AAAB")
    assert [name for _value, name in viewer.get(PAGE).context["sources"]] == [
        "Human labels",
        "Judge by weighted vote (…)",
        "Judge with selected preferences (…)",
        "Base judge (…)",
    ]
    voted = viewer.get(f"{PAGE}?source=selected")
    assert voted.context["name"] == "Judge by weighted vote (lexical)"
    assert viewer.get(f"{PAGE}?source=subset").context["pairs"] != voted.context["pairs"]


def test_where_the_selected_set_stands_in_it_is_one_choice(viewer):
    stage = Stage.make(size=4)
    ann = stage.rater("ann")
    stage.label(ann, "AAAB")
    stage.tested(ann, stage.distilled(ann), base="BBBB", selected="AAAB")
    values = [value for value, _name in viewer.get(PAGE).context["sources"]]
    assert values == ["human", "selected", "base"]


def test_without_verdicts_the_page_says_so(viewer):
    assert "No verdicts yet" in text(viewer.get(PAGE))
    assert viewer.get(CSV).content.decode().strip() == ""


def test_drawn_preferences_of_every_annotator_rank_the_models(viewer):
    dataset, _ann = make_study(comparisons=16)
    bea = make_rater(dataset, "bea")
    for comparison in Comparison.objects.all():
        label_pair(comparison, bea)
    for number, response in enumerate(Response.objects.order_by("pk")):
        response.model = "long" if len(response.text) > 10 else "short"
        response.variant = "" if number % 3 else "b"
        response.save()
    call_command("distil", "--dataset", dataset.slug, "--no-control", stdout=StringIO())
    call_command(
        *("judge", "--dataset", dataset.slug, "--preferences", "drawn:5", "--targets", "all"),
        stdout=StringIO(),
    )
    runs = JudgeRun.objects.filter(kind="RANKING")
    assert {run.annotator.username.rpartition(":")[2] for run in runs} == {"ann", "bea"}
    for run in runs:
        assert run.config["drawn"] == 5
        (plan,) = applied_plans(run.config)
        columns = PreferenceSet.objects.get(run=run.parent, control="NONE").columns
        assert len(plan.selected) == 5
        assert plan.base not in plan.selected
        assert set(plan.selected) <= set(columns)
        assert (plan.stack, plan.shuffled, plan.others) == (None, None, ())
    page = viewer.get(PAGE)
    assert page.context["page"].source == "drawn"
    assert "Judge with preferences drawn at random (lexical)" in text(page)
    assert sum(each.n for each in page.context["pairs"]) > 0
    best = page.context["pairs"][0]
    assert best.left.startswith("long")
    # They rank, and measure no agreement.
    assert not JudgeRun.objects.filter(kind="TEST").exists()
    boards = {view.board.source for view in viewer.get("/leaderboard/").context["boards"]}
    assert boards == {"human", "drawn"}
    printed = StringIO()
    call_command("leaderboard", "--dataset", dataset.slug, "--verdicts", "drawn", stdout=printed)
    assert "by lexical, under preferences drawn at random" in printed.getvalue()


def test_a_manager_starts_such_runs_on_a_page(client):
    dataset, ann = make_study(comparisons=8)
    call_command("distil", "--dataset", dataset.slug, "--no-control", stdout=StringIO())
    client.force_login(make_user(role="MANAGER"))
    address = f"/runs/new/?dataset={dataset.slug}&kind=TEST&targets=all&sets=drawn"
    assert f'href="{address.replace("&", "&amp;")}"' in text(client.get(PAGE))
    form = client.get(address).context["form"]
    assert form["sets"].value() == "drawn"
    sent = {
        "kind": "TEST",
        "annotator": ann.pk,
        "judge": "lexical",
        "targets": "all",
        "sets": "drawn",
    }
    assert client.post(address, sent).status_code == 302
    run = JudgeRun.objects.get(kind="RANKING")
    assert (run.config["drawn"], run.annotator) == (5, ann)


@pytest.mark.parametrize("word", ["drawn:0", "drawn:x", "drawn:"])
def test_how_many_are_drawn_is_a_number(word):
    dataset, _ann = make_study()
    with pytest.raises(CommandError, match=f"--preferences {word}: expected a number") as refused:
        call_command("judge", "--dataset", dataset.slug, "--preferences", word)
    assert refused.value.returncode == 2


def test_without_drawn_verdicts_the_command_says_how_to_get_some():
    dataset, _ann = make_study()
    with pytest.raises(CommandError, match="--preferences drawn:5 --targets all"):
        call_command("leaderboard", "--dataset", dataset.slug, "--verdicts", "drawn")
