"""Whole conversations, as their files hold them, from the import to calibrated scores."""

from __future__ import annotations

import csv
import io

import pytest
from django.core.management import call_command

from annotation.models import Dataset
from judging.core.rules import Level, SatisfactionSettings, Variant, variants_at
from judging.models import SatisfactionJudgment, UserMemory
from judging.queries.satisfaction.blocks import gold_ratings, ratings_digest, stored_blocks
from judging.queries.satisfaction.turns import filter_from, turn_of_run, turns_of_run
from judging.services.foreground import run_to_end
from tests.factory import make_endpoint, make_rating, make_session, make_turn
from tests.fake_llm import FakeLlm
from tests.judging.study import start_satisfaction_run
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

SESSION = Level.SESSION


def dialogue(name, overall):
    """A dialogue of two turns: three raters rate the first reply, and the whole."""
    return (
        f"USER\tA table, {name}?\tASK\t4,4,5\nSYSTEM\tFor how many, {name}?\tREQUEST\t\n"
        f"USER\tFor two, {name}.\tTELL\t3,4,5\nSYSTEM\tDone, {name}.\tBOOK\t\n"
        f"USER\tOVERALL\t\t{overall}\n"
    )


def uss(tmp_path):
    """Three raters, six dialogues in each of two scenarios."""
    for scenario in ("MWOZ", "SGD"):
        talks = [
            dialogue(f"{scenario} {at}", f"{1 + at % 5},{1 + (at + 1) % 5},{5 - at % 5}")
            for at in range(6)
        ]
        path = tmp_path / f"{scenario}.txt"
        path.write_text("\n".join(talks), "utf-8")
        call_command("import_records", path, "--format", "uss", "--dataset", "talks", "--json")
    return Dataset.objects.get(slug="talks")


def urs(tmp_path):
    """Two users, three sessions of one question in each of two intents."""
    rows = [
        {
            "session": f"{user}-{intent}-{at}",
            "user": user,
            "user_intent": intent,
            "question": f"{user} asks about {intent} {at}",
            "response": "An answer. " * (1 + 4 * at),
            "satisfaction": 1 + 2 * at,
        }
        for user in ("u1", "u2")
        for intent in ("Advice", "Facts")
        for at in range(3)
    ]
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, list(rows[0]))
    table.writeheader()
    table.writerows(rows)
    path = tmp_path / "urs.csv"
    path.write_text(text.getvalue(), "utf-8")
    call_command("import_records", path, "--format", "urs", "--dataset", "asked", "--json")
    return Dataset.objects.get(slug="asked")


def run_of(dataset, judge, variant=Variant.CHECKLIST):
    settings = SatisfactionSettings(variant=variant, level=SESSION)
    return run_to_end(start_satisfaction_run(dataset=dataset, judge=judge, settings=settings).pk)


@pytest.fixture
def judge():
    with FakeLlm() as server:
        yield make_endpoint(base_url=server.base_url, has_logprobs=True).name


@pytest.mark.parametrize("variant", variants_at(SESSION))
def test_rated_dialogues_of_uss_are_scored_as_wholes(tmp_path, judge, variant):
    dataset = uss(tmp_path)
    run = run_of(dataset, judge, variant)
    rows = SatisfactionJudgment.objects.filter(run=run)
    assert run.status == "DONE"
    assert rows.count() == 3 * 12
    assert set(rows.values_list("status", "response", "calibration")) == {("DONE", None, "CDF")}
    memories = UserMemory.objects.filter(run=run)
    assert memories.count() == (0 if variant is Variant.NO_MEMORY else 6)
    assert {memory.statistics["turns"] for memory in memories} <= {6}


def test_sessions_of_urs_are_scored_by_the_lexical_judge_too(tmp_path, judge):
    dataset = urs(tmp_path)
    for name in (judge, "lexical"):
        run = run_of(dataset, name)
        rows = SatisfactionJudgment.objects.filter(run=run)
        assert (run.status, rows.count()) == ("DONE", 12)
        if name == judge:  # three sessions teach the lexical judge no more than their mean
            assert len(set(rows.values_list("score", flat=True))) > 1
        # Three sessions elsewhere are too few for a user's own scale.
        assert set(rows.values_list("fallback_reason", flat=True)) == {"SHORT_HISTORY"}


def test_a_block_holds_the_sessions_of_one_scenario_and_the_history_of_the_others(tmp_path):
    dataset = uss(tmp_path)
    blocks = stored_blocks(dataset_id=dataset.pk, level=SESSION)
    assert len(blocks) == 6
    gold = gold_ratings(dataset_id=dataset.pk, level=SESSION)
    for stored in blocks:
        assert {target.turn_id for target in stored.block.targets}.isdisjoint(
            turn.turn_id for turn in stored.block.history
        )
        assert all(turn.scenario != stored.block.scenario for turn in stored.block.history)
        for turn in stored.block.history:
            assert gold[stored.user_id, int(turn.turn_id)][0] == turn.score
    target = blocks[0].block.targets[0]
    assert [message.text for message in target.dialogue] == [
        "A table, MWOZ 0?",
        "For how many, MWOZ 0?",
        "For two, MWOZ 0.",
    ]
    assert target.response == "Done, MWOZ 0."


def test_the_digests_of_turns_and_of_sessions_are_apart(tmp_path):
    dataset = uss(tmp_path)
    before = ratings_digest(dataset_id=dataset.pk, level=SESSION)
    assert before != ratings_digest(dataset_id=dataset.pk)
    dataset.sessions.first().labels.update(score=5, reason=None)
    assert before != ratings_digest(dataset_id=dataset.pk, level=SESSION)


def test_the_turns_of_a_run_are_its_sessions_beside_what_users_said(tmp_path, judge):
    dataset = urs(tmp_path)
    run = run_of(dataset, judge)
    listed = turns_of_run(run, filter_from({}))
    assert len(listed.rows) == 12
    assert {row.human for row in listed.rows} == {1, 3, 5}
    assert {row.position for row in listed.rows} == {None}
    detail = turn_of_run(run, listed.rows[0].id)
    assert detail is not None
    assert detail.response.startswith("An answer.")


def test_a_session_of_which_no_answer_is_there_is_not_scored(tmp_path):
    dataset = urs(tmp_path)
    session = make_session(dataset.scenarios.first())
    make_turn(session)
    make_rating(session=session)
    assert len(gold_ratings(dataset_id=dataset.pk, level=SESSION)) == 12


def test_without_rated_sessions_there_is_nothing_to_score(tmp_path, judge):
    dataset = urs(tmp_path)
    with refuses("run:no-ratings"):
        start_satisfaction_run(dataset=dataset, judge=judge)
