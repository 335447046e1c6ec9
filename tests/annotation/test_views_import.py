from __future__ import annotations

import gzip
import json
import os
import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from annotation.core.formats.detect import FORMATS
from annotation.core.pairing import PairingRules
from annotation.models import (
    AuditEvent,
    Comparison,
    Dataset,
    PairwiseLabel,
    SatisfactionLabel,
    Session,
)
from annotation.services.imports import comparisons, import_records
from annotation.services.imports.uploads import keep
from tests.annotation.records import pair, rated
from tests.factory import make_user
from tests.paths import ROOT
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
ADDRESS = "/datasets/import/"


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


def send(client, content: bytes, name="rows.jsonl", **more):
    form = {"format": "auto", "dataset": "data", **more}
    return client.post(ADDRESS, {**form, "file": SimpleUploadedFile(name, content)})


def lines(*rows):
    return "\n".join(json.dumps(row) for row in rows).encode()


@pytest.mark.parametrize("role", ["VIEWER", "ANNOTATOR"])
def test_only_managers_import(client, role):
    client.force_login(make_user(role=role))
    assert client.get(ADDRESS).status_code == 403
    assert send(client, lines(pair())).status_code == 403
    assert not Dataset.objects.exists()


def test_strangers_sign_in_first(client):
    assert client.get(ADDRESS).url == f"/sign-in/?next={ADDRESS}"
    assert send(client, lines(pair())).status_code == 302


def test_other_methods_are_refused(manager):
    assert manager.put(ADDRESS).status_code == 405


def test_a_forged_request_is_refused(client):
    from django.test import Client

    strict = Client(enforce_csrf_checks=True)
    strict.force_login(make_user(role="MANAGER"))
    assert send(strict, lines(pair())).status_code == 403


def test_the_page_offers_formats_and_knows_the_datasets(manager):
    Dataset.objects.create(slug="known", name="Known")
    page = manager.get(f"{ADDRESS}?dataset=known").content.decode()
    assert "PandaLM test set" in page
    assert all(f">{name}<" not in page for name in FORMATS)  # each has a name for people
    assert '<option value="known">' in page
    assert 'value="known"' in page


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_upload_is_imported_and_told(manager, pack):
    answer = send(manager, pack(lines(pair(), pair(prompt="q"))), name="../../etc/passwd")
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "Imported 2 rows (2 new)." in page
    assert 'href="/datasets/data/"' in page
    assert PairwiseLabel.objects.count() == 2
    assert AuditEvent.objects.get().actor is not None


def test_the_same_upload_again_changes_nothing(manager):
    send(manager, lines(pair()))
    assert "Nothing changed." in send(manager, lines(pair())).content.decode()


def test_a_dry_run_stores_nothing(manager):
    page = send(manager, lines(pair()), dry_run="on").content.decode()
    assert "Check passed: 1 valid row, 1 new. Nothing was imported." in page
    assert not Dataset.objects.exists()


def kept_in(page):
    return re.search(r'name="kept" value="([0-9a-f]{32})"', page.content.decode())


def test_a_file_is_chosen_once_and_imported_after_the_check(manager):
    checked = send(manager, lines(pair()), dry_run="on")
    assert "rows.jsonl is kept for the next step" in checked.content.decode()
    assert 'type="hidden" name="dry_run"' not in checked.content.decode()
    form = {"format": "auto", "dataset": "data", "kept": kept_in(checked)[1]}
    done = manager.post(ADDRESS, form)
    assert "Imported 1 row" in done.content.decode()
    assert not kept_in(done)
    again = manager.post(ADDRESS, form)
    assert (again.status_code, kept_in(again)) == (422, None)
    assert "This upload is no longer available." in again.content.decode()


def test_a_file_is_kept_while_its_dataset_is_named_anew_but_not_with_errors(manager):
    assert kept_in(send(manager, lines(pair()), dataset="import"))
    assert kept_in(send(manager, lines(pair()), dataset="a b"))
    assert not kept_in(send(manager, lines(pair(verdict="maybe"))))


