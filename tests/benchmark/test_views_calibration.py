from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from fractions import Fraction
from math import ceil

import pytest
from django.conf import settings

from annotation.exports import SATISFACTION, ExportFormat
from benchmark.core.calibrated import Recalibration
from judging.core.calibration import Calibration
from judging.core.rules import Level, SatisfactionSettings, Variant
from judging.exports.satisfaction import SATISFACTION_JUDGMENTS
from judging.services.foreground import run_to_end
from tests.benchmark.services.test_satisfaction_evaluation import make_rated_dataset
from tests.factory import make_dataset, make_run, make_user
from tests.judging.ratings import make_ratings
from tests.judging.study import start_satisfaction_run
from tests.markup import tight

pytestmark = pytest.mark.django_db


@pytest.fixture
def run():
    dataset = make_rated_dataset("rated")
    return run_to_end(start_satisfaction_run(dataset=dataset, judge="lexical").pk)


@pytest.fixture
def viewer(client):
    client.force_login(make_user(role="VIEWER"))
    return client


def address(run):
    return f"/trust/calibration/{run.pk}/"


def test_strangers_sign_in_first(client, run):
    assert client.get(address(run)).url == f"/sign-in/?next={address(run)}"


def test_annotators_stay_blind(client, run):
    client.force_login(make_user(role="ANNOTATOR"))
    assert client.get(address(run)).status_code == 403


def test_it_is_only_read(viewer, run):
    assert viewer.post(address(run)).status_code == 405


def test_distributions_before_and_after(viewer, run, django_assert_max_num_queries):
    with django_assert_max_num_queries(12):
        shown = tight(viewer.get(address(run)))
    # Ann states 2 3 4 4 5 5 in each of two scenarios, bob one less.
    turns = f"/runs/{run.pk}/turns/"
    stated = "".join(
        f'<td class="n"><a href="{turns}?stated={level}">{n}</a></td>'
        for level, n in enumerate((2, 4, 6, 8, 4), start=1)
    )
    assert f"<tr><th>User scores</th>{stated}</tr>" in shown
    assert "All scores were calibrated." in shown
    assert f'<a href="/runs/{run.pk}/turns/?user=' in shown


def test_a_short_history_is_told(viewer):
    dataset = make_rated_dataset("short", users=("ann",))
    session = dataset.sessions.first()
    for turn in list(session.turns.all())[4:]:
        turn.responses.get().labels.all().delete()
    run = run_to_end(start_satisfaction_run(dataset=dataset, judge="lexical").pk)
    shown = tight(viewer.get(address(run)))
    rows = f"/runs/{run.pk}/turns/?fallback=SHORT_HISTORY"
    told = "6 × raw score: fewer than five turns of history"
    assert f'<a href="{rows}">{told}</a>.' in shown
    told = viewer.get(rows).content.decode()
    assert told.count("not calibrated: little history") == 1 + 6  # the filter, and each row


def test_every_number_leads_to_as_many_turns(viewer, run):
    shown = viewer.get(address(run)).content.decode()
    links = re.findall(r'href="(/runs/\d+/turns/\?(?:stated|raw|calibrated)=\d)">(\d+)<', shown)
    assert len(links) > 8
    for rows, n in links:
        assert viewer.get(rows).context["listed"].page.paginator.count == int(n), rows


def test_a_run_without_calibration_says_so(viewer):
    asked = SatisfactionSettings(calibration=Calibration.RAW)
    dataset = make_rated_dataset("raw")
    started = start_satisfaction_run(dataset=dataset, judge="lexical", settings=asked)
    shown = tight(viewer.get(address(run_to_end(started.pk))))
    assert "This run is not calibrated." in shown
    assert "All scores were calibrated." not in shown


def test_the_runs_own_method_stands_among_the_others(viewer, run):
    page = viewer.get(address(run))
    found = page.context["found"]
    own = next(one for one in found.methods if one.method == found.method)
    finals = [level * n for level, n in enumerate(found.histograms.calibrated, start=1)]
    assert own.mean == pytest.approx(sum(finals) / found.turns)
    assert tight(page).count('<span class="tag">this run</span>') == 1
    assert "as in the paper" in tight(page)


