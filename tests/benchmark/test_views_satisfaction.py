from __future__ import annotations

import csv
import io
from dataclasses import asdict
from html import unescape

import pytest

from annotation.core.intervals import Interval
from annotation.models import SatisfactionLabel
from benchmark.core.learning_curve import CURVE_METRICS, CurveFigure, CurveOn, CurvePoint
from benchmark.models import VerificationReport
from benchmark.queries.satisfaction import CURVE_KIND
from benchmark.services.satisfaction_report import stored_point
from judging.core.satisfaction_general import GeneralSettings
from judging.core.satisfaction_model import Settings
from judging.models import JudgeRun, LearnedModel, SatisfactionJudgment
from judging.services import learned
from judging.services.foreground import run_to_end
from judging.services.learned import learned_model
from tests.benchmark.evaluations import evaluate_satisfaction
from tests.benchmark.services.test_satisfaction_evaluation import make_rated_dataset
from tests.factory import make_endpoint, make_user
from tests.fake_llm import Act, FakeLlm
from tests.judging.study import start_satisfaction_run
from tests.markup import tight

pytestmark = pytest.mark.django_db

LINE = "/trust/satisfaction/evaluator/1/"
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


def test_strangers_sign_in_first(client):
    for address in (PAGE, FILE, LINE):
        answer = client.get(address)
        assert (answer.status_code, answer.url) == (302, f"/sign-in/?next={address}")


def test_annotators_stay_blind(client):
    client.force_login(make_user(role="ANNOTATOR"))
    assert [client.get(address).status_code for address in (PAGE, FILE, LINE)] == [403] * 3


def test_reports_are_only_read(viewer):
    assert [viewer.post(address).status_code for address in (PAGE, FILE, LINE)] == [405] * 3


def test_without_a_report_the_page_says_how_to_make_one(viewer):
    empty = tight(viewer.get(PAGE))
    assert "No ratings yet" in empty
    assert viewer.get(FILE).content.decode().strip() == ""
    make_rated_dataset("rated")
    rated = tight(viewer.get(PAGE))
    assert "No evaluation of rated yet" in rated
    assert "Ask a study manager to start an evaluation." in rated
    viewer.force_login(make_user(role="MANAGER"))
    asked = tight(viewer.get(PAGE))
    assert f'href="{NEW}?test=rated"' in asked
    assert "only runs over all rated turns" in asked
    assert '<option value="rated" selected>' in tight(viewer.get(f"{NEW}?test=rated"))
    for page in (empty, rated):  # nobody else's figures in their place
        assert "User-memory evaluator" not in page


def test_the_newest_report_by_line_and_by_user(viewer, report, django_assert_num_queries):
    # Session, user, reports, the newest one, datasets, runs, its curve, runs under way.
    with django_assert_num_queries(8):
        answer = viewer.get(PAGE)
    shown = tight(answer)
    assert "turns of rated, trained on train" in shown
    assert ">User&#x27;s 3 most similar turns</a></th><td>history</td>" in shown
    assert "Gain over the user's own mean" in unescape(shown)
    assert "published" not in shown  # no line of the kinds that the paper has
    assert '<th class="n">User&#x27;s own mean<span class="iv">' in shown
    own = report.rows[0].details.users[0]
    error, r = own.metrics["mae"].value, own.metrics["pearson"].value
    assert r is None
    assert (
        f'<th class="nowrap">ann</th><td class="n">12</td><td class="n">{own.stated:.2f}</td>'
        in (shown)
    )
    assert f'{error:.2f}<span class="iv">r –</span>' in shown
    assert "Left out: Learned evaluator." in shown
    assert "learned:too-few-ratings</span>: There are too few ratings to learn from." in shown
    assert "Too few users for intervals: about 8 more are needed." in shown
    assert "20 draws" not in shown