def test_nobody_else_imports_a_kept_file(client, manager):
    kept = kept_in(send(manager, lines(pair()), dry_run="on"))[1]
    client.force_login(make_user(role="MANAGER"))
    assert client.post(ADDRESS, {"format": "auto", "dataset": "x", "kept": kept}).status_code == 422
    assert not Dataset.objects.exists()


@pytest.mark.parametrize(
    ("name", "labels"), [("pairs.csv", 3), ("ratings.csv", 2), ("conversations.jsonl", 2)]
)
def test_each_example_file_is_offered_and_has_no_error(manager, name, labels):
    assert f'download="{name}"' in manager.get(ADDRESS).content.decode()
    report = import_records(
        path=ROOT / "static/examples" / name, dataset_slug="example", now=timezone.now()
    )
    assert report.fault_count == 0
    assert PairwiseLabel.objects.count() + SatisfactionLabel.objects.count() == labels


def test_faults_are_listed_and_nothing_is_stored(manager):
    answer = send(manager, lines(pair(), pair(verdict="<b>maybe</b>", prompt="q")))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "1 error. Nothing was imported." in page
    assert "Expected one of A, B, TIE" in page
    assert "&lt;b&gt;maybe&lt;/b&gt;" in page
    assert not Dataset.objects.exists()


@pytest.mark.parametrize(
    ("content", "more", "said"),
    [
        (b"", {}, "This file has no rows. A table needs a header"),
        (b"{}", {}, "We could not recognise this file&#x27;s format. Choose it under"),
        (
            b'{"prompt": "p", "chosen": "c"}',
            {},
            "looks like RewardBench: chosen and rejected, but its rows have no rejected. Rename",
        ),
        (
            b'{"a": [{"text_a": 1, "text_b": 2}], "b": [{"text_a": 1, "text_b": 2}]}',
            {},
            "may be in any of these lists of the file: a, b. Save one",
        ),
        (
            b'prompt,response_a,response_b\n"never closed,a,b\n',
            {},
            "a quotation mark is not closed",
        ),
        (b"\x1f\x8b no gzip", {}, "could not read this file"),
        (b"{}", {"dataset": "import"}, "is used by a page of the site"),
        (b"{}", {"dataset": "a b"}, "valid"),
        (b"{}", {"format": "tsv"}, "Select a valid choice"),
    ],
)
def test_what_cannot_be_imported_is_said_at_its_field(manager, content, more, said):
    answer = send(manager, content, **more)
    assert answer.status_code == 422
    assert said in answer.content.decode()
    is_kept = content == b"{}" or "looks like" in said
    assert ("Another file (optional)" in answer.content.decode()) == is_kept


def test_a_file_must_be_chosen(manager):
    answer = manager.post(ADDRESS, {"format": "auto", "dataset": "data"})
    assert answer.status_code == 422
    assert "This field is required." in answer.content.decode()


def test_faults_are_told_in_the_reader_s_language(manager):
    file = SimpleUploadedFile("rows.jsonl", lines(pair(verdict="maybe")))
    form = {"format": "auto", "dataset": "data", "file": file}
    page = manager.post(ADDRESS, form, headers={"accept-language": "zh-CN"}).text
    assert "应为 A, B, TIE 之一" in page
    assert "Expected one of" not in page


def test_reference_answers_go_to_their_questions_whatever_the_upload_is_called(manager):
    row = {"model_id": "gpt-4", "choices": [{"index": 0, "turns": ["One.", "Two."]}]}
    content = lines(*({**row, "question_id": number} for number in range(101, 131)))
    answer = send(manager, content, name="gpt-4.jsonl", format="mtbench-answers")
    assert answer.status_code == 422
    assert "reference answers, not a model&#x27;s." in answer.content.decode()
    answer = send(manager, content, name="gpt-4.jsonl")
    assert answer.status_code == 422
    assert "Import this question first" in answer.content.decode()
    assert not Dataset.objects.exists()
    question = {"category": "math", "turns": ["1 + 1?", "And + 1?"], "reference": ["", "3"]}
    send(manager, lines(*({**question, "question_id": number} for number in range(81, 161))))
    for said in ("Imported 30 rows (30 new).", "Nothing changed."):
        assert said in send(manager, content, name="gpt-4.jsonl").content.decode()
    told = Session.objects.get(key="101").extra
    assert told == {"reference": ["", "3"], "reference:gpt-4": ["One.", "Two."]}
    assert "reference:gpt-4" not in Session.objects.get(key="81").extra
    other = content.replace(b"Two.", b"2.")
    assert "30 errors." in send(manager, other, name="gpt-4.jsonl").content.decode()


