from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest

from annotation.models import PairwiseLabel, Response, SatisfactionLabel
from benchmark.core.snapshots import METHOD, SnapshotKind
from benchmark.models import ReplayAnswer, Snapshot
from benchmark.queries import snapshots as snapshot_queries
from benchmark.queries.annotators import PeopleQuestion
from benchmark.queries.model_satisfaction import SatisfactionQuestion, Voice
from benchmark.queries.ranking import LeaderboardQuestion, Source
from benchmark.queries.snapshot_questions import (
    asked_board,
    asked_corrected,
    asked_pairs,
    asked_people,
    asked_replay,
    asked_satisfaction,
    asked_trust,
    board_question,
    report_question,
)
from benchmark.queries.trust import TrustQuestion
from benchmark.services.snapshots import keep, verify
from judging.core.prompts import load_prompt
from judging.core.rules import JudgePrompt, SatisfactionSettings, Variant
from judging.models import JudgeRun, Judgment, LlmCall, SatisfactionJudgment
from judging.queries.prompts import PromptOwner
from judging.services import rereading
from judging.services.edited_prompts import publish_prompt
from judging.services.foreground import run_to_end
from judging.services.rereading import read_again
from tests.benchmark.replays import make_stored, replayed
from tests.benchmark.stage import Stage
from tests.factory import make_endpoint, make_run, make_user
from tests.fake_llm import FakeLlm
from tests.judging.ratings import make_ratings
from tests.judging.study import make_study, start_satisfaction_run, start_test_run
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def changed(snapshot):
    """As after it was read back, by name."""
    found = verify(Snapshot.objects.get(pk=snapshot.pk))
    return {row["what"]: (row["was"], row["is"]) for row in (each.record() for each in found)}


def staged():
    stage = Stage.make(scenarios=("Writing", "Code"), size=6)
    ann, bob = stage.rater("ann"), stage.rater("bob")
    stage.label(ann, "AABTAB" + "ABAABB")
    stage.label(bob, "ABBABA" + "AA.AB.")
    stage.tested(ann, stage.distilled(ann), base="BBBBAA" * 2, selected="AAB.BB" + "ABBAAB")
    return stage, ann


def flipped(reply):
    return reply.translate(str.maketrans("AB", "BA"))


def judged_by_endpoint(**settings):
    """A run behind an endpoint, every question of it answered and the server gone."""
    dataset, rater = make_study(comparisons=6)
    with FakeLlm(rule="longer") as server:
        judge = make_endpoint(name="fake", base_url=server.base_url).name
        asked = {"dataset": dataset, "annotator": rater, "judge": judge, "with_sets": False}
        run = start_test_run(**asked, **settings)
        run_to_end(run.pk)
    return dataset, JudgeRun.objects.get(pk=run.pk)


def scored_by_endpoint(dataset):
    """A satisfaction run without memories, every turn scored and the server gone."""
    with FakeLlm(rule="longer") as server:
        judge = make_endpoint(name="fake", base_url=server.base_url).name
        settings = SatisfactionSettings(variant=Variant.NO_MEMORY)
        run = start_satisfaction_run(dataset=dataset, judge=judge, settings=settings)
        run_to_end(run.pk)
    return JudgeRun.objects.get(pk=run.pk)


@pytest.fixture
def kept():
    dataset, run = judged_by_endpoint()
    return dataset, run, keep(SnapshotKind.BOARD, board_question(dataset.slug, "base"))


def test_a_board_is_equal_right_away(kept):
    dataset, run, snapshot = kept
    assert (snapshot.dataset, {row["judge"] for row in snapshot.figures}) == (dataset, {"fake"})
    read = snapshot.basis["read_again"][str(run.pk)]
    assert read == "12 same, 0 other, 0 missing"
    assert snapshot.basis["replies"][str(run.pk)].startswith("12:")
    assert changed(snapshot) == {}


