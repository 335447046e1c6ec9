"""What a labelling page sends besides the answer, and what it is told when it cannot."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEvent, Claim, PairwiseLabel, SatisfactionLabel
from tests.annotation.labelling import make_pair_study, make_session_study
from tests.annotation.pages import answered, rated, show, url
from tests.factory import make_user
from tests.markup import one_line

pytestmark = pytest.mark.django_db

HTMX = {"HTTP_HX_REQUEST": "true", "HTTP_HX_BOOSTED": "true"}


@pytest.fixture
def annotator(client):
    annotator = make_user()
    client.force_login(annotator)
    return annotator


def test_a_line_break_of_a_comment_counts_as_one_character_as_in_the_page(client, annotator):
    study = make_pair_study([annotator])
    show(client, study)
    sent = ("x" * 99 + "\r\n") * 20  # what a browser makes of 2,000 characters without a script
    assert client.post(url("answer", study), answered(comment=sent)).status_code == 302
    assert PairwiseLabel.objects.get().comment == sent.replace("\r\n", "\n").strip()


def test_a_form_of_an_older_sign_in_is_refused_on_a_page_of_this_site(annotator):
    client = Client(enforce_csrf_checks=True)
    client.force_login(annotator)
    answer = client.post("/sign-out/")
    assert answer.status_code == 403
    assert "This request could not be processed" in answer.content.decode()


def test_a_comment_a_flag_and_the_effort_go_with_the_answer(client, annotator):
    study = make_pair_study([annotator])
    html = show(client, study).content.decode()
    for text in ("Comment", "Report", "The question is unclear", 'data-measure="active"'):
        assert text in html
    more = {"comment": "Odd <b>pair</b>", "flag": "FAULTY"}
    measured = {"active_seconds": "12.25", "idle_seconds": "0", "input_device": "POINTER"}
    client.post(url("answer", study), answered(**more, **measured))
    label = PairwiseLabel.objects.get()
    assert (label.comment, label.extra) == ("Odd <b>pair</b>", {"flag": "FAULTY"})
    assert (label.active_seconds, label.idle_seconds) == (12.25, 0)
    assert label.input_device == "POINTER"
    again = one_line(client.get(url("item", study)))
    assert "Odd &lt;b&gt;pair&lt;/b&gt;</textarea>" in again
    assert 'value="FAULTY" checked' in again


@pytest.mark.parametrize("seconds", ["-1", "nan", "soon", "1e99"])
def test_a_measurement_that_cannot_be_never_costs_the_answer(client, annotator, seconds):
    study = make_pair_study([annotator])
    show(client, study)
    measured = {"active_seconds": seconds, "idle_seconds": "2", "input_device": "FOOT"}
    assert client.post(url("answer", study), answered(**measured)).status_code == 302
    label = PairwiseLabel.objects.get()
    assert (label.active_seconds, label.idle_seconds, label.input_device) == (None, 2.0, "")


def test_what_differs_is_marked_on_request_and_escaped(client, annotator):
    study = make_pair_study([annotator])
    comparison = study.items.get().comparison
    type(comparison.response_a).objects.filter(pk=comparison.response_a_id).update(
        text="Same <b>one</b>"
    )
    plain = show(client, study).content.decode()
    assert "<mark>" not in plain
    path = url("item", study)
    html = client.get(f"{path}?diff").content.decode()
    assert "&lt;" in html
    assert "<b>one</b>" not in html
    assert html.count("<mark>") >= 2
    assert Claim.objects.count() == 1


def test_texts_too_long_to_compare_are_shown_with_a_word_about_it(client, annotator):
    study = make_pair_study([annotator])
    comparison = study.items.get().comparison
    type(comparison.response_a).objects.filter(pk=comparison.response_a_id).update(
        text="long " * 9000
    )
    show(client, study)
    html = client.get(f"{url('item', study)}?diff").content.decode()
    assert "too long to compare word by word" in html
    assert "<mark>" not in html


def test_each_turn_is_measured(client, annotator):
    study = make_session_study([annotator], turns=2)
    show(client, study)
    measured = {"turn-1-active_seconds": "3.5", "turn-2-input_device": "TOUCH"}
    client.post(url("ratings", study), {**rated((5, ""), (4, "")), **measured})
    labels = SatisfactionLabel.objects.order_by("response__turn__position")
    assert [(label.active_seconds, label.input_device) for label in labels] == [
        (3.5, ""),
        (None, "TOUCH"),
    ]


@pytest.mark.parametrize("name", ["answer", "ratings", "skip", "lease"])
def test_after_an_expired_sign_in_one_comes_back_to_the_item(client, name):
    study = make_pair_study([make_user()])
    response = client.post(url(name, study), answered())
    assert response.url == f"{reverse('sign-in')}?next={url('item', study)}"


@pytest.mark.parametrize("headers", [HTMX, {"HTTP_ACCEPT": "text/plain"}])
@pytest.mark.parametrize("name", ["answer", "ratings", "skip", "lease"])
def test_a_script_is_told_that_nobody_is_signed_in(client, name, headers):
    study = make_pair_study([make_user()])
    response = client.post(url(name, study), answered(), **headers)
    assert (response.status_code, response.content) == (401, b"")


def test_the_lease_is_renewed_while_the_page_is_open(client, annotator):
    study = make_pair_study([annotator], lease_minutes=30)
    html = show(client, study).content.decode()
    assert f'data-lease="{url("lease", study)}" data-renew="300"' in html
    before = Claim.objects.get().expires_at
    response = client.post(url("lease", study), HTTP_ACCEPT="text/plain")
    assert (response.status_code, response.content) == (204, b"")
    assert Claim.objects.get().expires_at > before
    assert not AuditEvent.objects.exists()


def test_a_lost_lease_is_said_in_one_sentence(client, annotator):
    other = make_user()
    study = make_pair_study([annotator, other])
    show(client, study)
    Claim.objects.update(expires_at="2020-01-01T00:00Z")
    client.force_login(other)
    show(client, study)
    client.force_login(annotator)
    response = client.post(url("lease", study), HTTP_ACCEPT="text/plain")
    assert (response.status_code, response["Content-Type"]) == (409, "text/plain; charset=utf-8")
    assert "This item is no longer reserved for you" in response.content.decode()
    assert "Your answer was not saved" in client.post(url("lease", study)).content.decode()


def test_an_answered_item_s_page_renews_nothing(client, annotator):
    study = make_pair_study([annotator])
    show(client, study)
    client.post(url("answer", study), answered())
    html = client.get(url("item", study)).content.decode()
    assert "data-draft" in html
    assert "data-lease" not in html