def test_turns_without_a_score_stand_with_why_and_what_to_do(viewer):
    test = make_rated_dataset("rated")
    with FakeLlm() as server:
        server.told["ann xxx"] = Act(text="I would rather not.")
        make_endpoint(name="fake", base_url=server.base_url)
        evaluate_satisfaction(train=test, test=test, evaluators=["fake", "history_mean"], draws=5)
    shown = tight(viewer.get(PAGE))
    assert '<a class="iv" href="#without">12 without a score</a>' in shown
    assert 'fake, 12 of 24 turns:<span class="mono">memory:unparseable</span>' in shown
    assert "Evaluate again with another memory builder, or without memories" in shown
    assert "Too few users for intervals: about 9 more are needed." in shown


def test_a_judge_that_failed_is_left_out_with_its_run(viewer):
    test = make_rated_dataset("rated")
    with FakeLlm() as server:
        server.told["write a memory with which"] = Act(text="I would rather not.")
        make_endpoint(name="fake", base_url=server.base_url)
        found = evaluate_satisfaction(
            train=test, test=test, evaluators=["fake", "history_mean"], draws=5
        )
    shown = tight(viewer.get(PAGE))
    assert "Left out: fake." in shown
    assert "memory:unparseable</span>: The reply is not a user memory." in shown
    assert f'href="/runs/{found.skipped[0].run}/"' in shown
    steps = tight(viewer.get(f"/runs/{found.run}/"))
    assert "memory:unparseable</span>: The reply is not a user memory." in steps
    failed = tight(viewer.get(f"/runs/{found.skipped[0].run}/"))
    assert "Memories that were not written" in failed
    assert "Then score again with another memory builder, or without memories." in failed
    assert failed.count("Not written") == 4


def test_a_report_of_before_codes_were_kept_has_its_sentence(viewer, report):
    settings = VerificationReport.objects.get(pk=report.chosen.id).settings
    kept = settings | {"skipped": ["learned: training needs 4 users"]}
    VerificationReport.objects.filter(pk=report.chosen.id).update(settings=kept)
    assert "Left out: learned: training needs 4 users." in tight(viewer.get(PAGE))


def test_an_older_report_by_its_number(viewer, report):
    train = make_rated_dataset("other", users=("eve",))
    newer = evaluate_satisfaction(train=train, test=train, evaluators=["global_mean"], draws=0)
    shown = tight(viewer.get(PAGE))
    assert f"Report {newer.chosen.id}: turns of other" in shown
    assert "1 user rated in both datasets" in shown
    assert "3 most similar turns" in tight(viewer.get(f"{PAGE}?report={report.chosen.id}"))


def test_behind_a_line_stand_scenarios_and_users(viewer, report, django_assert_num_queries):
    address = f"/trust/satisfaction/evaluator/2/?report={report.chosen.id}"
    with django_assert_num_queries(4):
        answer = viewer.get(address)
    shown = tight(answer)
    assert "User&#x27;s 3 most similar turns, history" in shown
    assert '<th>ann</th><td class="n">12</td><td class="n">3.83</td>' in shown
    assert "This evaluator predicts scores only." in shown


def test_a_judge_that_names_reasons_has_a_table_of_them(viewer):
    test = make_rated_dataset("rated")
    with FakeLlm() as server:
        make_endpoint(name="fake", base_url=server.base_url)
        evaluate_satisfaction(train=test, test=test, evaluators=["fake"], draws=5)
    shown = tight(viewer.get("/trust/satisfaction/evaluator/1/"))
    assert "of the predicted reasons match the user's own" in shown
    assert "reason not recorded" in shown
    rows = list(csv.DictReader(io.StringIO(viewer.get(f"{FILE}?table=reasons").content.decode())))
    raw = [row for row in rows if row["setting"] == "memory raw"]
    assert (len(raw), sum(int(row["turns"]) for row in raw)) == (49, 24)


@pytest.mark.parametrize("place", [0, 3])
def test_an_unknown_line_is_not_found(viewer, report, place):
    assert viewer.get(f"/trust/satisfaction/evaluator/{place}/").status_code == 404


