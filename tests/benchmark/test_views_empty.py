"""Every page of figures of a dataset without labels says so; none is missing or fails."""

from __future__ import annotations

import pytest

from tests.benchmark.stage import Stage
from tests.factory import make_dataset, make_user
from tests.markup import one_line

pytestmark = pytest.mark.django_db

PAGES = (
    "/trust/",
    "/trust/judges/",
    "/trust/gold/",
    "/trust/people/",
    "/trust/disagreements/",
    "/trust/ablations/",
    "/trust/ablations/new/",
    "/trust/satisfaction/",
    "/trust/satisfaction/new/",
    "/trust/satisfaction/runs/",
    "/leaderboard/",
    "/leaderboard/pairs/",
    "/leaderboard/annotators/",
    "/leaderboard/grades/",
    "/leaderboard/satisfaction/",
    "/leaderboard/replays/",
    "/leaderboard/replays/new/",
    "/snapshots/",
    "/agreement/",
    "/adjudication/",
    "/benchmarks/",
    "/benchmarks/new/",
)


@pytest.mark.parametrize("role", ["MANAGER", "VIEWER"])
@pytest.mark.parametrize("others", [False, True])
@pytest.mark.parametrize("filled", [False, True])
def test_no_page_of_a_dataset_without_labels_is_missing(client, role, others, filled):
    if filled:
        Stage.make(slug="empty", name="Empty")  # comparisons that nobody labelled
    else:
        make_dataset(slug="empty", name="Empty")
    if others:
        stage = Stage.make(size=12)
        ann = stage.rater("ann")
        stage.label(ann, "AB" * 6)
        stage.tested(ann, stage.distilled(ann), base="A" * 12, selected="AB" * 6)
    client.force_login(make_user(role=role))
    found = {}
    for page in PAGES:
        for address in (page, f"{page}?dataset=empty"):
            answer = client.get(address)
            if answer.status_code != 200:
                found[address] = answer.status_code
    if role == "VIEWER":  # who starts nothing
        found = {each: code for each, code in found.items() if code != 403}
    assert found == {}


def test_agreement_without_labels_leads_on(client):
    make_dataset(slug="empty", name="Empty")
    client.force_login(make_user(role="MANAGER"))
    page = one_line(client.get("/agreement/?dataset=empty"))
    assert "No labels in this dataset yet" in page
    assert 'href="/studies/new/">New study' in page
    assert "Export CSV" not in page
    assert "No answers yet" in one_line(client.get("/adjudication/?dataset=empty"))
    assert client.get("/agreement/?dataset=none").status_code == 404
    assert client.get("/adjudication/?dataset=none").status_code == 404
