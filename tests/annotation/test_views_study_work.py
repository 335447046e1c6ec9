from __future__ import annotations

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation.models import AuditEvent, Claim, PairwiseLabel, Participation
from tests.annotation.labelling import make_pair_study, make_session_study
from tests.factory import make_claim, make_label, make_user
from tests.markup import one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def signed_in(client):
    def sign_in(role="MANAGER"):
        user = make_user(role=role)
        client.force_login(user)
        return user

    return sign_in


def url(name, study, *more):
    return reverse(f"annotation:study-{name}", args=[study.slug, *more])


@pytest.fixture
def busy():
    """Two people: one holds the first item and skipped the second, the other answered it."""
    holder, other = make_user(display_name="Holder"), make_user(display_name="Other")
    study = make_pair_study([holder, other], items=3, overlap=1, name="Pilot")
    first, second, _third = study.items.order_by("position")
    make_claim(first, holder)
    make_claim(
        second,
        holder,
        state="SKIPPED",
        slot=None,
        skip_reason="BROKEN",
        finished_at=timezone.now(),
    )
    make_claim(second, other, state="DONE", finished_at=timezone.now() - timedelta(hours=2))
    return study


def first(study):
    return study.items.order_by("position").first()


def of(study, name):
    return study.annotators.get(display_name=name)


def test_nobody_works_in_a_closed_study(signed_in, busy, client):
    signed_in()
    address = reverse("annotation:study", args=[busy.slug])
    at_work = (">working<", "reserved for another", "Items in progress", "Time left")
    open_page = one_line(client.get(address))
    assert [each in open_page for each in at_work] == [True] * 4
    busy.status = "CLOSED"
    busy.save()
    closed = one_line(client.get(address))
    assert [each in closed for each in at_work] == [False] * 4
    assert "Unfinished items" in closed


PAGES = ["claims", "skips", "flags", "history"]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize(("role", "status"), [("VIEWER", 200), ("ADMIN", 200), ("ANNOTATOR", 403)])
def test_whoever_sees_everyone_sees_the_rows(client, signed_in, busy, name, role, status):
    signed_in(role)
    assert client.get(url(name, busy)).status_code == status


@pytest.mark.parametrize("name", PAGES)
def test_rows_of_no_study_strangers_and_wrong_methods(client, signed_in, busy, name):
    assert client.get(url(name, busy)).url.startswith(reverse("sign-in"))
    signed_in()
    assert client.post(url(name, busy)).status_code == 405
    assert client.get(reverse(f"annotation:study-{name}", args=["nowhere"])).status_code == 404


@pytest.mark.parametrize(
    ("wanted", "states"),
    [
        ({}, ["ACTIVE", "DONE", "SKIPPED"]),
        ({"which": "held"}, ["ACTIVE"]),
        ({"which": "lapsed"}, []),
        ({"which": "done"}, ["DONE"]),
        ({"which": "last-hour"}, []),
        ({"which": "skipped"}, ["SKIPPED"]),
        ({"which": "skipped", "reason": "OTHER"}, []),
        ({"which": "released"}, []),
        ({"which": "made up", "annotator": "x"}, ["ACTIVE", "DONE", "SKIPPED"]),
    ],
)
def test_work_is_listed_by_state(client, signed_in, busy, wanted, states):
    signed_in("VIEWER")
    page = client.get(url("claims", busy), wanted)
    assert sorted(row.state for row in page.context["claims"]) == states


def test_work_is_listed_by_annotator(client, signed_in, busy):
    signed_in("VIEWER")
    page = client.get(url("claims", busy), {"annotator": of(busy, "Other").pk})
    assert [row.name for row in page.context["claims"]] == ["Other"]


def test_work_costs_a_fixed_number_of_queries(client, signed_in, django_assert_num_queries):
    signed_in("VIEWER")
    annotator = make_user()
    study = make_pair_study([annotator], items=60)
    for item in study.items.all():
        make_claim(item, annotator, state="DONE")
    # Session, user, study, people to choose from, number of claims, a page of them.
    with django_assert_num_queries(6):
        page = client.get(url("claims", study))
    assert len(page.context["claims"]) == 50