def test_a_changed_reply_is_named_and_so_is_the_verdict_that_it_no_longer_gives(kept):
    _dataset, run, snapshot = kept
    call = LlmCall.objects.filter(judgments__run=run).first()
    LlmCall.objects.filter(pk=call.pk).update(reply=flipped(call.reply))
    found = changed(snapshot)
    name = f"answers of run {run.pk}, read again"
    assert found.keys() == {f"replies of run {run.pk}", name}
    assert found[name][1] == "11 same, 1 other, 0 missing"


def test_a_deleted_reply_is_named(kept):
    _dataset, run, snapshot = kept
    LlmCall.objects.filter(judgments__run=run).first().delete()
    found = changed(snapshot)
    assert found[f"answers of run {run.pk}, read again"][1] == "11 same, 0 other, 1 missing"
    assert found[f"replies of run {run.pk}"][1].startswith("11:")


def test_a_changed_prompt_is_named(kept):
    dataset, run, snapshot = kept
    text = "Be exact. " + load_prompt("judge_pair_base", language="en").text
    owner = PromptOwner(dataset)
    named = {"name": "judge_pair_base", "language": "en", "text": text, "since": 0}
    publish_prompt(owner, **named, by=make_user(role="MANAGER"))
    ((what, (was, now)),) = changed(snapshot).items()
    assert what == f"prompt judge_pair_base.en (run {run.pk})"
    assert was != now


def test_a_changed_verdict_is_named_with_the_figures_that_it_moved(kept):
    _dataset, run, snapshot = kept
    row = Judgment.objects.filter(run=run).first()
    Judgment.objects.filter(pk=row.pk).update(verdict="A" if row.verdict == "B" else "B")
    found = changed(snapshot)
    assert {f"judgments of run {run.pk}", f"answers of run {run.pk}, read again"} < found.keys()
    assert any(name.endswith(": win_rate") for name in found)


def test_grades_are_read_again_too():
    _dataset, run = judged_by_endpoint(prompt=JudgePrompt.SINGLE)
    assert run.kind == "GRADE"
    score = run.response_scores.first()
    run.response_scores.filter(pk=score.pk).update(value=score.value + 1)
    assert read_again(run) == (11, 1, 0)


def test_imported_verdicts_have_nobody_to_ask():
    assert read_again(make_run(kind="RECORDED", judge="gpt-4")) is None


def test_a_changed_label_is_named_with_the_figures_that_it_moved():
    _stage, ann = staged()
    snapshot = keep(SnapshotKind.BOARD, board_question("study", "human"))
    assert changed(snapshot) == {}
    label = PairwiseLabel.objects.filter(annotator=ann, verdict="A").first()
    PairwiseLabel.objects.filter(pk=label.pk).update(verdict="B")
    found = changed(snapshot)
    (was, now) = found["labels of ann"]
    assert was != now
    assert was[:3] == now[:3] == "12:"
    assert {"alpha: rating", "beta: win_rate"} < found.keys()
    assert "labels of bob" not in found


def test_versions_are_named(monkeypatch):
    staged()
    snapshot = keep(SnapshotKind.BOARD, board_question("study", "human"))
    told = snapshot_queries.version
    monkeypatch.setattr(
        snapshot_queries, "version", lambda name: "99.0" if name == "numpy" else told(name)
    )
    assert changed(snapshot) == {"version of numpy": (told("numpy"), "99.0")}


def test_a_snapshot_of_an_older_method_stays_as_kept_and_says_so():
    staged()
    snapshot = keep(SnapshotKind.BOARD, board_question("study", "human"))
    del snapshot.basis["versions"]["method"]
    figures = [{**row, "win_rate_low": 0.123} for row in snapshot.figures]
    snapshot.figures = figures
    snapshot.save()
    found = changed(snapshot)
    assert found.pop("version of method") == ("1", str(METHOD))
    assert set(found) == {f"{row['model']}: win_rate_low: method changed" for row in figures}
    assert Snapshot.objects.get(pk=snapshot.pk).figures == figures