TABLE = """Question,Answer 1,Answer 2,Rater,Better
"How, then?",Like this.,Like that.,ann,Answer 1
Why?,Because.,<b>No</b> idea.,bob,tie
"""


@pytest.fixture(autouse=True)
def var(settings, tmp_path):
    settings.VAR_DIR = tmp_path


def token_in(page):
    return re.search(r'name="upload" value="([0-9a-f]{32})"', page)[1]


def chosen(token, *columns, **more):
    keys = {f"column-{place}": key for place, key in enumerate(columns)}
    return {"upload": token, "dataset": "data", **keys, **more}


COLUMNS = ("prompt", "text_a", "text_b", "annotator", "verdict")


@pytest.mark.parametrize("format_name", ["auto", "csv"])
def test_a_table_is_shown_before_it_is_imported_with_its_columns_guessed(
    manager, tmp_path, format_name
):
    answer = send(manager, TABLE.encode(), name="../my pairs.csv", format=format_name)
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "What is in each column?" in page
    assert "my pairs.csv" in page
    assert "&lt;b&gt;No&lt;/b&gt; idea." in page
    for place, key in enumerate(COLUMNS):
        select = re.search(rf'<select name="column-{place}".*?</select>', page, re.DOTALL)[0]
        assert f'<option value="{key}" selected>' in select
    assert not Dataset.objects.exists()
    [kept] = (tmp_path / "uploads").iterdir()
    assert [file.name for file in kept.iterdir()] == ["my pairs.csv"]
    page = manager.post(ADDRESS, chosen(token_in(page), *COLUMNS)).content.decode()
    assert "Imported 2 rows (2 new)." in page
    assert PairwiseLabel.objects.count() == 2
    assert list((tmp_path / "uploads").iterdir()) == []


def test_colleagues_have_a_column_of_verdicts_each(manager):
    table = b"Question,Answer 1,Answer 2,Ann,verdict:Bob\nWhy?,a,b,1,tie\n"
    columns = ("prompt", "text_a", "text_b", "verdict", "verdict")
    page = send(manager, table).content.decode()
    assert page.count('<option value="verdict" selected>') == 1  # Ann may be anything
    assert manager.post(ADDRESS, chosen(token_in(page), *columns)).status_code == 200
    labels = PairwiseLabel.objects.order_by("annotator__display_name")
    assert list(labels.values_list("annotator__display_name", "verdict")) == [
        ("Ann", "A"),
        ("Bob", "TIE"),
    ]
    page = send(manager, table.replace(b"verdict:Bob", b"Ann")).content.decode()
    answer = manager.post(ADDRESS, chosen(token_in(page), *columns))
    assert "Columns of several annotators need different headers." in answer.content.decode()


def test_a_table_can_be_checked_first_and_its_errors_are_listed(manager):
    token = token_in(send(manager, TABLE.encode()).content.decode())
    answer = manager.post(ADDRESS, chosen(token, *COLUMNS, dry_run="on"))
    assert "Check passed: 2 valid rows, 2 new." in answer.content.decode()
    swapped = ("prompt", "text_a", "text_b", "verdict", "annotator")
    answer = manager.post(ADDRESS, chosen(token, *swapped))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "What do the values mean?" in page
    assert '<option value="verdict" selected>' in page  # what was chosen is still chosen
    assert not Dataset.objects.exists()
    manager.post(ADDRESS, chosen(token, *COLUMNS))
    assert PairwiseLabel.objects.count() == 2


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (("prompt", "", "", "", ""), "Choose a column for: Response A, Response B."),
        (("prompt", "response", "", "", ""), "Choose a column for: Score (1–5)."),
        (("prompt", "text_a", "text_b", "prompt", ""), "Already chosen for another column."),
        (("prompt", "text_a", "text_b", "nonsense", ""), "Select a valid choice."),
        (
            ("prompt", "text_a", "text_b", "", "score"),
            "A table of pairs has no such column",
        ),
    ],
)
def test_what_is_wrong_with_the_choice_of_columns_is_said(manager, columns, said):
    token = token_in(send(manager, TABLE.encode()).content.decode())
    answer = manager.post(ADDRESS, chosen(token, *columns))
    assert answer.status_code == 422
    assert said in answer.content.decode()
    assert not Dataset.objects.exists()


