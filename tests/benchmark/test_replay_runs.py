"""Replays from their start to their report."""

from __future__ import annotations

import pytest

from annotation.core.refusals import Refused
from annotation.models import Response, Session
from benchmark.core.replay import ReplayScale
from benchmark.core.replay_items import items_named
from benchmark.models import BenchmarkVersion, ReplayAnswer
from benchmark.queries.construction import versions_built_of
from benchmark.queries.replay import (
    AnswerFilter,
    ReplayOutcome,
    replay_answers,
    replayable_turns,
    stored_replay,
)
from benchmark.services.replay_runs import (
    ReplayRequest,
    estimate_replay,
    plan_replay,
    report_replay,
)
from judging.core.rules import GenerationContext
from judging.models import GeneratedResponse, JudgeRun, SatisfactionJudgment
from judging.services.foreground import run_to_end
from judging.services.kinds import start
from judging.services.run_control import reset_failed
from judging.services.runs import dispatch, run_batch
from tests.benchmark.replays import make_stored, replay_to_end, replayed
from tests.factory import make_endpoint, make_response, make_run, make_turn
from tests.fake_llm import Act, FakeLlm
from tests.judging.ratings import make_ratings

pytestmark = pytest.mark.django_db


@pytest.fixture
def dataset():
    found = make_ratings(people=4, turns=3)
    make_stored(found)
    return found


def rows_of(found):
    return {(row.role, row.candidate): row for row in found.rows}


def check_tie(found):
    """The copies stand as the originals do, on every scale and to the last digit."""
    rows, (pair, *_more) = rows_of(found), found.against("")
    control, copy = rows["control", ""], rows["candidate", "copy"]
    assert copy._replace(role="", candidate="", model="") == control._replace(role="")
    for outcomes in pair.outcomes.values():
        assert (outcomes.wins, outcomes.losses, outcomes.delta) == (0, 0, 0.0)
    assert pair.gain.value == 0.0
    columns = ("user", "turn", "score", "expected", "calibrated")
    answers = ReplayAnswer.objects.filter(run=found.run).order_by("user", "turn")
    original, other = (answers.filter(candidate=name) for name in ("", "copy"))
    assert list(original.values_list(*columns)) == list(other.values_list(*columns))


def test_better_by_rule_wins_and_the_same_ties_exactly():
    """The lexical judge likes length, whoever it judges for."""
    dataset = make_ratings(people=12)
    make_stored(dataset)
    found = replayed(dataset=dataset, evaluator="lexical", candidates=["copy", "long", "short"])
    check_tie(found)
    assert found.candidates == ("copy", "long", "short")
    rows, pairs = rows_of(found), {pair.candidate: pair for pair in found.against("")}
    control = rows["control", ""]
    assert (control.items, control.users, control.missing, control.fallbacks) == (120, 12, 0, 0)
    assert pairs["copy"].p == 1.0
    long, short = pairs["long"], pairs["short"]
    assert long.outcomes["micro"].losses == short.outcomes["micro"].wins == 0
    assert long.outcomes["user"].wins == short.outcomes["user"].losses == 12
    assert long.gain.interval.low > 0 > short.gain.interval.high
    # All 2^12 flips, and Holm's of three: the smallest p thrice.
    assert (long.raw_p, long.p) == (2 / 2**12, 3 * 2 / 2**12)
    assert rows["candidate", "short"].counts[0] == 120


def test_the_learned_evaluator_scores_the_same_alike():
    dataset = make_ratings(people=4, turns=2)
    make_stored(dataset)
    found = replayed(dataset=dataset, evaluator="learned", candidates=["copy", "long"])
    check_tie(found)
    assert found.settings["evaluator"]["version"] == 1
    assert len(found.settings["evaluator"]["numbers"]) == 16


