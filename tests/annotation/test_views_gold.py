from __future__ import annotations

import re

import pytest
from django.urls import reverse

from annotation.models import GoldLabel
from tests.annotation.labelling import make_pair_study
from tests.factory import (
    make_comparison,
    make_response,
    make_session,
    make_study,
    make_turn,
    make_user,
)

NO_MOMENT = "0001-01-01T00:00:00+14:00"
OUTDATED = "This was changed after you opened the page, so nothing was saved."

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager(client):
    user = make_user(role="MANAGER")
    client.force_login(user)
    client.user = user
    return client


def address(item, kind="comparison"):
    return reverse("annotation:gold", args=[kind, item.pk])


def page(client, comparison):
    return client.get(reverse("annotation:comparison", args=[comparison.pk])).content.decode()


def test_a_manager_says_which_response_is_better(manager):
    comparison = make_comparison(key="pair-7")
    assert f'action="{address(comparison)}"' in page(manager, comparison)
    assert "Correct answer to #" in manager.get(address(comparison)).content.decode()
    sent = {"answer": "B", "rationale": "A breaks off."}
    response = manager.post(address(comparison), sent, follow=True)
    assert response.redirect_chain == [
        (reverse("annotation:comparison", args=[comparison.pk]), 302)
    ]
    html = response.content.decode()
    assert f"Marked as gold: {comparison.name.shown}." in html
    assert "A breaks off." in html
    gold = GoldLabel.objects.get()
    assert (gold.verdict, gold.source, gold.created_by) == ("B", "MANAGER", manager.user)


def test_a_manager_says_what_a_reply_is_worth(manager):
    session = make_session()
    make_turn(session)
    reply = make_response(make_turn(session), original=True)
    html = manager.get(reverse("annotation:session", args=[session.pk])).content.decode()
    assert f'action="{address(reply, "response")}"' in html
    response = manager.post(address(reply, "response"), {"answer": "2", "rationale": "Invented."})
    assert response.url == reverse("annotation:session", args=[session.pk]) + "#turn-2"
    assert GoldLabel.objects.get().score == 2


def test_only_a_reply_that_was_really_given_can_be_marked_on_its_page(manager):
    session = make_session()
    other = make_response(make_turn(session), original=False)
    html = manager.get(reverse("annotation:session", args=[session.pk])).content.decode()
    assert address(other, "response") not in html


def test_what_was_said_comes_back_to_be_changed_or_withdrawn(manager):
    comparison = make_comparison()
    manager.post(address(comparison), {"answer": "TIE", "rationale": "Both the same."})
    html = manager.get(address(comparison)).content.decode()
    assert "Both the same." in html
    assert 'value="TIE" required id="id_answer_2" checked' in html
    html = page(manager, comparison)
    assert "Change the reason" in html
    assert 'name="withdraw" value="1" aria-pressed="true"' in " ".join(html.split())
    sent = {"withdraw": "1", "since": since(manager, comparison)}
    response = manager.post(address(comparison), sent, follow=True)
    assert "Withdrawn" in response.content.decode()
    assert not GoldLabel.objects.exists()


def since(client, comparison):
    """The moment that the page holds of itself."""
    return client.get(address(comparison)).context["form"]["since"].value()


