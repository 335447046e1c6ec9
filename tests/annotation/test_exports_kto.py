"""Ratings of replies as good or bad."""

from __future__ import annotations

import json

import pytest
from django.utils import timezone

from annotation.core.refusals import Refused
from annotation.exports import KTO, ExportFormat
from annotation.exports.kto import count_undecided, has_marked, marked_replies
from annotation.models import Dataset, SatisfactionLabel
from judging.services.recorded import import_any
from tests.annotation.records import import_rows, rated
from tests.factory import make_study, make_user

pytestmark = pytest.mark.django_db


def reply(score, text="A"):
    reason = {"reason": "OTHER"} if score <= 3 else {}
    rating = {"annotator": "User_1", "score": score, **reason}
    return {"model": "m", "text": text, "original": True, "satisfaction": [rating]}


@pytest.fixture
def dataset(tmp_path):
    turns = [
        {"user": f"q{score}", "responses": [reply(score, f"a{score}")]} for score in range(1, 6)
    ]
    import_rows(tmp_path, rated(turns=turns, system_prompt="Be brief."))
    return Dataset.objects.get()


def rows_of(export, dataset):
    text = "".join(export.blocks(dataset, ExportFormat.JSONL))
    return [json.loads(line) for line in text.splitlines()]


def labels(export, dataset):
    return {row["score"]: row["label"] for row in rows_of(export, dataset)}


def test_ratings_are_good_bad_or_left_out(dataset):
    assert labels(KTO, dataset) == {1: False, 2: False, 4: True, 5: True}
    assert (count_undecided(dataset), has_marked(dataset)) == (1, True)
    assert labels(marked_replies(3), dataset) == {1: False, 2: False, 3: True, 4: True, 5: True}


def test_a_row_has_the_dialogue_as_its_prompt(dataset):
    second = rows_of(KTO, dataset)[1]
    assert second == {
        "prompt": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "q1"},
            {"role": "assistant", "content": "a1"},
            {"role": "user", "content": "q2"},
        ],
        "completion": [{"role": "assistant", "content": "a2"}],
        "label": False,
        "score": 2,
        "good_from": 4,
        "bad_to": 2,
        "annotator": "User_1",
        "model": "m",
        "variant": "",
        "scenario": "s",
        "session": "k",
        "turn": 2,
    }


def test_a_person_counts_with_the_last_rating(dataset):
    first = SatisfactionLabel.objects.order_by("pk").first()
    SatisfactionLabel.objects.create(
        response=first.response, annotator=first.annotator, score=5, study=make_study(dataset)
    )
    assert labels(KTO, dataset)[5] is True
    assert 1 not in labels(KTO, dataset)


def test_it_goes_in_again(dataset, tmp_path):
    path = tmp_path / "kto.jsonl"
    path.write_text("".join(KTO.blocks(dataset, ExportFormat.JSONL)), "utf-8")
    report = import_any(path=path, dataset_slug="again", now=timezone.now())
    assert (report.format, report.faults) == ("kto", ())
    again = Dataset.objects.get(slug="again")
    assert sorted(row["label"] for row in rows_of(KTO, again)) == [False, False, True, True]


def test_who_rated_nothing_gets_a_sentence_and_no_file(tmp_path, client):
    import_rows(tmp_path, rated(turns=[{"user": "q", "responses": [reply(3)]}]))
    dataset = Dataset.objects.get()
    with pytest.raises(Refused) as refused:
        KTO.check(dataset)
    assert refused.value.code == "export:no-marked"
    address = "/datasets/data/export/kto.jsonl"
    assert client.get(address).status_code == 302
    client.force_login(make_user(role="VIEWER"))
    answer = client.get(address)
    assert answer.status_code == 409
    assert "so there is no file" in answer.content.decode()
    assert "kto.jsonl" not in client.get("/datasets/data/").content.decode()
    assert client.get(f"{address}?threshold=3").status_code == 200
    assert client.get(f"{address}?threshold=9").status_code == 422
    assert client.post(address).status_code == 405


def test_the_page_offers_it_and_says_what_is_left_out(dataset, client):
    client.force_login(make_user(role="VIEWER"))
    page = client.get("/datasets/data/").content.decode()
    assert "/datasets/data/export/kto.jsonl" in page
    assert "KTO leaves out 1 rating of 3." in page
    answer = client.get("/datasets/data/export/kto.excel")
    assert answer.headers["Content-Disposition"].endswith('"data-kto.csv"')
    assert b"".join(answer.streaming_content).startswith("\ufeffprompt".encode())


def test_annotators_do_not_get_it(dataset, client):
    client.force_login(make_user())
    assert client.get("/datasets/data/export/kto.jsonl").status_code == 404