def test_a_table_may_have_columns_without_a_header(manager):
    page = send(manager, b"Q,,A,B\nq,1,x,y\n").content.decode()
    assert "Column 2" in page


def test_a_table_that_nobody_may_read_or_that_is_gone_is_sent_again(client, manager):
    token = token_in(send(manager, TABLE.encode()).content.decode())
    client.force_login(make_user(role="MANAGER"))
    for wrong in (token, "../../../etc", ""):
        answer = client.post(ADDRESS, chosen(wrong, *COLUMNS))
        assert answer.status_code == 422
        assert (
            "This upload is no longer available. Choose the file again." in answer.content.decode()
        )
        assert 'type="file"' in answer.content.decode()
    assert not Dataset.objects.exists()


def test_a_name_that_the_site_uses_is_refused_when_the_columns_are_told(manager):
    token = token_in(send(manager, TABLE.encode()).content.decode())
    answer = manager.post(ADDRESS, {**chosen(token, *COLUMNS), "dataset": "import"})
    assert answer.status_code == 422
    assert "is used by a page of the site" in answer.content.decode()


def test_uploads_that_nobody_came_back_for_are_deleted(manager, tmp_path):
    send(manager, TABLE.encode())
    [old] = (tmp_path / "uploads").iterdir()
    os.utime(old, (0, 0))
    send(manager, TABLE.encode())
    assert old not in (tmp_path / "uploads").iterdir()
    assert len(list((tmp_path / "uploads").iterdir())) == 1


def test_of_an_owners_older_uploads_three_are_kept(client, manager, tmp_path):
    uploads = tmp_path / "uploads"
    send(manager, TABLE.encode())
    [first] = uploads.iterdir()
    os.utime(first, (first.stat().st_mtime - 60,) * 2)
    for _again in range(4):
        send(manager, TABLE.encode())
    assert len(list(uploads.iterdir())) == 4
    assert not first.exists()
    client.force_login(make_user(role="MANAGER"))
    send(client, TABLE.encode())
    assert len(list(uploads.iterdir())) == 5


def test_a_file_keeps_what_may_stand_in_an_annotators_name(manager, tmp_path):
    send(manager, TABLE.encode(), name="ann.b@c+d: e-f (1)&<g.csv")
    [kept] = (tmp_path / "uploads").glob("*/*")
    assert kept.name == "ann.b@c+d: e-f (1)__g.csv"


def test_an_import_that_breaks_leaves_no_upload(manager, tmp_path, monkeypatch):
    token = token_in(send(manager, TABLE.encode()).content.decode())

    def broken(*_args, **_more):
        raise ZeroDivisionError

    monkeypatch.setattr("annotation.services.imports.run.open_records", broken)
    with pytest.raises(ZeroDivisionError):
        manager.post(ADDRESS, chosen(token, *COLUMNS))
    with pytest.raises(ZeroDivisionError):
        send(manager, lines(pair()))
    monkeypatch.setattr(SimpleUploadedFile, "chunks", broken)
    with pytest.raises(ZeroDivisionError):
        keep(SimpleUploadedFile("a", b"b"), make_user())
    assert list((tmp_path / "uploads").iterdir()) == []


