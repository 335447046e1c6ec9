"""What a refusal becomes where no view says more: a page, a sentence, an object of the API."""

from __future__ import annotations

import pytest
from django.test import RequestFactory
from rest_framework.test import APIRequestFactory

from annotation.core.refusals import Refused
from sensejudge_site import api_errors
from sensejudge_site.refusals import RefusalPages

REFUSED = Refused("study:status")


def answer(error, **headers):
    request = RequestFactory().get("/anywhere/", headers=headers)
    return RefusalPages(lambda _request: None).process_exception(request, error)


def test_a_page_tells_the_sentence_with_the_status():
    page = answer(REFUSED, accept="text/html")
    assert page.status_code == 409
    assert "The study cannot change to this status" in page.content.decode()


def test_a_script_gets_the_sentence_alone():
    plain = answer(REFUSED, accept="application/json")
    assert plain.status_code == 409
    assert plain["Content-Type"] == "text/plain; charset=utf-8"
    assert plain.content.decode() == REFUSED.text


def test_what_does_not_exist_has_the_page_of_any_unknown_address():
    assert answer(Refused("dataset:unknown")).status_code == 404


@pytest.mark.parametrize(
    ("code", "query"),
    [
        ("benchmark:unknown-choice", "run=999999"),
        ("adjudication:unknown-queue", "kind=abc"),
        ("dataset:unknown", "dataset=abc"),
    ],
)
def test_a_choice_that_is_not_there_leads_to_the_page_without_it(code, query):
    error = Refused(code)
    request = RequestFactory().get(f"/trust/?{query}")
    page = RefusalPages(lambda _request: None).process_exception(request, error)
    assert page.status_code == 404
    told = page.content.decode()
    assert (
        "A number or name in this address does not exist, or you do not have access to it." in told
    )
    assert '<a class="button primary" href="/trust/">' in told
    assert "without filters" not in answer(error).content.decode()
    beside = RequestFactory().get("/datasets/nowhere/?page=2")
    told = RefusalPages(lambda _request: None).process_exception(beside, Refused("dataset:unknown"))
    assert "without filters" not in told.content.decode()


def test_other_errors_are_left_alone():
    assert answer(ValueError("a fault of ours")) is None


def test_the_api_answers_with_the_code():
    context = {"request": APIRequestFactory().get("/api/v1/labels/"), "view": None}
    response = api_errors.handle(Refused("dataset:unknown", "no dataset x"), context)
    assert response.status_code == 404
    assert response.data.pop("message").startswith("The dataset")
    assert response.data == {"code": "dataset:unknown", "detail": "no dataset x", "fields": {}}


@pytest.fixture(autouse=True)
def _tables(db):
    """The page asks who is signed in."""