def test_a_page_of_boards_a_trust_page_and_a_report_are_kept():
    stage, ann = staged()
    manager = make_user(role="MANAGER")
    scenario = stage.scenarios[0].pk
    asked = LeaderboardQuestion(dataset="study", scenario=scenario)
    board = keep(SnapshotKind.BOARD, asked_board(asked), created_by=manager)
    assert {row["source"] for row in board.figures} == {"human", "selected", "base"}
    assert board.question["scenario"] == "Writing"
    trust = keep(
        SnapshotKind.TRUST,
        asked_trust(TrustQuestion(dataset="study", annotator=ann.pk)),
        created_by=manager,
    )
    assert trust.question["run"] == JudgeRun.objects.get(kind="TEST").pk
    report = keep(SnapshotKind.REPORT, report_question("study"))
    assert {row["annotator"] for row in report.figures} == {"ann"}
    assert [changed(each) for each in (board, trust, report)] == [{}, {}, {}]
    Response.objects.filter(model="beta").update(model="gamma")
    assert "comparisons of study" in changed(trust)


def test_a_replay_is_computed_again_from_its_stored_scores():
    dataset = make_ratings(people=3, turns=3)
    make_stored(dataset)
    found = replayed(dataset=dataset, evaluator="lexical", candidates=("responses:long",))
    snapshot = keep(SnapshotKind.REPLAY, asked_replay(found), created_by=make_user(role="MANAGER"))
    (control, _stated, long) = snapshot.figures
    assert (control["role"], long["candidate"]) == ("control", found.candidates[0])
    assert long["user"] == found.rows[2].means["user"].value
    assert {"gain", "p_holm", "micro_wins"} <= long.keys()
    assert changed(snapshot) == {}
    answer = ReplayAnswer.objects.filter(run=found.run, candidate=long["candidate"]).first()
    moved = 5 if answer.calibrated < 5 else 1
    ReplayAnswer.objects.filter(pk=answer.pk).update(calibrated=moved)
    told = changed(snapshot)
    name = f"answers of replay {found.run.pk}"
    assert {name, f"{long['candidate']}, candidate: user"} < told.keys()
    assert f"ratings of {dataset.slug}" not in told
    SatisfactionLabel.objects.filter(pk=SatisfactionLabel.objects.first().pk).update(score=2)
    assert f"ratings of {dataset.slug}" in changed(snapshot)
    del snapshot.basis["rated"]  # as of one that was kept before
    snapshot.save()
    assert f"ratings of {dataset.slug}" not in changed(snapshot)
    ReplayAnswer.objects.filter(run=found.run).delete()
    found.run.reports.all().delete()
    with refuses("snapshot:nothing"):
        verify(snapshot)


def test_scores_are_read_again_too_but_not_those_of_a_trained_evaluator():
    run = scored_by_endpoint(make_ratings(people=2, turns=2))
    row = run.satisfaction_judgments.first()
    run.satisfaction_judgments.filter(pk=row.pk).update(score=row.score % 5 + 1)
    total = run.satisfaction_judgments.count()
    assert read_again(run) == (total - 1, 1, 0)
    LlmCall.objects.filter(satisfaction_judgments=row).delete()
    assert read_again(run).missing == 1
    assert read_again(make_run(kind="SATISFACTION", judge="learned")) is None


def test_more_rows_than_are_in_memory_at_a_time_are_all_read(monkeypatch, kept):
    _dataset, run, _snapshot = kept
    monkeypatch.setattr(rereading, "_AT_ONCE", 5)
    assert read_again(run) == (12, 0, 0)
    assert read_again(run, most=7) == (6, 0, 0)  # evenly spread


def test_answers_that_a_page_did_not_read_are_no_change(kept):
    dataset, run, snapshot = kept
    name = str(run.pk)
    paged = keep(SnapshotKind.BOARD, board_question(dataset.slug, "base"), most=6)
    assert paged.basis["read_again"][name] == "6 same, 0 other, 0 missing"
    assert verify(paged) == verify(snapshot, most=6) == []
    LlmCall.objects.filter(judgments__run=run).delete()
    assert f"answers of run {name}, read again" in changed(snapshot)
    del snapshot.basis["read_again"][name]  # kept when such runs were not read again
    snapshot.save()
    assert f"answers of run {name}, read again" not in changed(snapshot)