@pytest.mark.parametrize("content", [b"a,b,c\r1,2,3", b"user_intent,satisfaction,q\r1,2,3\r"])
@pytest.mark.parametrize("format_name", ["auto", "csv"])
def test_a_table_of_old_macs_is_refused_with_what_to_do(manager, content, format_name):
    answer = send(manager, content, format=format_name)
    assert answer.status_code == 422
    assert "We could not read the line endings of this file." in answer.content.decode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PK\x03\x04", "This is a zip file or a spreadsheet of another kind."),
        ("質問,答え,良い\nあ,い,う\n".encode("shift-jis"), "This file is not in UTF-8."),
        (b"a,b,c\n", "This file has no rows."),
    ],
)
def test_a_file_that_is_no_table_yet_is_refused_with_what_to_do(manager, content, said):
    answer = send(manager, content, format="csv")
    assert answer.status_code == 422
    assert said in answer.content.decode()


def test_next_steps_follow_from_what_the_dataset_holds(manager):
    page = send(manager, lines(pair())).content.decode()
    assert "Next steps" in page
    assert re.search(r'href="/runs/new/\?dataset=data"\s*>Learn preferences from the labels', page)
    assert 'href="/leaderboard/?dataset=data"' in page
    assert "Compare judges" not in page
    page = send(manager, lines(pair(annotator=..., verdict=..., prompt="x"))).content.decode()
    assert 'href="/studies/new/?dataset=data"' in page
    page = send(manager, lines(rated()), dataset="rated").content.decode()
    assert "Score the rated replies" in page
    assert "Next steps" not in send(manager, lines(pair()), dry_run="on").content.decode()


def outputs(generator, *texts):
    return [
        {"instruction": f"q{place}", "output": text, "generator": generator}
        for place, text in enumerate(texts)
    ]


def compare(client):
    """All pairs of models, as the page of plans sends them."""
    fields = {"kind": "ALL", "cap": 1, "seed": 42, "judge": "lexical"}
    return client.post("/datasets/data/pairing/", fields, follow=True)


def test_responses_of_several_models_become_comparisons(manager):
    send(manager, lines(*outputs("m2", "a", "b"), *outputs("m1", "c"), *outputs("m3", "d")))
    page = send(manager, lines(*outputs("m2", "a", "b"))).content.decode()
    assert "Create comparisons of the responses" in page
    page = manager.get("/datasets/data/").content.decode()
    assert 'href="/datasets/data/pairing/">Plan comparisons' in page
    for said in ("Created 3 comparisons.", "Created 0 comparisons."):
        assert said in compare(manager).content.decode()
    found = Comparison.objects.order_by("position")
    assert list(found.values_list("key", "response_a__model", "response_b__model", "position")) == [
        ("m1 | m2", "m1", "m2", 0),
        ("m1 | m3", "m1", "m3", 1),
        ("m2 | m3", "m2", "m3", 2),
    ]
    assert AuditEvent.objects.filter(action="dataset.compared").count() == 1
    page = send(manager, lines(*outputs("m2", "a", "b"))).content.decode()
    assert "Create a labelling study" in page
    assert "Create comparisons of the responses" not in page


def test_what_is_compared_already_is_not_compared_again(manager):
    send(manager, lines(pair()))
    compare(manager)
    assert Comparison.objects.count() == 1


def test_too_many_comparisons_are_refused_and_none_is_created(manager, monkeypatch):
    monkeypatch.setattr(comparisons, "MOST_AT_ONCE", 2)
    send(manager, lines(*outputs("m1", "a"), *outputs("m2", "b"), *outputs("m3", "c")))
    page = compare(manager).content.decode()
    assert "so none was created. Choose a sample or fewer models." in page
    assert not Comparison.objects.exists()
    monkeypatch.setattr(comparisons, "MOST_AT_ONCE", 3)
    compare(manager)
    assert Comparison.objects.count() == 3


def test_a_dataset_that_is_gone_is_not_compared():
    user, rules = make_user(role="MANAGER"), PairingRules()
    choose = comparisons.chosen_by(rules)
    with refuses("dataset:unknown"):
        comparisons.plan_comparisons(Dataset(pk=1, slug="gone"), rules, choose, by=user)