def test_every_figure_leads_to_its_rows(dataset):
    found = replayed(dataset=dataset, evaluator="lexical", candidates=["copy", "long", "short"])
    for scale in ReplayScale:
        found = stored_replay(found.run.pk, scale=scale)
        for pair in found.pairs:
            for outcome, count in zip(ReplayOutcome, pair.outcomes["micro"][:3], strict=True):
                wanted = AnswerFilter(pair.candidate, pair.reference, scale, outcome)
                assert replay_answers(found.run.pk, wanted).count() == count
        for row in found.rows:
            if row.role == "stated":
                continue
            for score, count in enumerate(row.counts, start=1):
                wanted = AnswerFilter(row.candidate, "", scale, score=score)
                assert replay_answers(found.run.pk, wanted).count() == count
            for scenario in row.scenarios:
                wanted = AnswerFilter(row.candidate, scale=scale, scenario=scenario)
                mean = [one.own for one in replay_answers(found.run.pk, wanted)]
                assert sum(mean) / len(mean) == pytest.approx(row.scenarios[scenario])
    stated = rows_of(found)["stated", ""]
    assert list(stated.counts) == found.settings["stated"]
    user = ReplayAnswer.objects.filter(run=found.run, candidate="").first().user_id
    assert replay_answers(found.run.pk, AnswerFilter(user=user)).count() == 6


def test_the_report_is_the_same_when_it_is_made_again(dataset):
    found = replayed(dataset=dataset, evaluator="lexical", candidates=["short"])
    before = list(ReplayAnswer.objects.values_list("candidate", "user", "turn", "calibrated"))
    report_replay(found.run)
    again = stored_replay(found.run.pk, scale=found.scale)
    assert again._replace(made_at=found.made_at) == found
    after = list(ReplayAnswer.objects.values_list("candidate", "user", "turn", "calibrated"))
    assert sorted(after) == sorted(before)


def test_endpoints_answer_in_each_context_from_the_fixed_prefix():
    dataset = make_ratings(people=3, turns=2)
    with FakeLlm() as server:
        server.reply = lambda model, prompt: f"{model}: {len(prompt)}"
        name = make_endpoint(base_url=server.base_url, name="a", model="a").name
        contexts = (GenerationContext.PREFIX, GenerationContext.MEMORY)
        request = ReplayRequest(dataset, "lexical", [name], contexts=contexts)
        estimates = estimate_replay(request)
        assert [one.calls for one in estimates] == [12, 12, 0]
        # The originals, and two answers to each that nobody has written.
        assert (
            sum(stage.questions for stage in estimates[-1].stages if stage.stage == "score") == 36
        )
        found = replayed(dataset=dataset, evaluator="lexical", candidates=[name], contexts=contexts)
        assert [row.context for row in found.rows if row.context] == ["PREFIX", "MEMORY"]
        assert [[row.candidate for row in own] for own in found.by_context] == [["a", "a (memory)"]]
        asked = len(server.bodies)
        assert asked == 24
        original = Response.objects.filter(original=True, turn__position=0).first()
        second = [
            body["messages"]
            for body in server.bodies
            if any(one["content"] == original.text for one in body["messages"])
        ]
        assert second  # the second turn goes on from the original response, not from its own
        assert not any("a: " in str(body["messages"]) for body in server.bodies)
        # Nothing is asked twice.
        assert estimate_replay(request) == []
        again = replayed(dataset=dataset, evaluator="lexical", candidates=[name], contexts=contexts)
        assert len(server.bodies) == asked
        assert again.rows == found.rows
        assert again.settings["scoring"] == found.settings["scoring"]


def test_an_llm_scores_with_one_memory_a_block_and_asks_what_was_estimated():
    """Of 3 people with 2 scenarios of 2 turns: 6 memories, 12 originals, 12 answers twice over."""
    dataset = make_ratings(people=3, turns=2)
    with FakeLlm(rule="longer") as server:
        server.reply = lambda model, prompt: f"An answer by {model}. {len(prompt)}"
        for name in ("arbiter", "a"):
            make_endpoint(base_url=server.base_url, name=name, model=name)
        for original in Response.objects.filter(original=True):
            make_response(original.turn, model="other", text=f"Another. {original.text}")
        asked = {"dataset": dataset, "evaluator": "arbiter", "candidates": ["a", "other"]}
        estimates = estimate_replay(ReplayRequest(**asked))
        assert [one.calls for one in estimates] == [12, 6 + 3 * 12]
        found = replayed(**asked)
        assert len(server.bodies) == sum(one.calls for one in estimates)
        facts = found.settings["evaluator"]
        assert (facts["judge"], facts["memories"], facts["version"]) == ("arbiter", 6, None)
        again = replayed(**{**asked, "candidates": ["other"]})
        assert again.settings["evaluator"] == facts  # the same memories, from stored replies
        assert len(server.bodies) == sum(one.calls for one in estimates)


