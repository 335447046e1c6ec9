"""Having the next pair ready: nothing is given out by it, and what is given is what it showed."""

from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.core.labelling import shown_digest
from annotation.models import Claim, ClaimState, PairwiseLabel, Study
from annotation.services.claims import next_task, own_task
from annotation.services.labels import pair_ahead
from annotation.views.labelling import SHOWS, item_key
from tests.annotation.labelling import make_pair_study, make_repeat_study, make_session_study
from tests.annotation.pages import answered, next_url, show, url
from tests.factory import make_item, make_session, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def annotator(client):
    annotator = make_user()
    client.force_login(annotator)
    return annotator


def look_ahead(client, study):
    """The page of what would follow the item at hand."""
    return client.get(url("ahead", study, Claim.objects.get(state=ClaimState.ACTIVE).item))


def go_on(client, study, kept, name="answer", **data):
    """Finish the item at hand, with a page in reserve."""
    item = Claim.objects.get(state=ClaimState.ACTIVE).item
    return client.post(url(name, study, item), {**answered(), **data, "ahead": kept})


def test_what_is_ready_is_what_is_given_in_the_same_order_and_nothing_is_given_out_by_it(
    client, annotator
):
    study = make_pair_study([annotator], items=12)
    show(client, study)
    for number in range(1, 12):
        ready = look_ahead(client, study)
        again = look_ahead(client, study)
        assert Claim.objects.count() == number
        assert ready[SHOWS] == again[SHOWS]
        went_on = go_on(client, study, ready[SHOWS])
        assert (went_on.status_code, went_on[SHOWS]) == (200, ready[SHOWS])
        assert went_on["HX-Replace-Url"] == next_url(study)
        assert f"{number} of 12" in went_on.content.decode()
        given = show(client, study)
        assert shown_digest(given.context["task"], key=item_key()) == ready[SHOWS]
        assert given.context["sides"] == ready.context["sides"]
        previous = [page.context["task"].place.previous for page in (given, ready)]
        assert previous[0].item == previous[1].item
    assert look_ahead(client, study).status_code == 204
    assert go_on(client, study, ready[SHOWS]).url == next_url(study)
    assert PairwiseLabel.objects.count() == 12


def test_the_status_says_what_was_stored_and_names_no_model(client, annotator):
    study = make_pair_study([annotator], items=2)
    show(client, study)
    ready = look_ahead(client, study)
    went_on = go_on(client, study, ready[SHOWS], answer="SECOND")
    assert "Saved: Second" in went_on.content.decode()
    assert "secret-" not in ready.content.decode() + went_on.content.decode()


def test_skipping_goes_on_likewise(client, annotator):
    study = make_pair_study([annotator], items=3)
    show(client, study)
    ready = look_ahead(client, study)
    went_on = go_on(client, study, ready[SHOWS], "skip", reason="BROKEN")
    assert went_on[SHOWS] == ready[SHOWS]
    assert "0 of 3" in went_on.content.decode()
    assert "Previous: skipped" in went_on.content.decode()


def test_what_others_took_meanwhile_is_not_shown(client, annotator):
    other = make_user()
    study = make_pair_study([annotator, other], items=3)
    show(client, study)
    ready = look_ahead(client, study)
    next_task(study=study.slug, annotator=other, now=timezone.now())
    item = Claim.objects.get(annotator=annotator).item
    went_on = client.post(url("answer", study, item), {**answered(), "ahead": ready[SHOWS]})
    assert (went_on.status_code, went_on.url) == (302, next_url(study))
    assert show(client, study).context["task"].place.item != ready.context["task"].place.item


def test_a_page_whose_text_was_mended_meanwhile_is_not_shown(client, annotator):
    study = make_pair_study([annotator], items=2)
    show(client, study)
    ready = look_ahead(client, study)
    comparison = study.items.order_by("position").last().comparison
    comparison.response_b.text = "Mended."
    comparison.response_b.save()
    assert go_on(client, study, ready[SHOWS]).status_code == 302