def test_an_old_answer_sent_again_replaces_nothing(manager):
    comparison = make_comparison()
    (embedded,) = re.findall(r'name="since" value="([^"]+)"', page(manager, comparison))
    first = {"answer": "A", "rationale": "Complete.", "since": embedded}
    assert manager.post(address(comparison), first).status_code == 302
    assert manager.post(address(comparison), first).status_code == 302  # its reply was lost
    second = {"answer": "B", "rationale": "Correct.", "since": since(manager, comparison)}
    withdrawal = {"withdraw": "1", "since": second["since"]}
    assert manager.post(address(comparison), second).status_code == 302
    for old in (first, withdrawal, {**first, "since": "?"}, {**first, "since": NO_MOMENT}):
        response = manager.post(address(comparison), old)
        assert response.status_code == 409
        html = response.content.decode()
        assert OUTDATED in html
        assert "Correct." in html
        assert "Complete." not in html
        part = manager.post(address(comparison), old, headers={"HX-Request": "true"})
        assert part.status_code == 200
        assert OUTDATED in part.content.decode()
        assert GoldLabel.objects.get().verdict == "B"
    manager.post(address(comparison), {**withdrawal, "since": since(manager, comparison)})
    assert manager.post(address(comparison), first).status_code == 409
    assert not GoldLabel.objects.exists()
    again = {**first, "since": since(manager, comparison)}
    assert manager.post(address(comparison), again).status_code == 302
    assert GoldLabel.objects.get().verdict == "A"


@pytest.mark.parametrize(
    "sent",
    [
        {"answer": "C", "rationale": "x"},
        {"answer": "4", "rationale": "x"},
        {},
    ],
)
def test_what_does_not_fit_comes_back_with_the_form(manager, sent):
    response = manager.post(address(make_comparison()), sent)
    assert response.status_code == 422
    assert "errorlist" in response.content.decode()
    assert not GoldLabel.objects.exists()


def test_an_item_that_does_not_exist(manager):
    assert manager.get(reverse("annotation:gold", args=["response", 999_999])).status_code == 404
    assert manager.get("/gold/session/1/").status_code == 404


def test_only_managers_mark(client):
    comparison = make_comparison()
    sent = {"answer": "B", "rationale": "x"}
    assert client.post(address(comparison), sent).status_code == 302
    for role in ("ANNOTATOR", "VIEWER"):
        client.force_login(make_user(role=role))
        assert client.post(address(comparison), sent).status_code == 403
        assert client.get(address(comparison)).status_code == 403
    assert address(comparison) not in page(client, comparison)
    assert not GoldLabel.objects.exists()


def test_wrong_methods_are_refused(manager):
    assert manager.put(address(make_comparison())).status_code == 405


def test_one_click_in_the_list_of_a_draft_draws_its_gold_items(manager):
    study = make_pair_study([], items=4, status="DRAFT", gold_rate=0.25)
    html = manager.get(reverse("annotation:study", args=[study.slug])).content.decode()
    assert "Gold answers set: 0 of 1 needed." in html
    comparison = study.items.first().comparison
    assert f'hx-post="{address(comparison)}"' in html
    assert "Tie" not in html
    sent = {"answer": "A", "draft": study.slug}
    html = manager.post(address(comparison), sent, headers={"HX-Request": "true"}).content.decode()
    assert 'id="drawn" hx-swap-oob="true"' in html
    assert "4 items, 1 gold, 0 hidden repeats" in " ".join(html.split())
    assert "Add a reason" in html
    assert study.items.get(kind="GOLD").comparison == comparison
    plain = manager.post(address(study.items.last().comparison), sent)
    assert plain.url == reverse("annotation:study", args=[study.slug])


def test_the_pairs_of_a_session_are_marked_in_its_list(manager):
    comparison = make_comparison()
    GoldLabel.objects.create(comparison=comparison, verdict="B", source="MANAGER")
    session = reverse("annotation:session", args=[comparison.turn.session_id])
    html = manager.get(session).content.decode()
    assert f'hx-post="{address(comparison)}"' in html
    assert "Add a reason" in html


def test_one_click_on_the_page_of_a_pair_says_nothing_of_studies(manager):
    comparison = make_comparison()
    GoldLabel.objects.create(comparison=comparison, verdict="B", source="DATASET")
    assert 'title="Dataset"' in page(manager, comparison)
    for draft in ("", make_study(status="OPEN").slug):
        sent = {"answer": "A", "draft": draft, "since": since(manager, comparison)}
        response = manager.post(address(comparison), sent, headers={"HX-Request": "true"})
        assert response.status_code == 200
        assert "drawn" not in response.content.decode()