def test_a_candidate_that_fails_is_left_out_and_joins_on_a_retry(dataset):
    with FakeLlm() as server:
        server.reply = lambda model, prompt: f"An answer. {len(prompt)}"
        name = make_endpoint(base_url=server.base_url, name="a", model="a").name
        server.faults = {"401": 1.0}
        found = replayed(dataset=dataset, evaluator="lexical", candidates=["short", name])
        assert found.candidates == ("short",)
        (left,) = found.settings["left_out"]
        assert (left["candidate"], left["run"] is not None) == (name, True)
        with pytest.raises(Refused):
            start(plan_replay(ReplayRequest(dataset, "lexical", ["short", "nobody"])))
        server.faults = {}
        reset_failed(found.run.pk)
        run = run_to_end(found.run.pk)
        again = stored_replay(run.pk, scale=found.scale)
        assert again.candidates == ("short", name)
        assert again.settings["left_out"] == []
        assert again.settings["scoring"] != found.settings["scoring"]


def test_a_candidate_joins_on_a_retry_where_the_scoring_had_failed_too(dataset):
    with FakeLlm(rule="longer") as server:
        for name in ("arbiter", "a"):
            make_endpoint(base_url=server.base_url, name=name, model=name)
        server.faults = {"401": 1.0}
        run = replay_to_end(dataset=dataset, evaluator="arbiter", candidates=["short", "a"])
        assert run.status == "FAILED"
        server.faults = {}
        reset_failed(run.pk)
        found = stored_replay(run_to_end(run.pk).pk, scale=ReplayScale.RAW)
    assert found.candidates == ("short", "a")
    assert found.settings["left_out"] == []
    assert not JudgeRun.objects.filter(status__in=("PENDING", "RUNNING")).exists()


def test_answers_that_failed_are_asked_again_on_a_retry_and_by_the_next_replay(dataset):
    turn = dataset.sessions.first().turns.last()
    turn.user_message = "What breaks?"
    turn.save()
    with FakeLlm() as server:
        server.reply = lambda model, prompt: f"An answer. {len(prompt)}"
        name = make_endpoint(base_url=server.base_url, name="a", model="a").name
        request = {"dataset": dataset, "evaluator": "lexical", "candidates": [name]}
        server.told = {"What breaks?": Act(status=400)}
        found = replayed(**request)
        (row,) = [row for row in found.rows if row.role == "candidate"]
        assert (row.items, row.missing) == (23, 1)
        assert [one.calls for one in estimate_replay(ReplayRequest(**request))] == [1, 0]
        asked = len(server.bodies)
        other = replayed(**request)
        assert other.settings["generated"] != found.settings["generated"]
        assert len(server.bodies) == asked + 1
        server.told = {}
        for run in (found.run, other.run):
            reset_failed(run.pk)
            again = stored_replay(run_to_end(run.pk).pk, scale=found.scale)
            assert not again.is_uneven
        assert len(server.bodies) == asked + 2


