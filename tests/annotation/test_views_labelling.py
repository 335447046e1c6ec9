from __future__ import annotations

from uuid import uuid4

import pytest
from django.urls import reverse

from annotation.models import (
    Claim,
    ClaimState,
    PairwiseLabel,
    SatisfactionLabel,
    Study,
)
from tests.annotation.labelling import make_pair_study, make_session_study
from tests.annotation.pages import answered, next_url, rated, show, skipped, url
from tests.factory import make_item, make_response, make_user
from tests.markup import one_line

pytestmark = pytest.mark.django_db

HTMX = {"HTTP_HX_REQUEST": "true", "HTTP_HX_BOOSTED": "true"}


@pytest.fixture
def annotator(client):
    annotator = make_user()
    client.force_login(annotator)
    return annotator


def test_the_next_pair_is_shown(client, annotator):
    study = make_pair_study([annotator])
    page = show(client, study)
    assert page.status_code == 200
    assert page.templates[0].name == "annotation/pair.html"
    for text in ("Question 1?", "Reply A1.", "Reply B1.", "First", "Second"):
        assert text in page.content.decode()


def test_no_model_name_reaches_the_annotator(client, annotator):
    pairs = make_pair_study([annotator])
    session = make_session_study([annotator])
    pages = [show(client, pairs), show(client, session)]
    pages.append(client.post(url("ratings", session), rated((2, ""), (5, ""), (5, ""))))
    client.post(url("answer", pairs), answered())
    pages += [client.get(url("item", pairs)), show(client, pairs)]
    assert [page.status_code for page in pages] == [200, 200, 422, 200, 200]
    for page in pages:
        assert "secret-" not in page.content.decode()


def test_reloading_shows_the_same_pair(client, annotator):
    study = make_pair_study([annotator], items=3)
    first, again = show(client, study), show(client, study)
    assert first.context["task"] == again.context["task"]
    assert first.context["submission"] != again.context["submission"]


def test_a_page_is_never_cached(client, annotator):
    assert "no-store" in show(client, make_pair_study([annotator]))["Cache-Control"]


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_an_answer_is_stored_and_the_next_pair_follows(client, annotator, headers):
    study = make_pair_study([annotator], items=2)
    show(client, study)
    response = client.post(url("answer", study), answered("SECOND"), **headers)
    assert (response.status_code, response.url) == (302, next_url(study))
    label = PairwiseLabel.objects.get()
    assert label.annotator == annotator
    assert "Saved: Second" in show(client, study).content.decode()


def test_the_raw_text_can_be_seen(client, annotator):
    study = make_pair_study([annotator])
    response = study.items.get().comparison.response_a
    response.text = "**bold** <script>alert(1)</script>"
    response.save()
    formatted = show(client, study).content.decode()
    raw = client.get(next_url(study) + "?raw").content.decode()
    assert "<strong>bold</strong>" in formatted
    assert '<pre class="raw" dir="auto">**bold** &lt;script&gt;alert(1)&lt;/script&gt;</pre>' in raw
    assert "<script>alert" not in formatted + raw


@pytest.mark.parametrize(
    ("text", "shown"), [("", "(an empty response)"), (None, "The text is not available.")]
)
def test_a_response_without_text_says_so(client, annotator, text, shown):
    study = make_pair_study([annotator])
    response = study.items.get().comparison.response_a
    response.text = text
    response.save()
    assert shown in show(client, study).content.decode()


@pytest.mark.parametrize(
    ("rules", "values"),
    [
        ({}, ["FIRST", "SECOND"]),
        ({"allow_tie": True}, ["FIRST", "TIE", "SECOND"]),
        (
            {"allow_tie": True, "allow_strength": True},
            ["FIRST_MUCH", "FIRST_BETTER", "TIE", "SECOND_BETTER", "SECOND_MUCH"],
        ),
    ],
)
def test_the_answers_are_those_the_study_allows(client, annotator, rules, values):
    study = make_pair_study([annotator], items=len(values), **rules)
    for value in values:
        page = show(client, study)
        assert [button.value for button in page.context["buttons"]] == values
        item = page.context["task"].place.item
        client.post(reverse("annotation:answer", args=[study.slug, item]), answered(value))
        again = client.get(reverse("annotation:item", args=[study.slug, item]))
        pressed = [button.value for button in again.context["buttons"] if button.pressed]
        assert pressed == [value]
    strengths = {"MUCH": 2, "BETTER": 1}
    expected = sorted(strengths.get(value.rpartition("_")[2], 0) for value in values)
    assert sorted(label.strength or 0 for label in PairwiseLabel.objects.all()) == expected


