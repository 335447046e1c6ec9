from __future__ import annotations

import pytest
from django.urls import reverse
from django.utils.translation import override

from annotation.models import Claim, Participation, Study
from annotation.queries.studies import annotator_choices
from tests.annotation.labelling import make_pair_study
from tests.factory import make_claim, make_label, make_user
from tests.markup import one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager(client):
    user = make_user(role="MANAGER", username="boss")
    client.force_login(user)
    return user


@pytest.fixture
def annotator():
    return make_user(username="li", display_name="Li Wei")


@pytest.fixture
def study(annotator):
    study = make_pair_study([annotator], items=2)
    make_claim(study.items.order_by("position").first(), annotator)
    return study


def url(name, study, *more):
    return reverse(f"annotation:study-{name}", args=[study.slug, *more])


def test_people_are_listed_and_added(client, manager, study):
    make_user(username="wu")
    make_user(username="gone", is_active=False)
    make_user(username="reader", role="VIEWER")
    page = client.get(url("people", study))
    assert "Li Wei" in page.content.decode()
    offered = page.context["form"].fields["annotators"].choices
    assert offered == [("wu", "wu"), ("boss", "boss (Manager)")]
    with override("zh-hans"):
        assert annotator_choices()[-1] == ("boss", "boss（管理者）")
    page = client.post(url("people", study), {"annotators": ["wu"]}, follow=True)
    assert "1 annotator added" in page.content.decode()
    assert study.annotators.count() == 2


def test_paid_work_is_told_apart_and_timed(client, manager, study, annotator):
    page = client.get(url("people", study)).content.decode()
    assert "Time worked" in page
    assert "of 1</span>" not in one_line(client.get(url("people", study)))  # no guidelines to read
    Study.objects.update(guidelines="Be fair.")
    assert "of 1</span>" in one_line(client.get(url("people", study))).replace(" </", "</")
    assert "Worker ID" not in page  # nobody came from a platform
    Participation.objects.update(worker={"workerId": "A1"})
    Participation.objects.create(study=study, annotator=make_user(), worker={"PROLIFIC_PID": "A1"})
    for item in study.items.all():
        make_label(item.comparison, annotator=annotator, study=study, active_seconds=45.1 / 3 + 30)
    page = client.get(url("people", study)).content.decode()
    assert page.count("several accounts") == 2
    assert "90 s" in page
    assert "90 s" in client.get(url("annotator", study, annotator.pk)).content.decode()
    address = reverse("annotation:participants", args=[study.slug, "csv"])
    told = b"".join(client.get(address).streaming_content).decode()
    assert ",90.067," in told
    client.post(url("remove", study, annotator.pk))  # what they are to be paid is still to be told
    assert "A1" in client.get(url("history", study)).content.decode()
    client.force_login(make_user(role="VIEWER"))
    for page in (url("annotator", study, annotator.pk), url("history", study)):
        assert "A1" not in client.get(page).content.decode()


def test_adding_nobody_is_said(client, manager, study):
    response = client.post(url("people", study), {})
    assert response.status_code == 422
    assert "This field is required." in response.content.decode()


def test_the_list_costs_a_fixed_number_of_queries(
    client, manager, study, django_assert_num_queries
):
    for _more in range(10):
        Participation.objects.create(study=study, annotator=make_user())
    # Session, user, study, who is in it, who could be.
    with django_assert_num_queries(5):
        client.get(url("people", study))


def test_an_annotator_has_a_page(client, manager, study, annotator):
    html = client.get(url("annotator", study, annotator.pk)).content.decode()
    assert "working" in html
    assert "Remove Li Wei" in html
    assert client.get(url("annotator", study, manager.pk)).status_code == 404


def test_an_annotators_page_costs_a_fixed_number_of_queries(
    client, manager, study, annotator, django_assert_num_queries
):
    for _more in range(10):
        Participation.objects.create(study=study, annotator=make_user())
    # Session, user, study; of its state: who is in it, their claims, times, filled items, number of
    # items, fast answers, items held; what this one holds, and had, and their time.
    with django_assert_num_queries(13):
        client.get(url("annotator", study, annotator.pk))


def test_an_annotator_is_paused_and_goes_on(client, manager, study, annotator):
    for text in (
        "Paused. Their items in progress go to others.",
        "Already paused. Nothing was changed.",
    ):
        page = client.post(url("pause", study, annotator.pk), follow=True)
        assert text in page.content.decode()
    assert Claim.objects.get().state == "RELEASED"
    assert "Paused by a manager" in page.content.decode()
    for text in (
        "Resumed. Only answers from now on count towards the rule.",
        "Not paused. Nothing was changed.",
    ):
        page = client.post(url("resume", study, annotator.pk), follow=True)
        assert text in page.content.decode()
    assert Participation.objects.get().paused_at is None


def test_an_annotator_is_taken_out_and_their_work_is_still_shown(client, manager, study, annotator):
    Claim.objects.update(state="DONE")
    page = client.post(url("remove", study, annotator.pk), follow=True)
    assert "Removed from the study." in page.content.decode()
    assert not study.annotators.exists()
    html = client.get(url("annotator", study, annotator.pk)).content.decode()
    assert "no longer in the study" in html
    assert "Remove Li Wei" not in html
    html = client.get(url("claims", study)).content.decode()
    assert "removed" in html


@pytest.mark.parametrize("name", ["pause", "resume", "remove"])
def test_who_is_not_there_is_not_found(client, manager, study, name):
    path = reverse(f"annotation:study-{name}", args=["nowhere", 1])
    assert client.post(path).status_code == 404
    assert client.get(url(name, study, 1)).status_code == 405


@pytest.mark.parametrize("role", ["ANNOTATOR", "VIEWER"])
def test_only_managers_decide_who_takes_part(client, study, annotator, role):
    client.force_login(make_user(role=role))
    assert client.get(url("people", study)).status_code == 403
    assert client.post(url("people", study), {"annotators": ["li"]}).status_code == 403
    for name in ("pause", "resume", "remove"):
        assert client.post(url(name, study, annotator.pk)).status_code == 403
    assert study.annotators.count() == 1
    seen = client.get(url("annotator", study, annotator.pk))
    assert seen.status_code == (200 if role == "VIEWER" else 403)
    if role == "VIEWER":
        assert "Pause" not in seen.content.decode().split("<main")[1]


def test_strangers_are_sent_to_the_sign_in(client, study, annotator):
    for response in (
        client.get(url("people", study)),
        client.get(url("annotator", study, annotator.pk)),
        client.post(url("pause", study, annotator.pk)),
    ):
        assert response.url.startswith(reverse("sign-in"))