def test_scores_that_failed_are_asked_again_by_a_retry_and_by_the_next_replay(dataset):
    """Of 4 people with 2 scenarios of 3 turns: the score of one answer fails, twice."""
    overloaded = Act(status=500, headers={"Retry-After": "100"})
    with FakeLlm(rule="longer") as server:
        make_endpoint(base_url=server.base_url, name="arbiter", model="arbiter")
        Response.objects.filter(model="short").delete()
        one = Response.objects.filter(model="long").first()
        Response.objects.filter(pk=one.pk).update(text=f"What breaks? {one.text}")
        server.told = {"What breaks?": overloaded}
        asked = {"dataset": dataset, "evaluator": "arbiter", "candidates": ["long"]}
        runs = [replayed(**asked).run, replayed(**asked).run]
        failed = SatisfactionJudgment.objects.filter(status="FAILED")
        assert failed.values("run").distinct().count() == 2
        server.told = {}
        calls = server.stats()["calls"]
        for run in runs:
            reset_failed(run.pk)
            found = stored_replay(run_to_end(run.pk).pk, scale=ReplayScale.RAW)
            assert rows_of(found)["candidate", "long"].missing == 0
        assert server.stats()["calls"] == calls + 1
        assert not failed.exists()


def test_a_candidate_of_whom_nothing_is_scored_is_said_to_be_left_out(dataset):
    found = replayed(dataset=dataset, evaluator="lexical", candidates=["short", "long"])
    ReplayAnswer.objects.all().delete()
    SatisfactionJudgment.objects.filter(response__model="long").delete()
    before = found.made_at
    report_replay(found.run)
    again = stored_replay(found.run.pk, scale=found.scale)
    assert again.candidates == ("short",)
    (left,) = again.settings["left_out"]
    assert (left["candidate"], left["code"]) == ("long", "replay:not-scored")
    assert left["run"] == again.settings["scoring"]
    assert again.made_at > before


def test_an_endpoint_and_stored_responses_of_its_name_are_two_candidates(dataset):
    make_endpoint(name="short")
    for words in (["short", "responses:short"], ["responses:short", "short", "short"]):
        run = plan_replay(ReplayRequest(dataset, "lexical", words))
        names = {each["endpoint"]: each["name"] for each in run.config["candidates"]}
        assert len(run.config["candidates"]) == 2
        assert names == {"short": "short", "": "responses:short"}


def test_where_no_candidate_answers_the_run_fails(dataset):
    with FakeLlm() as server:
        server.faults = {"401": 1.0}
        name = make_endpoint(base_url=server.base_url, name="a", model="a").name
        run = replay_to_end(dataset=dataset, evaluator="lexical", candidates=[name])
    assert run.status == "FAILED"
    assert "run:failed" in run.error_code
    assert stored_replay(run.pk, scale=ReplayScale.RAW) is None


def test_a_replay_is_taken_up_where_it_was_left(dataset):
    """A dispatch of its first unit, then another worker: the generation goes on as it stood."""
    with FakeLlm() as server:
        server.reply = lambda model, prompt: f"An answer. {len(prompt)}"
        name = make_endpoint(base_url=server.base_url, name="a", model="a").name
        run = start(plan_replay(ReplayRequest(dataset, "lexical", [name])))
        following = dispatch(run.pk, generation=run.generation)
        run_batch(run.pk, following.generation, following.batches[0])
        asked = len(server.bodies)
        assert asked == 24
        assert stored_replay(run.pk, scale=ReplayScale.RAW) is None
        JudgeRun.objects.update(heartbeat_at=None)
        run = run_to_end(run.pk)
        assert (run.status, len(server.bodies)) == ("DONE", asked)
    assert GeneratedResponse.objects.filter(status="DONE").count() == 24
    assert stored_replay(run.pk, scale=ReplayScale.RAW).candidates == (name,)


def test_a_sample_and_the_hard_selection_score_all_originals_of_their_blocks(dataset):
    found = replayed(
        dataset=dataset, evaluator="lexical", candidates=["long"], items=items_named("sample:5")
    )
    assert {row.items for row in found.rows} == {5}
    whole = replayed(dataset=dataset, evaluator="lexical", candidates=["long"])
    columns = ("user", "turn", "calibrated")
    some = set(ReplayAnswer.objects.filter(run=found.run).values_list("candidate", *columns))
    # What is scored beside an answer does not move its score.
    assert some < set(ReplayAnswer.objects.filter(run=whole.run).values_list("candidate", *columns))
    hard = replayed(
        dataset=dataset, evaluator="lexical", candidates=["long"], items=items_named("hard:4")
    )
    first = {at for at, one in enumerate(replayable_turns(dataset.pk)) if one.turn.position == 0}
    assert len(first) == 8
    answered = ReplayAnswer.objects.filter(run=hard.run, candidate="")
    assert set(answered.values_list("turn__position", flat=True)) <= {1, 2}
    assert answered.values("user").distinct().count() == 4