def test_corrected_figures_agreement_and_pairs_are_kept():
    stage, ann = staged()
    people = PeopleQuestion("study")
    asked = LeaderboardQuestion("study")
    kept = [
        keep(SnapshotKind.CORRECTED, asked_corrected(asked, Source.SELECTED)),
        keep(SnapshotKind.PAIRS, asked_pairs(asked, None, "")),
        keep(SnapshotKind.PEOPLE, asked_people(people)),
    ]
    assert [changed(each) for each in kept] == [{}, {}, {}]
    run = str(JudgeRun.objects.get(kind="TEST").pk)
    assert [run in each.basis["judgments"] for each in kept] == [True, False, True]
    label = PairwiseLabel.objects.filter(annotator=ann, verdict="A").first()
    PairwiseLabel.objects.filter(pk=label.pk).update(verdict="B")
    names = ("alpha: human", "alpha – beta: wins", "turn 1, S1: judge_agree")
    for each, name in zip(kept, names, strict=True):
        assert {"labels of ann", name} < changed(each).keys()
    assert stage.dataset == kept[0].dataset


def test_satisfaction_by_model_is_kept_in_each_voice():
    dataset = make_ratings(people=3, turns=3)
    run = scored_by_endpoint(dataset)
    asked = SatisfactionQuestion(dataset.slug)
    kept = [
        keep(SnapshotKind.SATISFACTION, asked_satisfaction(replace(asked, voice=voice)))
        for voice in Voice
    ]
    assert [each.question["run"] for each in kept] == [None, run.pk, run.pk]
    assert [list(each.basis["read_again"]) for each in kept] == [[], [str(run.pk)], [str(run.pk)]]
    assert [changed(each) for each in kept] == [{}, {}, {}]
    judge = kept[1]
    columns = ("user_id", "response_id", "session_id", "status", "score", "expected_score")
    scores = SatisfactionJudgment.objects.filter(run=run).order_by("pk")
    # Hashes that are stored stay comparable.
    hashed = sha256("".join(f"{row!r}\n" for row in scores.values_list(*columns)).encode())
    assert judge.basis["judgments"] == {str(run.pk): f"{len(scores)}:{hashed.hexdigest()}"}
    scores.update(reason="It asked twice.")
    assert f"calibrated scores and reasons of run {run.pk}" in changed(judge)
    del judge.basis["scores"]  # kept before these were told
    judge.save()
    assert not any("scores" in name for name in changed(judge))
    label = SatisfactionLabel.objects.first()
    SatisfactionLabel.objects.filter(pk=label.pk).update(score=label.score % 5 + 1)
    told = [changed(each).keys() for each in kept]
    assert all(f"ratings of {dataset.slug}" in each for each in told)
    assert any(name.endswith(": mean") for name in told[0])
    assert not any(name.endswith(": mean") for name in told[1])
    assert any(name.endswith(": human") for name in told[2])


def test_what_is_not_there_is_not_kept():
    with refuses("snapshot:nothing"):
        keep(SnapshotKind.BOARD, asked_board(LeaderboardQuestion()), created_by=make_user())
    Stage.make()
    with refuses("snapshot:nothing"):
        keep(
            SnapshotKind.BOARD,
            asked_board(LeaderboardQuestion(dataset="study")),
            created_by=make_user(),
        )
    with refuses("snapshot:nothing"):
        keep(
            SnapshotKind.TRUST, asked_trust(TrustQuestion(dataset="study")), created_by=make_user()
        )
    with refuses("snapshot:nothing"):
        keep(SnapshotKind.CORRECTED, asked_corrected(LeaderboardQuestion("study"), Source.BASE))
    for question in (
        lambda: asked_satisfaction(SatisfactionQuestion()),
        lambda: asked_people(PeopleQuestion()),
    ):
        with refuses("snapshot:nothing"):
            question()
    assert not Snapshot.objects.exists()