def test_both_bad_is_stored_where_it_is_asked(client, annotator):
    study = make_pair_study([annotator], allow_both_bad=True)
    assert "Both bad" in show(client, study).content.decode()
    client.post(url("answer", study), answered(both_bad="on"))
    assert PairwiseLabel.objects.get().both_bad


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"answer": "FIRST", "submission": str(uuid4()), "flag": "NEVER"},
        {"answer": "FIRST", "submission": str(uuid4()), "comment": "x" * 2001},
        {"answer": "FIRST"},
        {"answer": "THIRD", "submission": str(uuid4())},
        {"answer": "FIRST", "submission": "again"},
        {"answer": "TIE", "submission": str(uuid4())},
    ],
)
def test_an_answer_that_is_none_is_refused_and_not_stored(client, annotator, data):
    study = make_pair_study([annotator])
    show(client, study)
    response = client.post(url("answer", study), data)
    assert response.status_code == 422
    assert "Your answer was not saved" in response.content.decode()
    assert not PairwiseLabel.objects.exists()


@pytest.mark.parametrize("status", ["PAUSED", "CLOSED"])
def test_an_answer_to_a_study_that_takes_none_is_refused_and_a_reload_goes_on(
    client, annotator, status
):
    study = make_pair_study([annotator])
    show(client, study)
    Study.objects.update(status=status)
    page = client.post(url("answer", study), answered(), **HTMX)
    assert (page.status_code, page["HX-Replace-Url"]) == (409, next_url(study))
    assert f"This study is {status.lower()}, so nothing was changed." in page.content.decode()
    assert "HX-Replace-Url" not in client.post(url("answer", study), answered())


def test_an_item_is_skipped_with_a_reason(client, annotator):
    study = make_pair_study([annotator], items=2)
    show(client, study)
    response = client.post(url("skip", study), skipped("BROKEN"))
    assert (response.status_code, response.url) == (302, next_url(study))
    assert Claim.objects.get().state == ClaimState.SKIPPED
    assert "You can answer it now." in client.get(url("item", study)).content.decode()


def test_a_skip_is_undone_from_the_next_page(client, annotator):
    study = make_pair_study([annotator], items=2)
    show(client, study)
    client.post(url("skip", study), skipped("BROKEN"))
    page = show(client, study)
    assert "Previous: skipped" in page.content.decode()
    undo = {"skipped_at": page.context["task"].place.previous.skipped_at.isoformat()}
    assert f'value="{undo["skipped_at"]}"' in page.content.decode()
    response = client.post(url("undo-skip", study), undo)
    assert (response.status_code, response.url) == (302, url("item", study))
    assert Claim.objects.get(item__position=0).state == ClaimState.ACTIVE
    assert "Unanswered" in client.get(response.url).content.decode()


@pytest.mark.parametrize("moment", ["", "yesterday"])
def test_undoing_wants_to_know_which_skip(client, annotator, moment):
    study = make_pair_study([annotator])
    show(client, study)
    client.post(url("skip", study), skipped("BROKEN"))
    assert client.post(url("undo-skip", study), {"skipped_at": moment}).status_code == 422
    assert Claim.objects.get().state == ClaimState.SKIPPED


def test_skipping_wants_a_reason(client, annotator):
    study = make_pair_study([annotator])
    show(client, study)
    for data in ({}, {"reason": "OTHER"}, skipped("NEVER"), skipped(submission="again")):
        assert client.post(url("skip", study), data).status_code == 422
    assert Claim.objects.get().state == ClaimState.ACTIVE


def test_the_finished_page_leads_back(client, annotator):
    study = make_pair_study([annotator])
    show(client, study)
    client.post(url("answer", study), answered())
    page = show(client, study)
    assert page.templates[0].name == "annotation/done.html"
    assert "All done" in page.content.decode()
    assert url("item", study) in page.content.decode()


def test_a_paused_study_says_so(client, annotator):
    study = make_pair_study([annotator], status="PAUSED")
    assert "This study is paused" in show(client, study).content.decode()


def test_a_closed_study_says_that_it_is_over(client, annotator):
    study = make_pair_study([annotator], status="CLOSED")
    page = show(client, study).content.decode()
    assert "This study is closed" in page
    assert "paused" not in page


def test_what_others_hold_is_said(client, annotator):
    other = make_user()
    study = make_pair_study([annotator, other], items=1)
    item = study.items.get()
    make_item(study, comparison=item.comparison, kind="REPEAT", repeat_of=item, position=5)
    Claim.objects.all().delete()
    client.force_login(other)
    show(client, study)
    client.force_login(annotator)
    assert "No items for you right now" in show(client, study).content.decode()


def test_a_session_is_shown_with_its_background_and_turns(client, annotator):
    study = make_session_study([annotator])
    page = show(client, study)
    assert page.templates[0].name == "annotation/turns.html"
    html = page.content.decode()
    for text in ("Plan a trip.", "Question 3?", "Reply 3.", "Very dissatisfied", "not helpful"):
        assert text in html
    assert html.count('type="radio"') == 3 * (5 + 5 + 5)