def test_a_frozen_benchmark_is_replayed_turn_by_turn_as_it_was_built(dataset):
    sessions = Session.objects.filter(dataset=dataset).order_by("pk")[:3]
    items = [
        {
            "key": each.key,
            "messages": [
                {"role": "user", "text": turn.user_message}
                for turn in each.turns.order_by("position")
            ],
        }
        for each in sessions
    ]
    items[2]["messages"][-1]["text"] = "Edited by a reviewer"
    built = make_run(dataset, kind="CONSTRUCT")
    BenchmarkVersion.objects.create(version="v1", run=built, items=items)
    assert versions_built_of(dataset) == ["v1"]
    found = replayed(
        dataset=dataset, evaluator="lexical", candidates=["long"], items=items_named("version:v1")
    )
    assert found.settings["items"] == "version:v1"
    answered = ReplayAnswer.objects.filter(run=found.run, candidate="")
    told = set(answered.values_list("turn__session", "turn__position"))
    assert told == {(each.pk, 2) for each in sessions[:2]}


def test_what_cannot_be_replayed_is_refused(dataset):
    empty = make_ratings(people=1, turns=1)
    with pytest.raises(Refused, match="is no endpoint"):
        plan_replay(ReplayRequest(empty, "lexical", ["long"]))
    make_stored(empty)
    other = (GenerationContext.MEMORY,)
    with pytest.raises(Refused, match="'long' has responses only with the context prefix"):
        plan_replay(ReplayRequest(empty, "lexical", ["long"], other))
    with pytest.raises(Refused) as refused:
        plan_replay(ReplayRequest(empty, "lexical", ["long"], items=items_named("hard")))
    assert refused.value.code == "replay:no-turns"
    with pytest.raises(Refused) as refused:
        plan_replay(ReplayRequest(dataset, "lexical", []))
    assert refused.value.code == "replay:no-candidate"
    with pytest.raises(Refused) as refused:
        plan_replay(ReplayRequest(dataset, "nobody", ["long"]))
    assert refused.value.code == "judge:unknown"


def test_learning_from_too_few_is_refused_before_anybody_answers():
    few = make_ratings(people=3)
    make_stored(few)
    with pytest.raises(Refused, match="there are 3 users") as refused:
        plan_replay(ReplayRequest(few, "learned", ["long"]))
    assert refused.value.code == "learned:too-few-ratings"


def test_a_candidate_that_answered_less_is_compared_on_what_it_answered(dataset):
    Response.objects.filter(model="long", turn__position=0).delete()
    found = replayed(dataset=dataset, evaluator="lexical", candidates=["long", "short"])
    rows = rows_of(found)
    assert (rows["candidate", "long"].items, rows["candidate", "long"].missing) == (16, 8)
    assert (rows["candidate", "short"].missing, found.is_uneven) == (0, True)
    assert {pair.outcomes["micro"].n for pair in found.pairs if "long" in pair[:2]} == {16}
    assert stored_replay(found.run.pk, scale=ReplayScale.PAPER).pairs[0].outcomes["micro"].n == 16


def test_turns_without_a_request_are_not_replayed(dataset):
    before = len(replayable_turns(dataset.pk))
    session = dataset.sessions.first()
    make_response(make_turn(session, user_message=" "), text="Hello", original=True)
    make_response(make_turn(session, user_message="Hello?"), text=None, original=True)
    assert len(replayable_turns(dataset.pk)) == before
    make_response(make_turn(session, user_message="And then?"), text="So.", original=True)
    assert len(replayable_turns(dataset.pk)) == before + 1
