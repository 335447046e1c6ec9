from __future__ import annotations

import csv
from io import StringIO

import pytest

from annotation.models import PairwiseLabel, Response
from benchmark.core.snapshots import SnapshotChange
from benchmark.models import Snapshot
from benchmark.services.snapshots import verify
from benchmark.templatetags.figures import items_told
from benchmark.views import snapshots as views
from tests.benchmark.replays import make_stored, replayed
from tests.benchmark.test_views_leaderboard import study, text
from tests.factory import make_user
from tests.judging.ratings import make_ratings

pytestmark = pytest.mark.django_db

UNCHANGED = "recomputed from stored data, nothing has changed"

KEEP = "/snapshots/keep/leaderboard/"
KEEP_TRUST = "/snapshots/keep/trust/"


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


@pytest.fixture
def kept(manager):
    study()
    assert manager.post(f"{KEEP}?dataset=study").status_code == 302
    return f"/snapshots/{Snapshot.objects.get().pk}/"


def test_a_manager_keeps_what_the_page_shows_and_comes_to_its_address(manager):
    _stage, ann, _bob = study()
    page = text(manager.get(f"/leaderboard/?annotator={ann.pk}&method=elo"))
    assert f'action="{KEEP}?annotator={ann.pk}&amp;method=elo"' in page
    answer = manager.post(f"{KEEP}?annotator={ann.pk}&method=elo", follow=True)
    snapshot = Snapshot.objects.get()
    assert answer.redirect_chain == [(f"/snapshots/{snapshot.pk}/", 302)]
    assert (snapshot.question["annotator"], snapshot.question["method"]) == ("ann", "elo")
    assert snapshot.created_by.role == "MANAGER"
    shown = text(answer)
    assert "Snapshot" in shown
    assert "alpha, Human labels" in shown
    assert "labels of ann" in shown
    assert text(manager.get("/snapshots/?dataset=study")).count(f"/snapshots/{snapshot.pk}/") == 1
    assert "No snapshots yet" in text(manager.get("/snapshots/?dataset=other"))


def test_the_choice_of_another_snapshot_is_not_printed(manager, kept):
    """Filters are printed as what a page shows; this one says nothing of the snapshot."""
    manager.post(f"{KEEP}?dataset=study&method=elo")
    shown = text(manager.get(kept))
    assert f'<form class="filters actions" method="get" action="{kept}compare/">' in shown


def test_a_trust_page_is_kept(manager):
    _stage, ann, _bob = study()
    assert KEEP_TRUST in text(manager.get(f"/trust/?annotator={ann.pk}"))
    shown = text(manager.post(f"{KEEP_TRUST}?annotator={ann.pk}", follow=True))
    assert "Agreement of the stand-in" in shown
    assert "ann, Code" in shown


def test_a_trust_page_leads_to_the_runs_that_it_was_kept_with(manager):
    stage, ann, _bob = study()
    last = manager.get(f"/trust/?annotator={ann.pk}").context["scope"].pin.until
    manager.post(f"{KEEP_TRUST}?annotator={ann.pk}&until={last}")
    stage.tested(ann, None, base="AAAA" * 2)
    snapshot = Snapshot.objects.get()
    assert snapshot.question["until"] == last
    today = manager.get(f"/snapshots/{snapshot.pk}/").context["today"]
    assert manager.get(today).context["scope"].question.until == last
    assert UNCHANGED in text(manager.post(f"/snapshots/{snapshot.pk}/"))
    del snapshot.question["until"]  # kept before it was told
    snapshot.save()
    assert UNCHANGED in text(manager.post(f"/snapshots/{snapshot.pk}/"))


def test_other_pages_are_kept_and_lead_to_themselves_today(manager):
    _stage, ann, _bob = study()
    pages = {
        "corrected": (f"/leaderboard/corrected/?source=selected&annotator={ann.pk}", "agreement"),
        "pairs": ("/leaderboard/pairs/?source=base", " – "),
        "people": ("/trust/people/", "Turn 1, ties left out"),
    }
    for word, (address, row) in pages.items():
        shown = text(manager.get(address))
        keep = f"/snapshots/keep/{word}/"
        assert f'action="{keep}' in shown
        query = address.partition("?")[2]
        answer = manager.post(f"{keep}?{query}", follow=True)
        assert row in text(answer)
        assert UNCHANGED in text(manager.post(answer.redirect_chain[0][0]))
        assert answer.context["today"].startswith(address.partition("?")[0])
        assert manager.get(answer.context["today"]).status_code == 200
    assert manager.post("/snapshots/keep/nothing/").status_code == 404