@pytest.mark.parametrize(
    ("table", "columns", "rows"),
    [
        ("gains", ["evaluator", "setting", "metric", "turns", "users", "gain", "low", "high"], 10),
        ("scenarios", ["evaluator", "setting", "scenario", "turns", "users"], 4),
        ("users", ["evaluator", "setting", "user", "turns", "stated", "predicted"], 4),
        ("reasons", [], 0),
    ],
)
def test_every_table_is_a_file(viewer, report, table, columns, rows):
    answer = viewer.get(f"{FILE}?table={table}")
    assert answer["Content-Disposition"] == f'attachment; filename="satisfaction-{table}.csv"'
    found = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert len(found) == rows
    assert (list(found[0]) if found else [])[: len(columns)] == columns


def test_an_unknown_table_is_not_found(viewer, report):
    assert viewer.get(f"{FILE}?table=secrets").status_code == 404


TRAINING = "/trust/satisfaction/training/"


@pytest.fixture
def learned_report():
    """A report with the learned evaluator, one of few trees, and a small learning curve."""
    train = make_rated_dataset("train", users=("cid", "dan", "eve", "fay", "gus"))
    test = make_rated_dataset("rated")
    model = learned_model(
        dataset=train, settings=Settings(general=GeneralSettings(trees=2), folds=2)
    )
    LearnedModel.objects.filter(pk=model.pk).update(settings=asdict(learned.Settings()))
    VerificationReport.objects.create(
        dataset=test,
        kind=CURVE_KIND,
        settings={"train": "train", "test": "rated", "draws": 1, "seed": 3, "bootstrap": 0},
        rows=[stored_point(one) for one in CURVE],
    )
    return evaluate_satisfaction(
        train=train, test=test, evaluators=["nearest_1", "learned"], draws=10
    )


FIGURE = CurveFigure(0.25, Interval(0.1, 0.4), 0.2, 0.3)
CURVE = [
    CurvePoint(CurveOn.HELD_OUT, 4, 2, 60, dict.fromkeys(CURVE_METRICS, FIGURE)),
    CurvePoint(
        CurveOn.TEST, 5, 1, 24, dict.fromkeys(CURVE_METRICS, CurveFigure(None, None, None, None))
    ),
]


def test_the_learned_evaluator_stands_with_what_made_it(viewer, learned_report):
    shown = tight(viewer.get(PAGE))
    assert "own training users, held out" in shown
    assert '<a href="/datasets/train/learned/1/">Training details</a>' in shown
    assert "4 users, held out" in shown
    assert '0.250<span class="iv">0.10 … 0.40</span><br><span' in shown
    assert '<span class="iv">range 0.20 … 0.30</span>' in shown
    assert (
        "<th>User&#x27;s most similar turn, history</th>" in shown
    )  # above the published row of its kind
    assert '<th>Nearest-history score<span class="tag">published</span></th>' in shown
    assert shown.count(">published</span>") == 1
    training = tight(viewer.get(TRAINING))
    assert "turns of train, each user held out" in training
    assert "Calibration of the predicted dissatisfaction" in training
    assert "always the most common" in training
    evaluator = tight(viewer.get(f"{PAGE}evaluator/2/"))
    assert "Calibration of the predicted dissatisfaction" in evaluator


@pytest.mark.parametrize(
    ("table", "columns", "rows"),
    [
        ("likely", ["evaluator", "setting", "figure", "turns", "value", "low"], 12),
        ("curve", ["on", "users", "draws", "metric", "value", "low", "high"], 16),
        ("paper", ["table", "evaluator", "paper_pearson", "paper_spearman"], 1),
    ],
)
def test_what_was_learned_is_a_file_too(viewer, learned_report, table, columns, rows):
    answer = viewer.get(f"{FILE}?table={table}")
    found = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert len(found) == rows
    assert list(found[0])[: len(columns)] == columns


def test_chances_are_a_file_too(viewer, learned_report):
    answer = viewer.get(f"{FILE}?table=chances")
    found = list(csv.DictReader(io.StringIO(answer.content.decode())))
    by_setting = {row["setting"] for row in found}
    assert by_setting == {"trained", "held out"}
    own = [int(row["turns"]) for row in found if row["setting"] == "held out"]
    assert sum(own) == 60


def test_without_a_learned_row_there_is_no_page_of_its_training(viewer, report):
    assert viewer.get(TRAINING).status_code == 404
    assert viewer.post(TRAINING).status_code == 405


