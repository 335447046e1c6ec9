from __future__ import annotations

import csv
import io

import pytest

from benchmark.services.satisfaction_evaluation import evaluate_satisfaction
from tests.benchmark.services.test_satisfaction_evaluation import make_rated_dataset
from tests.factory import make_user

pytestmark = pytest.mark.django_db

PAGE, FILE = "/trust/satisfaction/", "/trust/satisfaction.csv"


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


@pytest.fixture
def report():
    train = make_rated_dataset("train", users=("cid",))
    test = make_rated_dataset("rated")
    names = ["history_mean", "nearest_3", "learned"]
    return evaluate_satisfaction(train=train, test=test, evaluators=names, draws=20, seed=7)


def text(answer):
    return " ".join(answer.content.decode().split())


def test_strangers_sign_in_first(client):
    for address in (PAGE, FILE):
        answer = client.get(address)
        assert (answer.status_code, answer.url) == (302, f"/sign-in/?next={address}")


def test_annotators_stay_blind(client):
    client.force_login(make_user(role="ANNOTATOR"))
    assert [client.get(address).status_code for address in (PAGE, FILE)] == [403, 403]


def test_reports_are_only_read(viewer):
    assert [viewer.post(address).status_code for address in (PAGE, FILE)] == [405, 405]


def test_without_a_report_the_page_says_how_to_make_one(viewer):
    answer = viewer.get(PAGE)
    assert "Nothing was compared yet" in text(answer)
    assert "User-memory evaluator" in text(answer)
    assert viewer.get(FILE).content.decode().strip() == ""


def test_the_newest_report_stands_beside_the_paper(viewer, report, django_assert_num_queries):
    with django_assert_num_queries(4):  # session, user, reports, the newest one
        answer = viewer.get(PAGE)
    shown = text(answer)
    assert "the turns of rated, trained on train" in shown
    assert '<th>nearest_3</th><td>history</td><td class="n">24</td>' in shown
    assert "20 draws, seed 7" in shown
    assert "Left out, learned: training needs 4 users" in shown
    assert '<th>User-memory evaluator</th><td class="n">0.36</td>' in shown


def test_an_older_report_by_its_number(viewer, report):
    train = make_rated_dataset("other", users=("eve",))
    newer = evaluate_satisfaction(train=train, test=train, evaluators=["global_mean"], draws=0)
    shown = text(viewer.get(PAGE))
    assert f"Report {newer.report_id}: the turns of other" in shown
    assert "1 user rated in both datasets" in shown
    assert "nearest_3" in text(viewer.get(f"{PAGE}?report={report.report_id}"))


@pytest.mark.parametrize("number", ["99999", "x"])
def test_an_unknown_report_is_not_found(viewer, report, number):
    assert viewer.get(f"{PAGE}?report={number}").status_code == 404


def test_the_file_has_every_figure_with_its_interval(viewer, report):
    answer = viewer.get(FILE)
    assert answer["Content-Disposition"] == 'attachment; filename="satisfaction.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [row["evaluator"] for row in rows] == ["history_mean", "nearest_3"]
    assert float(rows[0]["mae"]) == pytest.approx(20 / 24)
    assert float(rows[0]["mae_low"]) <= 20 / 24 <= float(rows[0]["mae_high"])
    assert rows[0]["within_user_pearson_expected"] == ""