def test_satisfaction_by_model_is_kept_with_its_differences(manager):
    dataset = make_ratings(people=12, turns=2)
    Response.objects.filter(turn__session__scenario__name="kind 1").update(model="other")
    shown = text(manager.get("/leaderboard/satisfaction/"))
    assert 'action="/snapshots/keep/satisfaction/"' in shown
    answer = manager.post("/snapshots/keep/satisfaction/", follow=True)
    shown = text(answer)
    assert answer.context["today"] == (
        f"/leaderboard/satisfaction/?dataset={dataset.slug}&voice=people"
    )
    assert [columns[0].title for columns, _rows in answer.context["tables"]] == [
        "Mean score",
        "Difference",
    ]
    assert "bot, other, dissatisfied" in shown or "other, bot, dissatisfied" in shown
    chart = manager.get(f"{answer.redirect_chain[0][0]}snapshot.svg").content.decode()
    assert ">bot<" in "".join(chart.split())
    assert "kind 0" not in chart
    assert "dissatisfied" not in chart


def test_each_row_of_a_file_says_what_was_asked(manager):
    kind = make_ratings(people=12, turns=2).scenarios.get(name="kind 0")
    answer = manager.post(f"/snapshots/keep/satisfaction/?scenario={kind.pk}", follow=True)
    file = manager.get(f"{answer.redirect_chain[0][0]}snapshot.csv").content.decode("utf-8-sig")
    rows = list(csv.DictReader(StringIO(file)))
    assert {(row["filter_scenario"], row["voice"]) for row in rows} == {("kind 0", "people")}
    assert {row["scenario"] for row in rows} == {"kind 0", ""}  # one of all that was asked for


def test_a_replay_is_kept_on_the_scale_that_is_shown(manager):
    dataset = make_ratings(people=3, turns=3)
    make_stored(dataset)
    run = replayed(dataset=dataset, evaluator="lexical", candidates=("responses:long",)).run
    keep = f"/snapshots/keep/replay/{run.pk}/?scale=RAW"
    assert f'action="{keep}"' in text(manager.get(f"/leaderboard/replays/{run.pk}/?scale=RAW"))
    answer = manager.post(keep, follow=True)
    assert Snapshot.objects.get().question["scale"] == "RAW"
    shown = text(answer)
    assert [name for name, _row in answer.context["tables"][0][1]] == [
        "Control: the original responses, scored again",
        "Original responses, as users rated them",
        "long",
    ]
    assert "Mean over users" in shown
    assert f"answers of replay {run.pk}" in shown
    assert UNCHANGED in text(manager.post(answer.redirect_chain[0][0]))
    head, control, *_others = (
        manager.get(f"{answer.redirect_chain[0][0]}snapshot.csv").content.decode().splitlines()
    )
    assert "gain" in head.split(",")
    assert control.count(",") == head.count(",")
    assert manager.post(f"/snapshots/keep/replay/{run.pk + 1000}/").status_code == 404
    manager.force_login(make_user(role="VIEWER"))
    assert manager.post(keep).status_code == 403


def test_it_leads_to_the_same_page_today(manager):
    _stage, ann, _bob = study()
    manager.post(f"{KEEP}?annotator={ann.pk}&method=elo&style=on")
    manager.post(f"{KEEP_TRUST}?annotator={ann.pk}")
    run = replayed_run(manager)
    board, trust, replay = Snapshot.objects.order_by("pk")
    today = [
        (f"/leaderboard/?dataset=study&annotator={ann.pk}&method=elo&style=on", board),
        (f"/trust/?dataset=study&annotator={ann.pk}&run={trust.question['run']}", trust),
        (f"/leaderboard/replays/{run.pk}/?scale=RAW", replay),
    ]
    for address, kept in today:
        found = manager.get(f"/snapshots/{kept.pk}/").context["today"]
        assert found.startswith(address)
        assert manager.get(found).status_code == 200
    board.question["annotator"] = "nobody"
    board.save()
    assert manager.get(f"/snapshots/{board.pk}/").context["today"] == ""


def replayed_run(manager):
    dataset = make_ratings(people=3, turns=3)
    make_stored(dataset)
    run = replayed(dataset=dataset, evaluator="lexical", candidates=("responses:long",)).run
    manager.post(f"/snapshots/keep/replay/{run.pk}/?scale=RAW")
    return run


def test_verify_says_what_changed(manager, kept):
    assert UNCHANGED in text(manager.post(kept))
    PairwiseLabel.objects.filter(verdict="A").first().delete()
    shown = text(manager.post(kept))
    assert "Changes since this snapshot" in shown
    assert "labels of ann" in shown
    assert "alpha, human: win_rate" in shown