def test_an_item_and_the_history_cost_a_fixed_number_of_queries(
    client, signed_in, busy, django_assert_num_queries
):
    manager = signed_in()
    path = url("item", busy, first(busy).pk)
    # Session, user, study, item, its claims, who could be given it.
    with django_assert_num_queries(6):
        client.get(path)
    for claim in Claim.objects.all():
        detail = {"annotator": claim.annotator_id}
        AuditEvent.objects.create(
            actor=manager, action="claim.given", target="claim", target_id=claim.pk, detail=detail
        )
    # Session, user, study, number of events, a page of them, their claims, people they name.
    with django_assert_num_queries(7):
        client.get(url("history", busy))


def test_an_item_says_who_has_it_and_what_can_be_done(client, signed_in, busy):
    signed_in()
    page = client.get(url("item", busy, first(busy).pk))
    html = page.content.decode()
    assert "Assigned to Holder" in html
    assert [name for _pk, name in page.context["give"].fields["annotator"].choices] == ["Other"]
    assert page.context["free"] == 0
    make_session_study([])
    assert client.get(url("item", busy, 10**9)).status_code == 404


def test_a_viewer_changes_nothing(client, signed_in, busy):
    signed_in("VIEWER")
    item = first(busy)
    claim = Claim.objects.get(state="ACTIVE")
    html = client.get(url("item", busy, item.pk)).content.decode()
    assert "Unassign" not in html
    for path in (
        url("release", busy, item.pk, claim.pk),
        url("give", busy, item.pk),
        url("offer", busy),
    ):
        assert client.post(path).status_code == 403
    claim.refresh_from_db()
    assert claim.state == "ACTIVE"


def test_what_changes_something_is_posted_by_somebody_signed_in(client, signed_in, busy):
    item, claim = first(busy), Claim.objects.get(state="ACTIVE")
    paths = [
        url("release", busy, item.pk, claim.pk),
        url("give", busy, item.pk),
        url("offer", busy),
    ]
    for path in paths:
        assert client.post(path).url.startswith(reverse("sign-in"))
    signed_in()
    for path in paths:
        assert client.get(path).status_code == 405


def test_an_item_is_taken_back(client, signed_in, busy):
    manager = signed_in()
    claim = Claim.objects.get(state="ACTIVE")
    page = client.post(url("release", busy, claim.item_id, claim.pk), follow=True)
    assert "Unassigned. The item is offered" in page.content.decode()
    claim.refresh_from_db()
    assert claim.state == "RELEASED"
    assert AuditEvent.objects.get().actor == manager
    html = client.get(url("history", busy)).content.decode()
    assert "Item unassigned" in html
    assert "#1 · Holder" in html


def test_an_answered_item_is_not_taken_back(client, signed_in, busy):
    signed_in()
    claim = Claim.objects.get(state="DONE")
    page = client.post(url("release", busy, claim.item_id, claim.pk), follow=True)
    assert "the item was answered in the meantime" in page.content.decode()
    assert client.post(url("release", busy, claim.item_id, 10**9)).status_code == 404


def test_an_item_is_given_to_somebody_else(client, signed_in, busy):
    signed_in()
    claim, other = Claim.objects.get(state="ACTIVE"), of(busy, "Other")
    data = {"annotator": other.pk, "instead_of": claim.pk}
    page = client.post(url("give", busy, claim.item_id), data, follow=True)
    assert "They get the item next" in page.content.decode()
    assert Claim.objects.get(item=claim.item_id, state="ACTIVE").annotator == other
    assert "assigned, not opened yet" in page.content.decode()


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"status": "CLOSED"}, "this study is not open"),
        ({}, "this item already has all its annotators"),
    ],
)
def test_what_cannot_be_given_is_said(client, signed_in, busy, changes, text):
    signed_in()
    for name, value in changes.items():
        setattr(busy, name, value)
    busy.save()
    data = {"annotator": of(busy, "Other").pk}
    page = client.post(url("give", busy, first(busy).pk), data, follow=True)
    assert text in page.content.decode()


def test_nobody_outside_the_study_is_given_an_item(client, signed_in, busy):
    signed_in()
    data = {"annotator": make_user().pk}
    page = client.post(url("give", busy, first(busy).pk), data, follow=True)
    assert "Choose an annotator in the study" in page.content.decode()