@pytest.mark.parametrize("number", ["99999", "x"])
def test_an_unknown_report_is_not_found(viewer, report, number):
    assert viewer.get(f"{PAGE}?report={number}").status_code == 404


def test_the_file_has_every_figure_with_its_interval(viewer, report):
    answer = viewer.get(FILE)
    assert answer["Content-Disposition"] == 'attachment; filename="satisfaction.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [row["evaluator"] for row in rows] == ["history_mean", "nearest_3"]
    assert float(rows[0]["mae"]) == pytest.approx(20 / 24)
    assert (rows[0]["mae_low"], rows[0]["mae_high"]) == ("", "")  # of two users
    assert rows[0]["within_user_pearson_expected"] == ""


NEW, ESTIMATE = f"{PAGE}new/", f"{PAGE}new/estimate/"


def test_a_manager_starts_an_evaluation_and_sees_before_what_it_takes(client):
    test = make_rated_dataset("rated")
    form = {"test": "rated", "train": "rated", "evaluators": ["history_mean"], "draws": "0"}
    assert client.get(NEW).status_code == 302
    for role in ("VIEWER", "ANNOTATOR"):
        client.force_login(make_user(role=role))
        answers = [client.get(NEW), client.post(NEW, form), client.post(ESTIMATE, form)]
        assert [one.status_code for one in answers] == [403] * 3
    client.force_login(make_user(role="MANAGER"))
    assert 'name="evaluators"' in tight(client.get(NEW))
    offered = client.get(NEW).context["form"].fields["evaluators"].choices
    assert all(name != label for name, label in offered)
    assert client.get(ESTIMATE).status_code == 405
    assert "No calls: there is nothing left to ask." in tight(client.post(ESTIMATE, form))
    with FakeLlm() as server:
        make_endpoint(name="fake", base_url=server.base_url)
        asked = {**form, "judges": ["fake"]}
        told = tight(client.post(ESTIMATE, asked, headers={"HX-Request": "true"}))
        assert "Build memories" in told
        assert server.stats()["calls"] == 0
    assert client.post(NEW, {**form, "draws": "-1"}).status_code == 422
    refused = client.post(NEW, {**form, "budget": "1"})
    assert (refused.status_code, "have no price" in tight(refused)) == (422, True)
    assert not JudgeRun.objects.exists()
    started = client.post(NEW, form)
    run = JudgeRun.objects.get()
    assert (started.url, run.kind, run.dataset) == (f"/runs/{run.pk}/", "EVALUATE", test)
    assert client.post(NEW, form).url == started.url
    assert "An evaluation of" in tight(client.get(PAGE))
    run_to_end(run.pk)
    shown = tight(client.get(started.url))
    assert "Satisfaction evaluation" in shown
    assert "<th>User&#x27;s own mean</th>" in shown
    report = VerificationReport.objects.get()
    assert f"Report {report.pk}" in tight(client.get(PAGE))


def test_somebody_else_builds_the_memories_of_the_further_judges(client):
    make_rated_dataset("rated")
    client.force_login(make_user(role="MANAGER"))
    page = tight(client.get(NEW))
    assert "Further judges" not in page
    assert "Memory builder" not in page
    for name in ("fake", "builder"):
        make_endpoint(name=name)
    assert "Further judges" in tight(client.get(NEW))
    form = {"test": "rated", "train": "rated", "evaluators": ["lexical"], "judges": ["fake"]}
    assert client.post(NEW, {**form, "draws": "0", "memory_judge": "none"}).status_code == 422
    client.post(NEW, {**form, "draws": "0", "memory_judge": "builder"})
    assert JudgeRun.objects.get().config["names"] == ["lexical", "fake@builder"]


RUNS = f"{PAGE}runs/"