@pytest.mark.parametrize("headers", [{}, HTMX])
def test_ratings_are_stored_together(client, annotator, headers):
    study = make_session_study([annotator])
    show(client, study)
    data = rated((5, ""), (3, "REQUIREMENT_UNMET"), (4, ""))
    response = client.post(url("ratings", study), data, **headers)
    assert (response.status_code, response.url) == (302, next_url(study))
    labels = SatisfactionLabel.objects.order_by("response__turn__position")
    assert [(label.score, label.reason) for label in labels] == [
        (5, None),
        (3, "REQUIREMENT_UNMET"),
        (4, None),
    ]


def test_a_reason_left_from_a_lower_score_is_dropped(client, annotator):
    study = make_session_study([annotator], turns=1)
    show(client, study)
    client.post(url("ratings", study), rated((5, "OTHER")))
    assert SatisfactionLabel.objects.get().reason is None


@pytest.mark.parametrize(
    ("turns", "errors"),
    [
        ([(5, ""), (3, ""), (4, "")], {2: "Choose the main reason."}),
        ([("", ""), (3, "OTHER"), (4, "")], {1: "Choose a score."}),
        ([(5, ""), (6, "")], {2: "Select a valid choice", 3: "Choose a score."}),
        ([(5, ""), (2, "NOT_RECORDED"), (4, "")], {2: "Select a valid choice"}),
    ],
)
def test_what_is_missing_is_said_and_nothing_is_stored(client, annotator, turns, errors):
    study = make_session_study([annotator])
    show(client, study)
    response = client.post(url("ratings", study), rated(*turns))
    assert response.status_code == 422
    assert response.context["faulty"] == sorted(errors)
    forms = dict(enumerate((form for _turn, form in response.context["turns"]), start=1))
    for number, text in errors.items():
        assert text in str(forms[number].errors)
    # What was chosen is still chosen.
    assert one_line(response).count(" checked") >= 1
    assert not SatisfactionLabel.objects.exists()


def test_hallucination_is_asked_where_the_study_asks(client, annotator):
    study = make_session_study([annotator], turns=1, ask_hallucination=True)
    assert "Does the reply make up facts?" in show(client, study).content.decode()
    assert client.post(url("ratings", study), rated((5, ""))).status_code == 422
    data = {**rated((5, "")), "turn-1-hallucination": "UNSURE"}
    assert client.post(url("ratings", study), data).status_code == 302
    assert SatisfactionLabel.objects.get().hallucination == "UNSURE"


def test_given_ratings_are_chosen_when_one_comes_back(client, annotator):
    study = make_session_study([annotator], turns=1)
    show(client, study)
    client.post(url("ratings", study), rated((2, "UNUSABLE")))
    html = one_line(client.get(url("item", study)))
    assert 'name="turn-1-score" value="2" required checked' in html
    assert 'value="UNUSABLE" checked' in html


def test_a_turn_without_a_reply_is_shown_and_not_rated(client, annotator):
    study = make_session_study([annotator], turns=2)
    session = study.items.get().session
    session.turns.last().responses.update(original=False)
    make_response(session.turns.first(), text="another line")
    page = show(client, study)
    assert "No reply to rate." in page.content.decode()
    assert client.post(url("ratings", study), rated((5, ""))).status_code == 302


def test_ratings_of_a_pair_are_refused(client, annotator):
    study = make_pair_study([annotator])
    show(client, study)
    assert client.post(url("ratings", study), rated((5, ""))).status_code == 422


@pytest.mark.parametrize(
    "name", ["next", "item", "answer", "ratings", "skip", "undo-skip", "lease"]
)
def test_strangers_are_sent_to_the_sign_in(client, name):
    study = make_pair_study([make_user()])
    path = next_url(study) if name == "next" else url(name, study)
    response = client.get(path) if name in {"next", "item"} else client.post(path)
    assert response.status_code == 302
    assert response.url.startswith(reverse("sign-in"))


@pytest.mark.parametrize(
    "name", ["next", "item", "answer", "ratings", "skip", "undo-skip", "lease"]
)
def test_what_is_not_one_s_own_does_not_exist(client, annotator, name):
    other = make_user()
    study = make_pair_study([other])
    client.force_login(other)
    show(client, study)
    client.force_login(annotator)
    path = next_url(study) if name == "next" else url(name, study)
    data = {**answered(), "reason": "OTHER", "skipped_at": "2026-11-21T12:00Z"}
    response = client.get(path) if name in {"next", "item"} else client.post(path, data)
    assert response.status_code == 404
    assert Claim.objects.get().state == ClaimState.ACTIVE


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("next", "post"),
        ("item", "post"),
        ("answer", "get"),
        ("ratings", "get"),
        ("skip", "get"),
        ("undo-skip", "get"),
        ("lease", "get"),
    ],
)
def test_wrong_methods_are_refused(client, annotator, name, method):
    study = make_pair_study([annotator])
    path = next_url(study) if name == "next" else url(name, study)
    assert getattr(client, method)(path).status_code == 405


def test_a_page_costs_a_fixed_number_of_queries(client, annotator, django_assert_num_queries):
    study = make_pair_study([annotator], items=9)
    show(client, study)
    # The session, the user, and six for the item at hand.
    with django_assert_num_queries(2 + 6):
        show(client, study)
