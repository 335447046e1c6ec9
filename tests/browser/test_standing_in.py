"""From a file of questions to a leaderboard that nobody labelled, page by page."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.db import connections
from playwright.sync_api import Route, expect

from annotation.models import Comparison, PairwiseLabel
from judging.models import JudgeRun, Judgment
from judging.services.foreground import run_to_end
from tests.browser.labelling import expect_progress, press_answer
from tests.browser.steps import Steps
from tests.factory import make_user
from tests.judging.study import make_study
from tests.three_styles import JUDGE, STYLES, questions, three_styles

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

QUESTIONS, LABELS = 10, 30


@pytest.fixture(autouse=True)
def var(settings, tmp_path):
    settings.VAR_DIR = tmp_path


@pytest.fixture
def llm():
    with three_styles() as server:
        yield server


def look(page, name):
    """Keeps a picture where somebody asked for them."""
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


def start_and_finish(page, steps):
    """Presses Start and works the runs off, in a thread: Playwright has a loop in this one."""
    known = set(JudgeRun.objects.values_list("pk", flat=True))
    steps.click(page.get_by_role("button", name="Start"))
    page.wait_for_url(lambda address: "/runs/" in address and "/new/" not in address)
    started = set(JudgeRun.objects.values_list("pk", flat=True)) - known
    with ThreadPoolExecutor(1) as pool:
        done = [pool.submit(run_to_end, run).result() for run in sorted(started)]
        pool.submit(connections.close_all).result()
    assert {run.status for run in done} == {"DONE"}
    page.reload()
    return done[-1]


def label_the_shorter(open_page, annotator):
    """Somebody who likes short answers goes through the study, by keys."""
    page = open_page("/", user=annotator)
    page.get_by_role("link", name="Begin Pilot").click()
    for number in range(LABELS):
        expect_progress(page, f"{number} of {LABELS}")
        first, second = (
            side.locator(".prose").last.inner_text() for side in page.locator(".resp").all()
        )
        if number == LABELS // 2:
            look(page, "6-labelling")
        press_answer(page, "1" if len(first) <= len(second) else "4")
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()


def test_from_questions_to_a_leaderboard_that_nobody_labelled(open_page, llm):
    ann = make_user(display_name="Ann Li")
    page = open_page("/", user=make_user(role="MANAGER"), quiet=False)
    steps = Steps()
    file = {"name": "bench.jsonl", "mimeType": "application/json"}
    questioned = {**file, "buffer": questions(QUESTIONS).encode()}
    steps.file(page.get_by_label("File"), [questioned])
    steps.click(page.get_by_role("button", name="Import"))
    look(page, "1-imported")
    steps.click(page.get_by_role("link", name="Generate responses"))
    for style in STYLES:
        steps.click(page.get_by_label(style))
    expect(page.locator("#estimate")).to_contain_text("Estimate")
    look(page, "2-generate")
    start_and_finish(page, steps)
    look(page, "3-generated")
    steps.click(page.get_by_role("link", name="Plan comparisons"))
    expect(page.get_by_label("Judge")).to_have_value(JUDGE)
    expect(page.get_by_role("heading", name="Estimate")).to_be_visible()
    look(page, "4-pairing")
    steps.click(page.get_by_role("button", name="Create comparisons"))
    expect(page.get_by_text("Created 60 comparisons.")).to_be_visible()
    assert steps.taken == 6 + len(STYLES)
    page.get_by_role("link", name="Create a study of these").click()
    page.get_by_label("Name").fill("Pilot")
    page.get_by_label("Sample size").fill(str(LABELS))
    page.get_by_label("Hidden repeats (%)").fill("0")
    page.get_by_label("Ann Li").check()
    look(page, "5-study")
    page.get_by_role("button", name="Create study").click()
    page.get_by_role("button", name="Open").click()
    label_the_shorter(open_page, ann)
    assert PairwiseLabel.objects.count() == LABELS

    page.goto("/runs/new/?dataset=bench")
    page.get_by_label("lexical").uncheck()
    page.get_by_label(JUDGE).first.check()
    look(page, "7-learn")
    start_and_finish(page, steps)
    look(page, "8-learned")
    page.get_by_role("link", name="Judge everything unlabelled").click()
    look(page, "9-judge")
    run = start_and_finish(page, steps)
    look(page, "10-judged")
    judged = set(Judgment.objects.filter(run=run).values_list("comparison_id", flat=True))
    labelled = set(PairwiseLabel.objects.values_list("comparison_id", flat=True))
    assert judged == set(Comparison.objects.values_list("pk", flat=True)) - labelled

    page.goto("/leaderboard/?dataset=bench")
    look(page, "11-leaderboard")


def test_a_choice_made_while_an_estimate_comes_stays(open_page):
    dataset, _rater = make_study(comparisons=4)
    page = open_page("/", user=make_user(role="MANAGER"))
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/runs/new/estimate/", hold, times=1)
    page.goto(f"/runs/new/?dataset={dataset.slug}")
    scoring = page.get_by_label("Score satisfaction")
    scoring.check()
    while not held:
        page.wait_for_timeout(20)
    with page.expect_response("**/runs/new/estimate/"), page.expect_request("**/estimate/"):
        held[0].continue_()  # its answer still has the choice of before
    expect(page.locator("#estimate.htmx-request")).to_have_count(0)
    expect(scoring).to_be_checked()