def test_within_a_request_some_answers_are_read_again(manager, monkeypatch):
    monkeypatch.setattr(views, "READ_AGAIN", 3)
    study()
    manager.post(f"{KEEP}?dataset=study")
    snapshot = Snapshot.objects.get()
    (told,) = snapshot.basis["read_again"].values()
    assert sum(int(word) for word in told.split() if word.isdigit()) <= 3
    assert UNCHANGED in text(manager.post(f"/snapshots/{snapshot.pk}/"))
    assert verify(snapshot) == []  # a command reads all


def test_figures_and_chart_are_files(manager, kept):
    lines = manager.get(f"{kept}snapshot.csv").content.decode().splitlines()
    assert lines[0].lstrip("\ufeff").startswith("model,source,rating,low,high,rank")
    assert len(lines) == 7
    chart = manager.get(f"{kept}snapshot.svg")
    assert chart["Content-Type"].startswith("image/svg+xml")
    assert chart.content.startswith(b'<svg xmlns="http://www.w3.org/2000/svg"')
    assert manager.get(f"{kept}snapshot.pdf").status_code == 404


def test_what_was_asked_and_read_again_is_told_in_words(manager):
    study()
    manager.post(f"{KEEP}?dataset=study&method=win-rate")
    shown = text(manager.get(f"/snapshots/{Snapshot.objects.get().pk}/"))
    assert "<dt>Ranked by</dt><dd>win rate</dd>" in shown
    assert "<dt>Bootstrap draws</dt><dd>1000</dd>" in shown
    change = SnapshotChange("", "run", None, "11 same, 1 other, 0 missing")
    assert views.told_differences([change])[0][2] == "11 the same, 1 different, 0 missing"
    items = [items_told(word) for word in ("all", "hard:300", "version:v1")]
    assert items[1:] == [
        "the paper's hard selection (300)",
        "the dialogues of a frozen benchmark (v1)",
    ]


def test_two_are_compared(manager, kept):
    manager.post(f"{KEEP}?dataset=study&method=win-rate")
    other = Snapshot.objects.latest("pk")
    page = text(manager.get(kept))
    assert f'<option value="{other.pk}">' in page
    assert "Ranked by: win rate </option>" in page
    assert "Ranked by: win rate</td>" in text(manager.get("/snapshots/"))
    compared = manager.get(f"{kept}compare/?other={other.pk}")
    shown = text(compared)
    assert "Ranked by" in shown
    assert "Bradley-Terry" in shown
    assert "alpha, human: rating" in shown
    ratings = [row[1:] for row in compared.context["changed"] if row[0].endswith(": rating")]
    numbers = [value for row in ratings for value in row if value != "not there"]
    assert numbers
    assert max(map(len, numbers)) <= len("0.123456")
    assert "No differences: both have the same figures" in text(manager.get(f"{kept}compare/"))
    manager.post(KEEP_TRUST)
    other = Snapshot.objects.latest("pk")
    assert manager.get(f"{kept}compare/?other={other.pk}").status_code == 409


def test_numbers_that_six_digits_do_not_tell_apart_stay_whole():
    near = SnapshotChange("", "alpha: rating", 1000.123456, 1000.123457)
    far = SnapshotChange("", "beta: rating", 1000.123456, 990.5)
    assert views.told_differences([near, far]) == [
        ("alpha: rating", "1000.123456", "1000.123457"),
        ("beta: rating", "1000.12", "990.5"),
    ]


def test_who_may_read_keep_and_verify(client, kept):
    pages = ("/snapshots/", kept, f"{kept}compare/", f"{kept}snapshot.csv")
    acts = (KEEP, KEEP_TRUST, kept)
    client.logout()
    assert {client.get(each).status_code for each in pages} == {302}
    assert {client.post(each).status_code for each in acts} == {302}
    client.force_login(make_user(role="ANNOTATOR"))
    assert {client.get(each).status_code for each in pages} == {403}
    assert {client.post(each).status_code for each in acts} == {403}
    client.force_login(make_user(role="VIEWER"))
    assert {client.get(each).status_code for each in pages} == {200}
    assert {client.post(each).status_code for each in acts} == {403}
    assert "Save snapshot" not in text(client.get("/leaderboard/"))
    assert client.get("/snapshots/999999/").status_code == 404
    client.force_login(make_user(role="MANAGER"))
    assert {client.get(each).status_code for each in acts[:2]} == {405}


def test_a_page_takes_few_queries(client, kept, django_assert_max_num_queries):
    with django_assert_max_num_queries(6):
        client.get(kept)