def test_skips_stand_with_their_reasons_and_are_offered_again(client, signed_in, busy):
    signed_in()
    page = client.get(url("skips", busy))
    assert "Broken or unreadable" in page.content.decode()
    assert [item.reasons for item in page.context["items"]] == [(("BROKEN", 1),)]
    page = client.post(url("offer", busy), follow=True)
    html = page.content.decode()
    assert "Offering 1 skipped item again" in html
    assert "No skipped items" in html


def test_one_skipped_item_is_offered_alone(client, signed_in, busy):
    signed_in()
    item = Claim.objects.get(state="SKIPPED").item_id
    response = client.post(url("offer", busy), {"item": item})
    assert response.url == url("item", busy, item)
    assert client.post(reverse("annotation:study-offer", args=["nowhere"])).status_code == 404


def test_flags_stand_with_comments_and_lead_to_their_pairs(client, signed_in, busy):
    signed_in("VIEWER")
    item = first(busy)
    make_label(
        item.comparison,
        annotator=of(busy, "Other"),
        study=busy,
        extra={"flag": "FAULTY"},
        comment="Cut off.",
    )
    make_label(item.comparison, annotator=of(busy, "Holder"), study=busy)
    html = client.get(url("flags", busy)).content.decode()
    assert "Something is broken" in html
    assert "Cut off." in html
    assert f'href="/comparisons/{item.comparison_id}/"' in html
    assert len(client.get(url("flags", busy)).context["flags"]) == 1


def test_the_live_part_stops_asking_once_the_study_is_not_open(client, signed_in, busy):
    signed_in("VIEWER")
    html = client.get(url("live", busy), headers={"HX-Request": "true"}).content.decode()
    assert 'hx-trigger="every 5s"' in html
    assert "data-poll" in html
    assert "<html" not in html
    busy.status = "PAUSED"
    busy.save()
    assert "hx-trigger" not in client.get(url("live", busy)).content.decode()
    assert client.get(reverse("annotation:study-live", args=["nowhere"])).status_code == 404


def test_one_annotator_is_no_plural(client, signed_in):
    study = make_pair_study([signed_in("ANNOTATOR")], items=1)
    signed_in("VIEWER")
    page = " ".join(client.get(url("live", study)).content.decode().split())
    assert "of 1 annotator active" in page


def test_the_live_part_is_for_those_who_see_everyone_and_cheap(
    client, signed_in, busy, django_assert_num_queries
):
    signed_in("ANNOTATOR")
    assert client.get(url("live", busy)).status_code == 403
    signed_in("VIEWER")
    # Session, user, study, who is in it, their claims, times, filled items, items, fast answers,
    # items held.
    with django_assert_num_queries(10):
        client.get(url("live", busy))


def test_the_history_leaves_answers_out_unless_they_are_wanted(client, signed_in, busy):
    signed_in("VIEWER")
    claim = Claim.objects.get(state="DONE")
    AuditEvent.objects.create(
        actor=claim.annotator,
        action="label.given",
        target="claim",
        target_id=claim.pk,
        detail={"submission": "x", "before": None, "after": {"verdict": "A"}},
    )
    AuditEvent.objects.create(
        actor=claim.annotator,
        action="ratings.given",
        target="claim",
        target_id=claim.pk,
        detail={
            "after": {"731": {"score": 4, "reason": None}, "732": {"score": 2, "reason": "OTHER"}},
            "questionnaire": {"before": {}, "after": {"Detail": "Fair", "Diversity": "Varied"}},
        },
    )
    part = Participation.objects.first()
    AuditEvent.objects.create(
        action="participation.paused",
        target="participation",
        target_id=part.pk,
        detail={"annotator": part.annotator_id, "reason": "GOLD"},
    )
    AuditEvent.objects.create(action="study.status", target="study", target_id=busy.pk + 1)
    html = client.get(url("history", busy)).content.decode()
    assert "automatic" in html
    assert "Pair answered" not in html
    assert "Status changed" not in html  # of another study
    html = one_line(client.get(url("history", busy), {"answers": ""}))
    assert "Pair answered" in html
    for told in (
        "reply 1, after:</span> score: 4;",
        "reply 2, after:</span> score: 2 · reason: OTHER;",
        "questionnaire, after:</span> Detail: Fair · Diversity: Varied",
    ):
        assert told in html
    assert "submission" not in html


