"""What the rating page offers for a single reply: its raw text, and a flag."""

from __future__ import annotations

import pytest
from django.urls import reverse

from annotation.exports import SATISFACTION
from annotation.models import AuditEvent, Response, SatisfactionLabel
from tests.annotation.labelling import make_pair_study, make_session_study
from tests.annotation.pages import rated, show, url
from tests.factory import make_user
from tests.markup import one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def annotator(client):
    annotator = make_user()
    client.force_login(annotator)
    return annotator


@pytest.fixture
def study(annotator):
    return make_session_study([annotator])


def raw(study, turn):
    item = study.items.get().pk
    return reverse("annotation:raw-reply", args=[study.slug, item, turn])


def test_the_raw_text_of_a_reply_is_asked_for(client, study):
    text = "**Bold** <script>alert(1)</script>\n\n- one"
    first = Response.objects.order_by("turn__position").first()
    Response.objects.filter(pk=first.pk).update(text=text)
    page = show(client, study).content.decode()
    assert raw(study, 1) in page
    assert "**Bold**" not in page  # once in the page, formatted
    answer = client.get(raw(study, 1))
    assert answer.content.decode() == text
    assert answer["Content-Type"] == "text/plain; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in answer["Cache-Control"]


def test_an_empty_reply_has_no_raw_text_to_show(client, study):
    Response.objects.filter(turn__position=0).update(text="")
    page = show(client, study).content.decode()
    assert raw(study, 1) not in page
    assert raw(study, 2) in page


def test_raw_texts_are_those_of_ones_own_item(client, study):
    show(client, study)
    assert client.get(raw(study, 4)).status_code == 404
    assert client.post(raw(study, 1)).status_code == 405
    client.force_login(make_user())
    assert client.get(raw(study, 1)).status_code == 404
    client.logout()
    assert client.get(raw(study, 1)).url.startswith(reverse("sign-in"))


def test_a_pair_has_no_replies_of_turns(client, annotator):
    pairs = make_pair_study([annotator])
    show(client, pairs)
    assert client.get(raw(pairs, 1)).status_code == 404


def test_a_reply_is_flagged_changed_and_shown_again(client, study):
    assert 'name="turn-2-flag"' in show(client, study).content.decode()
    ratings = ((5, ""), (4, ""), (2, "OTHER"))
    client.post(url("ratings", study), {**rated(*ratings), "turn-2-flag": "HARMFUL"})
    labels = SatisfactionLabel.objects.order_by("response__turn__position")
    assert [label.extra for label in labels] == [{}, {"flag": "HARMFUL"}, {}]
    again = one_line(client.get(url("item", study)))
    assert 'name="turn-2-flag" value="HARMFUL" checked' in again
    SatisfactionLabel.objects.filter(score=4).update(extra={"flag": "HARMFUL", "kept": 1})
    client.post(url("ratings", study), rated(*ratings))
    assert [label.extra for label in labels.all()] == [{}, {"kept": 1}, {}]
    assert [label.edits for label in labels.all()] == [0, 1, 0]
    event = AuditEvent.objects.get(action="ratings.changed")
    flags = {rating["flag"] for rating in event.detail["before"].values()}
    assert flags == {None, "HARMFUL"}


def test_a_comment_on_a_reply_is_stored_changed_and_shown_again(client, study):
    show(client, study)
    ratings = rated((5, ""), (4, ""), (2, "OTHER"))
    told = {"turn-2-comment": "Too <long>.\r\nTwice.", "turn-2-flag": "OTHER"}
    client.post(url("ratings", study), {**ratings, **told})
    labels = SatisfactionLabel.objects.order_by("response__turn__position")
    assert [label.comment for label in labels] == ["", "Too <long>.\nTwice.", ""]
    again = client.get(url("item", study)).content.decode()
    assert '(optional)">Too &lt;long&gt;.\nTwice.</textarea>' in again
    rows = list(SATISFACTION.rows(study.dataset))
    assert [row["comment"] for row in rows] == ["", "Too <long>.\nTwice.", ""]
    client.post(url("ratings", study), rated((5, ""), (4, ""), (2, "OTHER")))
    assert [label.edits for label in labels.all()] == [0, 1, 0]
    too_long = client.post(url("ratings", study), {**ratings, "turn-2-comment": "x" * 2001})
    assert too_long.status_code == 422
    assert too_long["HX-Replace-Url"] == url("item", study)  # a reload shows the item, not a 405
    client.post(url("ratings", study), {**rated((5, ""), (4, ""), (2, "OTHER")), **told})
    client.force_login(make_user(role="VIEWER"))
    session = study.items.get().session_id
    assert "Too &lt;long&gt;." in one_line(client.get(f"/sessions/{session}/"))


@pytest.mark.parametrize("flag", ["NEVER", "other"])
def test_a_flag_that_a_turn_cannot_have_is_refused(client, study, flag):
    show(client, study)
    sent = {**rated((5, ""), (4, ""), (5, "")), "turn-2-flag": flag}
    assert client.post(url("ratings", study), sent).status_code == 422
    assert not SatisfactionLabel.objects.exists()


def test_flagged_replies_stand_among_the_studys_flags(client, study):
    show(client, study)
    client.post(
        url("ratings", study), {**rated((5, ""), (4, ""), (5, "")), "turn-2-flag": "FAULTY"}
    )
    client.force_login(make_user(role="VIEWER"))
    listed = client.get(reverse("annotation:study-flags", args=[study.slug]))
    session = study.items.get().session
    (flag,) = listed.context["flags"]
    assert (flag.item, flag.comparison, flag.session, flag.turn) == (
        study.items.get().pk,
        None,
        session.pk,
        2,
    )
    assert f'href="/sessions/{session.pk}/#turn-2"' in listed.content.decode()
    assert "Something is broken" in listed.content.decode()
    page = client.get(reverse("annotation:study", args=[study.slug]))
    assert page.context["flag_count"] == 1
    assert f'href="/sessions/{session.pk}/#turn-2"' in page.content.decode()


def test_a_long_conversation_carries_each_text_once(client, annotator):
    """The page of 200 replies of 2 KB stays below what two copies of them would weigh."""
    study = make_session_study([annotator], turns=200)
    line = "- A line of **text** that says something about it.\n"
    Response.objects.update(text=line * 40)
    page = show(client, study).content.decode()
    assert page.count("that says something") == 200 * 40
    assert len(page) < 1_350_000


def test_a_conversation_of_two_hundred_replies_is_sent_whole(client, annotator):
    study = make_session_study([annotator], turns=200, ask_hallucination=True)
    show(client, study)
    measured = ("active_seconds", "idle_seconds", "input_device", "flag")
    data = rated(*[("2", "OTHER"), ("5", "")] * 100)
    for turn in range(1, 201):
        data |= {f"turn-{turn}-hallucination": "NO"}
        data |= {f"turn-{turn}-{name}": "" for name in measured}
    assert client.post(url("ratings", study), data).status_code == 302
    assert SatisfactionLabel.objects.count() == 200