@pytest.fixture
def scoring():
    """Two finished runs over ten users' turns, the second a point too high, and one under way."""
    dataset = make_rated_dataset("rated", users=("ann", "bob", *(f"user {n}" for n in range(8))))
    made = [run_to_end(start_satisfaction_run(dataset=dataset, judge="lexical").pk)]
    gold = {label.response_id: label.score for label in SatisfactionLabel.objects.all()}
    for judge, higher in (("exact", 0), ("generous", 1)):
        run = JudgeRun.objects.get(pk=made[0].pk)
        rows = list(SatisfactionJudgment.objects.filter(run=run))
        run.pk, run.judge = None, judge
        run.save()
        for row in rows:
            row.pk, row.run = None, run
            row.score = row.calibrated = min(5, gold[row.response_id] + higher)
        SatisfactionJudgment.objects.bulk_create(rows)
        made.append(run)
    JudgeRun.objects.filter(pk=made[0].pk).update(status="PENDING")
    return [run.pk for run in (*made[1:], made[0])]


def test_finished_runs_stand_side_by_side(viewer, scoring, django_assert_max_num_queries):
    exact, generous, open_run = scoring
    asked = f"?run={exact}&run={generous}&run={open_run}&run=999&run=x"
    with django_assert_max_num_queries(9):
        whole = tight(viewer.get(RUNS + asked))
    assert "Difference from exact" in whole
    # Of twelve turns a user, four are at 5 already (bob's are at 4).
    assert '<td class="n">+0.700<span class="iv">' in whole
    assert '<td class="n">120</td>' in whole
    assert 'bob</th><td class="n">12</td>' in whole
    assert "<b>0.00</b>" in whole
    assert f'href="/runs/{open_run}/"' in whole.split("Not finished yet, so without figures:")[1]
    part = tight(viewer.get(RUNS + asked, headers={"HX-Request": "true"}))
    assert part.startswith('<section class="card" id="satisfaction-runs">')
    assert part in whole


def test_finished_runs_side_by_side_are_a_file(viewer, scoring):
    exact, generous, open_run = scoring
    page = tight(viewer.get(f"{RUNS}?run={exact}&run={generous}"))
    address = f"/trust/satisfaction/runs.csv?run={exact}&run={generous}"
    assert f'href="{address.replace("&", "&amp;")}&amp;"' in page
    first, second = csv.DictReader(io.StringIO(viewer.get(address).content.decode()))
    assert (first["judge"], first["run"], first["dataset"]) == ("exact", str(exact), "rated")
    assert (first["turns"], first["mae"], first["gain_mae"]) == ("120", "0.0", "")
    assert (second["shared_turns"], second["seed"]) == ("120", "42")
    assert float(second["gain_mae"]) == pytest.approx(0.7)
    unfinished = viewer.get(f"/trust/satisfaction/runs.csv?run={open_run}")
    assert unfinished.content.strip() == b""
    assert viewer.post(address).status_code == 405
    viewer.force_login(make_user(role="ANNOTATOR"))
    assert viewer.get(address).status_code == 403


def test_a_dataset_without_a_report_shows_its_finished_runs(viewer, scoring):
    exact, generous, _open = scoring
    shown = tight(viewer.get(f"{PAGE}?dataset=rated"))
    assert "These are the finished runs on rated." in shown
    assert f"Difference from exact, run {exact}" in shown
    assert f"Difference from exact, run {exact}" in tight(viewer.get(PAGE))
    assert f"Difference from exact, run {exact}" in tight(viewer.get(f"{RUNS}?dataset=rated"))
    together = f"run={exact}&amp;run={generous}"
    compared = tight(viewer.get(f"/runs/compare/?run={exact}&run={generous}"))
    assert f'hx-get="{RUNS}?{together}"' in compared
    assert f'href="{RUNS}?{together}"' in compared
    assert "consistency across orders" not in compared


def test_runs_of_one_user_and_of_none(viewer, scoring):
    exact, generous, open_run = scoring
    SatisfactionLabel.objects.exclude(annotator__username="rated:ann").delete()
    shown = tight(viewer.get(f"{RUNS}?run={exact}&run={generous}"))
    assert "Too few sessions (conversations) for an interval" in shown
    assert "Pearson within users</th>" not in shown
    assert "None of these runs has finished." in tight(viewer.get(f"{RUNS}?run={open_run}"))
    assert "Runs not found" in tight(viewer.get(RUNS))
    assert viewer.post(RUNS).status_code == 405
    viewer.force_login(make_user(role="ANNOTATOR"))
    assert viewer.get(RUNS).status_code == 403