def test_a_pair_given_back_before_keeps_its_order(client, annotator):
    study = make_pair_study([annotator], items=2)
    show(client, study)
    order = Claim.objects.get().shown_order
    other = {"ORIGINAL": "SWAPPED", "SWAPPED": "ORIGINAL"}[order]
    Claim.objects.update(state=ClaimState.RELEASED, slot=None, shown_order=other)
    item = study.items.order_by("position").last()
    Claim.objects.create(
        item=item,
        annotator=annotator,
        slot=0,
        shown_order=order,
        claimed_at=timezone.now(),
        expires_at=timezone.now(),
    )
    ready = look_ahead(client, study)
    assert go_on(client, study, ready[SHOWS])[SHOWS] == ready[SHOWS]
    assert Claim.objects.get(state=ClaimState.ACTIVE).shown_order == other


def test_a_hidden_repeat_is_as_ready_as_any_other_pair_and_looks_like_one(client, annotator):
    study = make_repeat_study([annotator], items=10)
    original, repeat = study.items.order_by("position").first(), study.items.get(kind="REPEAT")
    show(client, study)
    go_on(client, study, "")
    show(client, study)
    shapes = []
    while Claim.objects.get(state=ClaimState.ACTIVE).item != repeat:
        ready = look_ahead(client, study)
        html = ready.content.decode()
        shapes.append((html.count("<"), html.count("=")))
        assert "REPEAT" not in html
        assert go_on(client, study, ready[SHOWS])[SHOWS] == ready[SHOWS]
    assert len(shapes) == 9
    assert len(set(shapes)) == 1
    mine = {"study": study.slug, "annotator": annotator, "now": timezone.now()}
    first, second = (own_task(item=item.pk, **mine) for item in (original, repeat))
    assert (first.first, first.second) == (second.second, second.first)


def test_nothing_is_ready_but_for_the_item_at_hand(client, annotator):
    study = make_pair_study([annotator], items=3)
    show(client, study)
    item = Claim.objects.get().item
    client.post(url("answer", study, item), answered())
    show(client, study)
    assert client.get(url("ahead", study, item)).status_code == 204
    html = client.get(url("item", study, item)).content.decode()
    assert "data-ahead" not in html


def test_sessions_are_not_made_ready(client, annotator):
    study = make_session_study([annotator])
    make_item(study, session=make_session(study.dataset.scenarios.get()))
    show(client, study)
    assert look_ahead(client, study).status_code == 204
    assert "data-ahead" not in show(client, study).content.decode()


def test_what_is_stored_stays_stored_when_the_study_closes_at_that_moment(client, annotator):
    study = make_pair_study([annotator], items=2)
    show(client, study)
    kept = look_ahead(client, study)[SHOWS]
    item = Claim.objects.get().item
    client.post(url("answer", study, item), answered())
    Study.objects.update(status="PAUSED")
    assert client.get(url("ahead", study, item)).status_code == 409
    Study.objects.update(status="OPEN")
    went_on = client.post(url("answer", study, item), {**answered(), "ahead": kept})
    assert went_on.status_code == 200


def test_looking_ahead_costs_a_fixed_number_of_queries(
    client, annotator, django_assert_max_num_queries
):
    study = make_pair_study([annotator], items=9)
    show(client, study)
    item = Claim.objects.get().item
    mine = {"study": study.slug, "item": item.pk, "annotator": annotator}
    with django_assert_max_num_queries(12):
        assert pair_ahead(**mine, now=timezone.now()) is not None


def test_strangers_others_and_other_methods(client):
    owner, other = make_user(), make_user()
    study = make_pair_study([owner, other], items=2)
    client.force_login(owner)
    show(client, study)
    place = url("ahead", study, Claim.objects.get().item)
    assert client.post(place).status_code == 405
    client.force_login(other)
    assert client.get(place).status_code == 404
    client.logout()
    assert client.get(place).url.startswith(reverse("sign-in"))
