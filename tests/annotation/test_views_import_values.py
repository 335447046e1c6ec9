"""What the values of a table mean, and rows with errors that are left out, on the import page."""

from __future__ import annotations

import pytest

from annotation.models import Dataset, PairwiseLabel
from tests.annotation.records import pair
from tests.annotation.test_views_import import ADDRESS, lines, send
from tests.factory import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


def test_values_that_are_not_known_are_given_their_meaning(manager):
    rows = ["一,甲,乙,李雷,左", "二,甲,乙,李雷,右", "三,甲,乙,李雷,没差", "四,甲,乙,李雷,?"]
    table = "\n".join(["问题,回答A,回答B,标注员,选择", *rows])
    page = send(manager, table.encode("gb18030"), name="表.csv")
    token = page.context["table"]["upload"].value()
    form = {"upload": token, "dataset": "data"}
    names = ("prompt", "text_a", "text_b", "annotator", "verdict")
    form |= {f"column-{place}": name for place, name in enumerate(names)}
    page = manager.post(ADDRESS, form)
    assert "What do the values mean?" in page.content.decode()
    found = {
        value: (count, field.value()) for _key, value, count, field in page.context["values"].rows()
    }
    assert found == {"左": (1, "A"), "右": (1, "B"), "没差": (1, ""), "?": (1, "")}
    assert not Dataset.objects.exists()
    names = {value: field.html_name for _key, value, _n, field in page.context["values"].rows()}
    chosen = {names["左"]: "A", names["右"]: "B-CLEARLY", names["没差"]: "TIE", names["?"]: ""}
    page = manager.post(ADDRESS, form | chosen)
    assert "This field is required." in page.content.decode()
    page = manager.post(ADDRESS, form | chosen | {names["?"]: "SKIP"})
    assert "Imported 4 rows (3 new)." in page.content.decode()
    assert list(PairwiseLabel.objects.order_by("pk").values_list("verdict", "strength")) == [
        ("A", None),
        ("B", 2),
        ("TIE", None),
    ]


def test_rows_with_errors_are_left_out_where_that_is_chosen(manager):
    content = lines(pair(), pair(prompt="q", verdict="C"))
    assert send(manager, content).status_code == 422
    page = send(manager, content, skip_errors="on")
    assert page.status_code == 200
    assert "1 row with errors was left out" in page.content.decode()
    assert PairwiseLabel.objects.count() == 1