def test_downloads_hold_one_study_alone(client, signed_in):
    signed_in("VIEWER")
    annotator = make_user()
    study = make_pair_study([annotator], items=1)
    other = make_pair_study([annotator], items=1)
    pair = first(study).comparison
    label = make_label(pair, annotator=annotator, study=study)
    make_label(pair, annotator=annotator)  # of the same pair, outside the study
    make_label(first(other).comparison, annotator=annotator, study=other)
    for kind in ("labels", "labels_wide", "sessions"):
        response = client.get(url("export", study, kind, "jsonl"))
        body = b"".join(response.streaming_content).decode()
        assert body.count('"verdict') == 1, kind
        assert label.comparison.key in body
        assert f"{study.slug}-{kind}.jsonl" in response.headers["Content-Disposition"]
    assert client.get("/studies/nowhere/export/labels.csv").status_code == 404
    flat = client.get(url("export", study, "sessions", "csv"))
    assert b"".join(flat.streaming_content).decode().count("Reply A") == 1


def test_annotators_download_nothing_of_a_study(client, signed_in, busy):
    signed_in("ANNOTATOR")
    assert client.get(url("export", busy, "labels", "csv")).status_code == 403


def test_managers_return_pass_on_and_discard_in_bulk(client, signed_in):
    signed_in("MANAGER")
    stuck, other = make_user(), make_user(display_name="Helper Ma")
    study = make_pair_study([stuck, other], items=2)
    one, two = study.items.order_by("position")
    make_claim(one, stuck)
    listed = client.get(f"/studies/{study.slug}/work/?which=held").content.decode()
    assert reverse("annotation:study-return", args=[study.slug]) in listed
    page = f"/studies/{study.slug}/people/{stuck.pk}/"
    sent = {"source": stuck.pk, "annotator": other.pk}
    assert "Reassign all" in client.get(page).content.decode()
    address = reverse("annotation:study-pass-on", args=[study.slug])
    assert (
        "Assigned 1 item to Helper Ma." in client.post(address, sent, follow=True).content.decode()
    )
    for odd in ({}, {**sent, "annotator": stuck.pk}, {**sent, "annotator": make_user().pk}):
        assert "Choose an annotator" in client.post(address, odd, follow=True).content.decode()
    back = client.post(reverse("annotation:study-return", args=[study.slug]), follow=True)
    assert "Returned 1 item;" in back.content.decode()
    make_claim(two, stuck, state="DONE")
    make_label(two.comparison, annotator=stuck, study=study)
    assert "Discard the answers of" in client.get(page).content.decode()
    address = reverse("annotation:study-discard", args=[study.slug])
    told = client.post(address, {"annotator": stuck.pk}, follow=True).content.decode()
    assert "Discarded 1 answer;" in told
    assert not PairwiseLabel.objects.exists()
    assert client.post(address, {"annotator": make_user().pk}).status_code == 404
    assert client.post(address).status_code == 404
    make_claim(two, other)
    Participation.objects.create(study=study, annotator=stuck)
    Participation.objects.update(paused_at=timezone.now(), pause_reason="MANAGER")
    sent = {"source": other.pk, "annotator": stuck.pk}
    address = reverse("annotation:study-pass-on", args=[study.slug])
    assert "this annotator is paused" in client.post(address, sent, follow=True).content.decode()


@pytest.mark.parametrize("name", ["study-return", "study-pass-on", "study-discard"])
def test_only_managers_work_in_bulk(client, signed_in, busy, name):
    address = reverse(f"annotation:{name}", args=[busy.slug])
    assert client.post(address).status_code == 302
    signed_in("VIEWER")
    assert client.post(address).status_code == 403
    signed_in("MANAGER")
    assert client.get(address).status_code == 405
    assert client.post(reverse(f"annotation:{name}", args=["nowhere"])).status_code == 404
