"""Every list of the admin console takes every filter that its address may hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from axes.models import AccessAttempt
from django.contrib.admin import site
from django.db import models
from django.db.utils import OperationalError
from django.urls import reverse
from django.utils import timezone
from knox.models import AuthToken

from annotation.models import AnnotatorProfile, Dataset, GoldLabel, Study
from sensejudge_site.admin_site import CheckedChangeList
from tests import factory

pytestmark = pytest.mark.django_db(transaction=True)

YEARS = ("99999", "9999", "0", "-1", str(2**63))
LISTS = sorted(site._registry, key=lambda model: model._meta.label)


def hostile(model: type[models.Model]) -> Iterator[dict[str, str]]:
    """Every lookup of every list; of the years each list takes another, and all lists together all.

    All lists read a filter alike: what differs is whether one of them reads it at all.
    """
    year, month_of = (YEARS[(LISTS.index(model) + on) % len(YEARS)] for on in (0, 2))
    yield {"pk__range": "0"}
    yield {"pk__in": str(2**70)}
    yield {"pk__gt": str(2**70)}
    fields = model._meta.get_fields()
    dates = [each.name for each in fields if isinstance(each, models.DateField)]
    for name in dates[:1]:  # all are read alike
        for lookup in ("year", "iso_year", "year__gte", "month", "range"):
            yield {f"{name}__{lookup}": year}
        yield {f"{name}__year": month_of, f"{name}__month": "12"}
    for field in fields:
        if isinstance(field, models.CharField | models.TextField):
            yield {f"{field.name}__regex": "("}
            yield {field.name: "\x00"}


@pytest.mark.parametrize("model", LISTS, ids=lambda model: model._meta.label_lower)
def test_a_list_answers_whatever_is_asked_of_it(client, model):
    client.force_login(factory.make_user(role="ADMIN"))
    address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    for asked in hostile(model):
        answer = client.get(f"{address}?{urlencode(asked)}")
        assert answer.status_code in {200, 302, 400}, asked


def test_lists_of_other_packages_have_names_that_are_translated(client):
    client.force_login(factory.make_user(role="ADMIN"))
    page = client.get("/admin/").content.decode()
    assert not re.search(r">\s*(Axes|Knox|Auth tokens)\s*<", page)
    chinese = client.get("/admin/", headers={"accept-language": "zh-hans"}).content.decode()
    assert not re.search(r">\s*(Axes|Knox|Access|Auth)[^<]*<", chinese)


def test_a_filter_that_cannot_be_read_shows_the_whole_list(client):
    client.force_login(factory.make_user(role="MANAGER"))
    factory.make_study()
    for query in ("created_at__year=99999", "id__range=0", "name__regex=("):
        answer = client.get(f"/admin/annotation/study/?{query}")
        assert (answer.status_code, answer["Location"]) == (302, "/admin/annotation/study/?e=1")


@pytest.mark.parametrize(
    ("query", "fault"), [("", ValueError), ("?id=1", OperationalError("database is locked"))]
)
def test_a_fault_that_is_no_filter_s_stays_one(client, monkeypatch, query, fault):
    def fail(*_args):
        raise fault

    client.force_login(factory.make_user(role="ADMIN"))
    monkeypatch.setattr(CheckedChangeList.__base__, "get_results", fail)
    with pytest.raises((ValueError, OperationalError)):
        client.get(f"/admin/annotation/study/{query}")


def one_row_of_each():
    """Rows that people hold on to, and such as a page deletes."""
    dataset = factory.make_dataset()
    comparison = factory.make_comparison(
        factory.make_turn(factory.make_session(factory.make_scenario(dataset)))
    )
    factory.make_label(comparison, study=factory.make_study(dataset))
    factory.make_study(dataset, status="DRAFT")
    factory.make_run(dataset, endpoint=factory.make_endpoint())
    AnnotatorProfile.objects.create(user=factory.make_user())
    for source in ("MANAGER", "DATASET"):
        GoldLabel.objects.create(comparison=comparison, verdict="A", source=source)
    AuthToken.objects.create(user=factory.make_user())
    AccessAttempt.objects.create(username="x", failures_since_start=1)


def deleted_by(client, address):
    """Where deleting a row leads, or what it leaves."""
    answer = client.get(address)
    if answer.status_code == 200:
        answer = client.post(address, {"post": "yes"})
    return answer.status_code, answer.headers.get("Location", "")


@pytest.mark.parametrize("role", ["ADMIN", "MANAGER"])
def test_the_console_deletes_what_the_pages_do_and_nothing_that_must_fail(client, rf, role):
    one_row_of_each()
    request = rf.get("/")
    request.user = factory.make_user(role=role)
    client.force_login(request.user)
    found = {}
    for model, admin in site._registry.items():
        named = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        if not admin.has_view_permission(request):
            continue
        page = client.get(reverse(f"{named}_changelist")).content.decode()
        held = "delete_selected" in page
        assert held == (model._meta.app_label in {"knox", "axes"} and model.objects.exists()), model
        for row in admin.get_queryset(request):
            page = client.get(reverse(f"{named}_change", args=[row.pk])).content.decode()
            assert "-DELETE" not in page, model
            if not admin.has_delete_permission(request, row):
                continue
            status, place = deleted_by(client, reverse(f"{named}_delete", args=[row.pk]))
            assert status == 302
            found.setdefault(model._meta.model_name, []).append(place)
            if model._meta.app_label == "annotation":
                assert 'class="danger"' in client.get(place.partition("#")[0]).content.decode()
    dataset = Dataset.objects.get(studies__isnull=False, studies__status="OPEN")
    draft = Study.objects.get(status="DRAFT")
    gold = GoldLabel.objects.get(source="MANAGER")
    assert found.pop("study") == [f"/studies/{draft.slug}/"]
    assert found.pop("goldlabel") == [f"/gold/comparison/{gold.comparison_id}/"]
    assert f"/datasets/{dataset.slug}/#delete" in found.pop("dataset")
    assert set(found) <= {"authtoken", "accessattempt"}


def test_a_dataset_that_was_deleted_is_not_deleted_again(client):
    client.force_login(factory.make_user(role="MANAGER"))
    dataset = factory.make_dataset(archived_at=timezone.now())
    assert client.get(f"/admin/annotation/dataset/{dataset.pk}/delete/").status_code == 403
