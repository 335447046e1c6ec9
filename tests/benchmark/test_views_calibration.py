from __future__ import annotations

import pytest

from judging.services.foreground import run_to_end
from judging.services.satisfaction_runs import start_satisfaction_run
from tests.benchmark.services.test_satisfaction_evaluation import make_rated_dataset
from tests.factory import make_dataset, make_run, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    dataset = make_rated_dataset("rated")
    return run_to_end(start_satisfaction_run(dataset=dataset, judge="lexical").pk)


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def address(run):
    return f"/trust/calibration/{run.pk}/"


def text(answer):
    return " ".join(answer.content.decode().split())


def test_strangers_sign_in_first(client, run):
    assert client.get(address(run)).url == f"/sign-in/?next={address(run)}"


def test_annotators_stay_blind(client, run):
    client.force_login(make_user(role="ANNOTATOR"))
    assert client.get(address(run)).status_code == 403


def test_it_is_only_read(viewer, run):
    assert viewer.post(address(run)).status_code == 405


def test_distributions_before_and_after(viewer, run, django_assert_max_num_queries):
    with django_assert_max_num_queries(9):
        shown = text(viewer.get(address(run)))
    # Ann states 2 3 4 4 5 5 in each of two scenarios, bob one less.
    stated = "".join(f'<td class="n">{n}</td>' for n in (2, 4, 6, 8, 4))
    assert f"<tr><th>Stated by the users</th>{stated}</tr>" in shown
    assert "Every score could be calibrated." in shown
    assert f'<a href="/runs/{run.pk}/turns/?user=' in shown


def test_a_short_history_is_told(viewer):
    dataset = make_rated_dataset("short", users=("ann",))
    session = dataset.sessions.first()
    for turn in list(session.turns.all())[4:]:
        turn.responses.get().labels.all().delete()
    run = run_to_end(start_satisfaction_run(dataset=dataset, judge="lexical").pk)
    shown = text(viewer.get(address(run)))
    assert "6 × raw, the user has fewer than five turns of history." in shown


def test_before_anything_is_scored_the_page_says_so(viewer):
    run = make_run(make_dataset(), kind="SATISFACTION")
    assert "Nothing is scored yet" in text(viewer.get(address(run)))


def test_another_kind_of_run_has_no_such_page(viewer):
    assert viewer.get(address(make_run())).status_code == 404
