from __future__ import annotations

import json

import pytest

from benchmark.exports import PairChoice
from judging.core.formats.pairs import PairSource
from tests.benchmark.test_exports_pairs import judged, text_of
from tests.factory import make_user

pytestmark = pytest.mark.django_db

PAGE = "/datasets/study/preference-pairs/"
FILE = "/datasets/study/export/preference_pairs.jsonl"


@pytest.fixture
def viewer(client):
    judged()
    client.force_login(make_user(role="VIEWER"))
    return client


@pytest.mark.parametrize("address", [PAGE, FILE])
def test_only_those_who_see_everyone_read_pairs(client, address):
    judged()
    assert client.get(address).url == f"/sign-in/?next={address}"
    client.force_login(make_user(role="ANNOTATOR"))
    assert client.get(address).status_code == 403
    client.force_login(make_user(role="VIEWER"))
    assert client.get(address).status_code == 200
    assert client.post(address).status_code == 405
    assert client.get(address.replace("study", "none")).status_code == 404


def test_the_dataset_s_downloads_lead_to_the_choice(viewer):
    assert PAGE in viewer.get("/datasets/study/").content.decode()


def test_the_page_offers_everyone_with_verdicts_and_counts_rows(viewer):
    page = viewer.get(PAGE)
    field = page.context["form"].fields["verdicts"]
    offered = [name for group in field.choices[2:] for name, _label in group[1]]
    assert offered == [
        "annotator:ann",
        "annotator:bob",
        "judge:lexical",
        "judge:lexical for ann",
        "corrected:lexical",
        "corrected:lexical for ann",
    ]
    # ann and bob: A, T; B, B; B alone.
    assert page.context["counts"] == (2, 1)
    assert "their majority is a tie" in page.content.decode()
    assert f"{FILE}?verdicts=majority" in page.content.decode()
    empty = viewer.get(PAGE, {"verdicts": "corrected:lexical"}).content.decode()
    assert "No verdict with a winner" in empty
    assert FILE not in empty


@pytest.mark.parametrize(
    ("verdicts", "choice"),
    [
        (None, PairChoice()),
        ("", PairChoice()),
        ("labels", PairChoice(each_label=True)),
        ("annotator:bob", PairChoice(annotator="bob")),
        ("judge:lexical", PairChoice(PairSource.JUDGE, "lexical")),
        ("judge:lexical for ann", PairChoice(PairSource.JUDGE, "lexical", "ann")),
    ],
)
def test_the_file_has_the_chosen_verdicts(viewer, verdicts, choice):
    answer = viewer.get(FILE, {} if verdicts is None else {"verdicts": verdicts})
    assert b"".join(answer.streaming_content).decode() == text_of("study", choice=choice)
    name = 'attachment; filename="study-preference_pairs.jsonl"'
    assert answer["Content-Disposition"] == name


@pytest.mark.parametrize("address", [PAGE, FILE])
@pytest.mark.parametrize("verdicts", ["judge:nobody", "judge:", "annotator:eve", "else"])
def test_verdicts_that_are_not_there_are_not_found(viewer, address, verdicts):
    assert viewer.get(address, {"verdicts": verdicts}).status_code == 404


def test_the_columns_of_trainers_are_a_choice(viewer):
    page = viewer.get(PAGE, {"layout": "training"}).content.decode()
    assert f"{FILE}?verdicts=majority&amp;layout=training" in page
    assert "CSV for Excel" in page
    text = b"".join(viewer.get(FILE, {"layout": "training"}).streaming_content).decode()
    assert list(json.loads(text.splitlines()[0])) == ["prompt", "chosen", "rejected", "margin"]
    assert viewer.get(FILE, {"layout": "nonsense"}).status_code == 404


def test_without_a_winner_there_is_a_sentence_and_no_file(viewer):
    answer = viewer.get(FILE, {"verdicts": "corrected:lexical"})
    assert answer.status_code == 409
    assert "No verdict of this choice has a winner" in answer.content.decode()
