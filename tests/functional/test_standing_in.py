"""From questions to a leaderboard that nobody labelled, by five commands.

Three models of known style answer; a judge that likes long answers learns from somebody who likes
short ones, and ranks the models by what nobody labelled.
"""

from __future__ import annotations

import json
from io import StringIO
from itertools import islice

import pytest
from django.core.management import call_command

from annotation.models import Comparison, PairwiseLabel, Study
from judging.models import Judgment
from tests.factory import make_label, make_user
from tests.three_styles import JUDGE, STYLES, questions, three_styles

pytestmark = pytest.mark.django_db

QUESTIONS, LABELS = 12, 30


@pytest.fixture
def llm():
    with three_styles() as server:
        yield server


def run_json(name, *options):
    out = StringIO()
    call_command(name, *options, "--json", stdout=out, stderr=StringIO())
    return json.loads(out.getvalue())


def label_the_shorter(name):
    """Somebody labels the first pairs of a study."""
    ann = make_user(username="ann")
    pairs = Comparison.objects.filter(study_items__study__name=name).order_by(
        "study_items__position"
    )
    for pair in islice(pairs, LABELS):
        shorter = len(pair.response_a.text) <= len(pair.response_b.text)
        make_label(pair, annotator=ann, verdict="A" if shorter else "B")


def ranking(verdicts):
    found = run_json("leaderboard", "--dataset", "bench", "--verdicts", verdicts)
    return [row["model"] for row in sorted(found["models"], key=lambda row: row["rank"])]


def test_from_questions_to_a_leaderboard_that_nobody_labelled(llm, tmp_path):
    path = tmp_path / "question.jsonl"
    path.write_text(questions(QUESTIONS))
    wanted = ("--dataset", "bench")
    run_json("import_records", str(path), *wanted)
    made = run_json("generate", *wanted, "--models", ",".join(STYLES))
    assert (made["generated"], made["failed"]) == (2 * QUESTIONS * 3, 0)

    planned = run_json("pair", *wanted, "--plan", "all", "--study", "Pilot")
    assert planned["created"] == 2 * QUESTIONS * 3
    assert Study.objects.get().slug == planned["study"]
    label_the_shorter("Pilot")

    learned = run_json("distil", *wanted, "--judge", JUDGE, "--no-control")["scenarios"]
    assert [row["used"] for row in learned] == [True] * len(learned)
    assert "shorter" in " ".join(text for row in learned for text in row["preferences"])

    judge = ("judge", *wanted, "--judge", JUDGE, "--annotator", "ann")
    found = run_json(*judge, "--targets", "unlabelled", "--no-control")
    assert (found["failed"], found["unparseable"]) == (0, 0)
    (run,) = found["runs"]
    judged = set(Judgment.objects.filter(run=run).values_list("comparison_id", flat=True))
    labelled = set(PairwiseLabel.objects.values_list("comparison_id", flat=True))
    assert judged == set(Comparison.objects.values_list("pk", flat=True)) - labelled

    assert ranking("selected") == ["brief", "structured", "talkative"] == ranking("human")
    assert ranking("base") == ["talkative", "structured", "brief"]

    asked = len(llm.bodies)
    run_json("generate", *wanted, "--models", ",".join(STYLES))
    assert run_json(*judge, "--targets", "unlabelled", "--no-control")["calls"] == 0
    assert len(llm.bodies) == asked