@pytest.mark.parametrize("level", Level)
def test_without_memories_histories_are_those_of_the_labels(viewer, level):
    dataset = make_ratings(people=2, turns=6, sessions=level is Level.SESSION)
    asked = SatisfactionSettings(variant=Variant.NO_MEMORY, level=level)
    started = start_satisfaction_run(dataset=dataset, judge="lexical", settings=asked)
    found = viewer.get(address(run_to_end(started.pk))).context["found"]
    own = next(one for one in found.methods if one.method == found.method)
    finals = [level * n for level, n in enumerate(found.histograms.calibrated, start=1)]
    assert own.mean == pytest.approx(sum(finals) / found.turns)


def test_the_figures_by_hand_from_exported_rows(viewer, run):
    """Counts, means and reliability once more, from the two exports alone."""
    dataset = run.dataset
    told = json_rows(SATISFACTION, dataset)
    stated = {(row["annotator"], row["session"], row["turn"]): row["score"] for row in told}
    judged = json_rows(SATISFACTION_JUDGMENTS, dataset)
    pairs = [
        (stated[row["annotator"], row["session"], row["turn"]], row["score"], row["calibrated"])
        for row in judged
    ]
    page = viewer.get(address(run)).context["found"]
    for column, place in (("stated", 0), ("raw", 1), ("calibrated", 2)):
        counts = Counter(pair[place] for pair in pairs)
        assert getattr(page.histograms, column) == tuple(counts[level] for level in range(1, 6))
    for points, place in ((page.before, 1), (page.after, 2)):
        for point in points:
            said = [pair[0] for pair in pairs if pair[place] == point.predicted]
            assert (point.n, point.stated) == (len(said), pytest.approx(sum(said) / len(said)))
    # Each block by the definition: the smallest s whose share of the history reaches (L + E/2)/n.
    for annotator, scenario in {(row["annotator"], row["scenario"]) for row in judged}:
        own = [row for row in told if row["annotator"] == annotator]
        history = sorted(row["score"] for row in own if row["scenario"] != scenario)
        block = [
            row for row in judged if (row["annotator"], row["scenario"]) == (annotator, scenario)
        ]
        for row in block:
            below = sum(other["score"] < row["score"] for other in block)
            equal = sum(other["score"] == row["score"] for other in block)
            reach = Fraction(2 * below + equal, 2 * len(block)) * len(history)
            assert row["calibrated"] == history[ceil(reach) - 1]


@pytest.mark.parametrize(
    ("table", "columns", "rows"),
    [
        ("distributions", ["scores", "score", "n"], 15),
        ("reliability", ["scores", "predicted", "stated", "n"], None),
        (
            "methods",
            ["method", "pearson", "qwk", "f1_dsat", "mae", "mean", "n"],
            len(Recalibration),
        ),
        ("users", ["user", "stated", "raw", "calibrated", "n"], 2),
    ],
)
def test_every_table_is_a_file(viewer, run, table, columns, rows):
    file = f"/trust/calibration/{run.pk}.csv?table={table}"
    assert file in viewer.get(address(run)).content.decode()
    answer = viewer.get(file)
    name = f"calibration-{run.pk}-{table}.csv"
    assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
    found = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert list(found[0])[: len(columns)] == columns
    assert rows in {None, len(found)}
    said = ("dataset", "judge", "run", "calibration", "seed", "version")
    assert {tuple(row[name] for name in said) for row in found} == {
        ("rated", "lexical", str(run.pk), "cdf", "", settings.APP_VERSION)
    }
    if table in {"distributions", "reliability"}:
        assert sum(int(row["n"]) for row in found if row["scores"] == "raw") == 24
    if table == "users":
        assert [row["user"] for row in found] == ["ann", "bob"]


def test_files_are_for_those_who_may_see_the_page(client, run):
    file = f"/trust/calibration/{run.pk}.csv"
    assert client.get(file).status_code == 302
    client.force_login(make_user(role="ANNOTATOR"))
    assert client.get(file).status_code == 403


def json_rows(export, dataset):
    text = "".join(export.blocks(dataset, ExportFormat.JSONL))
    return [json.loads(line) for line in text.splitlines()]


def test_before_anything_is_scored_the_page_says_so(viewer):
    run = make_run(make_dataset(), kind="SATISFACTION")
    assert "No scores yet" in tight(viewer.get(address(run)))


def test_another_kind_of_run_has_no_such_page(viewer):
    assert viewer.get(address(make_run())).status_code == 404
