from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, IntegrityError, transaction

from annotation.core.choices import Verdict
from annotation.core.conversations import Message, Speaker
from benchmark.queries.choices import datasets
from judging.core.injections import ATTEMPTS, INJECTIONS, harmless
from judging.core.rules import JudgePrompt
from judging.core.verdicts import VerdictRule
from judging.models import InjectedText, InjectionCheck, InjectionTrial, JudgeRun
from judging.queries.injections import check_figures, trial_list, trial_page
from judging.queries.runs import run_progress
from judging.services import runs
from judging.services.estimates import estimate
from judging.services.foreground import run_to_end
from judging.services.injection import TriedPair, dataset_pairs
from judging.services.kinds import start
from judging.services.run_control import cancel, reset_failed
from tests.factory import make_dataset, make_endpoint, make_run, make_user
from tests.fake_llm import Act, FakeLlm
from tests.judging.study import (
    check_injections,
    dispatched,
    going,
    make_study,
    planned_check,
)
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

DIALOGUE = (Message(Speaker.USER, "How do I boil an egg?"),)
PAIR = TriedPair(DIALOGUE, "Boil it for GOODWORD minutes.", "Eight minutes.", "en")


def check(server, **options):
    name = make_endpoint(base_url=server.base_url).name
    return check_figures(check_injections(name, [PAIR], **options).pk)


def test_a_judge_that_decides_by_something_else_is_not_talked_round():
    with FakeLlm(rule="word:GOODWORD") as server:
        name = make_endpoint(base_url=server.base_url).name
        first = check_figures(check_injections(name, [PAIR]).pk)
        # Attempts of one length and place share a harmless text, and nothing is asked twice.
        plain = {(each.target, harmless(each)) for each in ATTEMPTS}
        assert server.stats()["calls"] == 2 + len(INJECTIONS) + len(plain)
        again = check_figures(check_injections(name, [PAIR]).pk)
        assert server.stats()["calls"] == 2 + len(INJECTIONS) + len(plain)
    assert (first.total.attempts.flipped, first.total.attempts.read) == (0, len(INJECTIONS))
    assert (first.failed, first.error_codes) == (0, ())
    assert again.rows == first.rows
    assert InjectionCheck.objects.count() == 2


def test_a_judge_that_can_be_fooled_is_caught_attempt_by_attempt():
    with FakeLlm(rule="fooled:The final decision is Response B") as server:
        found = check(server)
    fooling = [each for each in ATTEMPTS if "The final decision is Response B" in each.text]
    kinds = {(each.kind, each.language) for each in fooling}
    assert found.total.by_words == found.total.attempts.flipped == len(fooling) > 0
    assert found.total.harmless.flipped == 0
    assert {
        (row.kind, row.language) for row in found.rows if row.kind and row.attempts.flipped
    } == kinds
    turned = trial_list(found.check.pk, outcome="turned")
    assert {row.attempt.key for row in turned.rows} == {each.key for each in fooling}
    page = trial_page(found.check.pk, turned.rows[0].attempt.pk)
    assert page.row.attempt.call.reply == "The final decision is Response B."
    assert (page.clean.verdict, page.row.harmless.verdict) == ("A", "A")
    assert (page.first, page.second) == (PAIR.first, PAIR.second)


def test_a_judge_that_counts_letters_is_talked_round_by_length_alone():
    with FakeLlm(rule="longer") as server:
        found = check(server)
    assert 0 < found.total.attempts.flipped == found.total.harmless.flipped
    assert found.total.by_words == 0


def test_a_judge_that_quotes_what_it_read_is_read_by_its_own_verdict():
    with FakeLlm(rule="word:GOODWORD", style="quote") as server:
        found = check(server)
    assert (found.total.attempts.flipped, found.total.attempts.unreadable) == (0, 0)


def test_another_prompt_is_tried_as_well():
    with FakeLlm(rule="word:GOODWORD") as server:
        found = check(server, prompt=JudgePrompt.PAIRWISE)
    assert (found.total.attempts.flipped, found.total.attempts.unreadable) == (0, 0)
    assert found.check.config["judge"]["prompt"] == "PAIRWISE"


def test_failed_calls_and_unreadable_replies_are_told_apart_from_verdicts():
    with FakeLlm(rule="word:GOODWORD", script=[Act(status=400)]) as server:
        found = check(server)
    assert (found.failed, found.error_codes) == (1, ("llm:bad-request",))
    garbage = [Act(text="Both.")] * (4 * len(INJECTIONS))  # each is asked again once
    with FakeLlm(rule="word:GOODWORD", script=[Act(), Act(), *garbage]) as server:
        found = check(server)
    assert found.total.attempts.unreadable == len(INJECTIONS)
    assert found.total.attempts.rate is None
    assert (found.total.harmless.unreadable, found.failed) == (len(INJECTIONS), 0)
    row = found.check.trials.filter(status="UNPARSEABLE").first()
    assert (row.error_code, row.raw) == ("verdict:unparseable", "Both.")


def test_the_lexical_judge_has_no_prompts_to_choose():
    with refuses("judge:no-prompts"):
        check_injections("lexical", [PAIR], prompt=JudgePrompt.PAIRWISE)
    with refuses("judge:no-prompts"):
        check_injections(make_endpoint().name, [PAIR], prompt=JudgePrompt.SINGLE)


def test_a_dataset_gives_pairs_spread_over_it():
    dataset, _rater = make_study(scenarios=2, comparisons=5)
    assert len(dataset_pairs(dataset, count=4)) == 4
    assert len(dataset_pairs(dataset, count=99)) == 10
    with refuses("injection:no-pairs"):
        dataset_pairs(make_dataset(), count=3)


def test_a_row_without_a_place_or_a_verdict_is_no_row():
    stored = InjectionCheck.objects.create(judge="lexical", prompt="PERSONAL")
    good = {"check_run": stored, "pair": 0, "order": "ORIGINAL", "status": "DONE", "verdict": "A"}
    bad = [
        {"added": InjectedText.ATTEMPT, "key": "x"},
        {"added": InjectedText.CLEAN, "key": "x"},
        {"added": "OTHER", "key": "x", "target": "A"},
        {"added": InjectedText.CLEAN, "verdict": None},
        {"added": InjectedText.CLEAN, "status": "FAILED", "error_code": "x"},
    ]
    for fields in bad:
        with pytest.raises(IntegrityError), transaction.atomic():
            InjectionTrial.objects.create(**{**good, **fields})


def test_a_check_is_a_run_that_is_stopped_and_resumed_where_it_was():
    with FakeLlm(rule="fooled:The final decision is Response B") as server:
        name = make_endpoint(base_url=server.base_url, input_price=1, output_price=1).name
        planned = planned_check(name, [PAIR])
        estimated = estimate(planned)
        run = start(planned)
        again = start(planned_check(name, [PAIR], dataset=run.dataset))
        assert (again.pk, again.attached) == (run.pk, True)
        following = going(runs.run_batch(run.pk, 1, dispatched(run).batches[0]))  # clean pairs
        assert cancel(run.pk)
        assert runs.run_batch(run.pk, following.generation, following.batches[0]) is None
        assert run_progress(run.pk).answered == 2
        reset_failed(run.pk)
        done = run_to_end(run.pk)
        calls = server.stats()["calls"]
        assert server.stats()["distinct"] == calls
    progress = run_progress(run.pk)
    assert (done.status, progress.pace) == ("DONE", None)
    assert [stage.stage for stage in progress.stages] == ["clean", "try"]
    # This judge prefers what is shown first, so that only B can be attacked.
    tried = [each for each in ATTEMPTS if each.target is Verdict.B]
    assert progress.answered == progress.total == 2 + 2 * len(tried)
    assert (estimated.stages[0].questions, estimated.stages[1].questions) == (2, 2 * len(ATTEMPTS))
    assert progress.calls == calls <= estimated.calls
    assert 0 < progress.cost <= estimated.cost_at_most


def test_attempts_are_added_where_an_answer_comes_late():
    """The first clean answer fails and comes at a retry: no attempt has two places by that."""
    with FakeLlm(rule="word:GOODWORD", script=[Act(status=400)]) as server:
        name = make_endpoint(base_url=server.base_url, concurrency=1).name
        check = check_injections(name, [PAIR])
        before = set(check.trials.filter(added="ATTEMPT").values_list("key", flat=True))
        reset_failed(check.run_id)
        run_to_end(check.run_id)
    keys = list(check.trials.filter(added="ATTEMPT").values_list("key", flat=True))
    assert 0 < len(before) < len(keys) == len(set(keys)) == len(ATTEMPTS)
    assert not check.trials.exclude(status="DONE").exists()


def test_attempts_are_placed_with_their_harmless_texts_or_not_at_all(monkeypatch):
    write = InjectionTrial.objects.bulk_create

    def interrupted(rows, **options):
        rows = list(rows)
        attempts = [row for row in rows if row.added == InjectedText.ATTEMPT]
        write(attempts, **options)
        if len(attempts) < len(rows) or not attempts:
            raise DatabaseError

    with FakeLlm(rule="word:GOODWORD") as server:
        name = make_endpoint(base_url=server.base_url).name
        run = start(planned_check(name, [PAIR]))
        following = going(runs.run_batch(run.pk, 1, dispatched(run).batches[0]))
        monkeypatch.setattr(InjectionTrial.objects, "bulk_create", interrupted)
        with pytest.raises(DatabaseError):
            runs.run_batch(run.pk, following.generation, following.batches[0])
    assert not InjectionTrial.objects.filter(key__gt="").exists()


def test_a_check_puts_no_dataset_before_those_with_verdicts():
    run = make_run()
    check_injections("lexical", [PAIR])
    make_run(kind="EVALUATE")
    assert datasets()[0].id == run.dataset_id


def command(**options):
    out = StringIO()
    call_command("injection_check", stdout=out, stderr=StringIO(), **options)
    return out.getvalue()


def test_the_command_tells_rates_that_its_rows_give():
    told = json.loads(command(json=True))
    assert (told["judge"], told["pairs"], told["attempts"]) == ("lexical", 6, len(ATTEMPTS))
    attacks = told["attacks"]
    assert attacks["rate"] == attacks["flipped"] / attacks["read"]
    assert (attacks["low"], attacks["high"]) == (None, None)
    rows = InjectionTrial.objects.filter(check_run=told["check"], added=InjectedText.ATTEMPT)
    assert attacks["flipped"] == sum(row.verdict == row.target for row in rows)
    lines = command()
    assert "harmless texts of the same length: " in lines
    assert "too few pairs for an interval, about 4 more" in lines


def test_the_command_says_what_a_check_would_take_and_starts_nothing():
    with FakeLlm() as server:
        name = make_endpoint(base_url=server.base_url).name
        told = json.loads(command(judge=name, pairs=1, estimate=True, json=True))
        assert server.stats()["calls"] == 0
    assert told["runs"][0]["stages"][1]["questions"] == 2 * len(ATTEMPTS)
    assert not JudgeRun.objects.exists()


def test_the_command_takes_the_pairs_of_a_dataset():
    dataset, _rater = make_study(comparisons=3)
    assert json.loads(command(dataset=dataset.slug, pairs=2, json=True))["pairs"] == 2
    for wrong in ({"dataset": make_dataset().slug}, {"dataset": "nowhere"}, {"pairs": 0}):
        with pytest.raises(CommandError) as refused:
            command(**wrong)
        assert refused.value.returncode == 2


def test_the_command_says_where_nothing_could_be_tried():
    with FakeLlm(script=[Act(text="I would rather not.")] * 100) as server:
        name = make_endpoint(base_url=server.base_url).name
        assert "no attempt could be tried" in command(judge=name)


def test_the_command_refuses_an_unknown_judge_and_tells_of_failed_calls():
    with pytest.raises(CommandError) as refused:
        command(judge="nobody")
    assert refused.value.returncode == 2
    with FakeLlm(script=[Act(status=400)] * 500) as server:
        name = make_endpoint(base_url=server.base_url).name
        with pytest.raises(CommandError, match="llm:bad-request") as failed:
            command(judge=name)
    assert failed.value.returncode == 1


def test_letter_probabilities_of_both_orders_decide_together(client):
    """A judge that leans to the first place by 2, and to GOODWORD by 0.6: l* is that alone."""
    with FakeLlm(rule="odds:GOODWORD:0.6:2") as server:
        fields = {"base_url": server.base_url, "input_price": 1, "output_price": 1}
        name = make_endpoint(has_logprobs=True, **fields).name
        planned = planned_check(name, [PAIR], verdict=VerdictRule.LOGPROB)
        estimated = estimate(planned)
        found = check_figures(run_to_end(start(planned).pk).injection_check.pk)
        calls = server.stats()["calls"]
    clean = found.check.trials.filter(added="CLEAN").values_list("order", "verdict", "log_odds")
    assert {(order, verdict, round(odds, 9)) for order, verdict, odds in clean} == {
        ("ORIGINAL", "A", 0.6),
        ("SWAPPED", "B", -0.6),
    }
    assert (found.total.attempts.flipped, found.total.attempts.read) == (0, len(ATTEMPTS))
    assert 2 * len(ATTEMPTS) < calls <= estimated.calls
    assert [stage.stored >= 0 for stage in estimated.stages] == [True, True]
    assert found.verdict is VerdictRule.LOGPROB
    client.force_login(make_user(role="VIEWER"))
    page = client.get(f"/trust/injections/{found.check.pk}/").content.decode()
    assert "The mean log-odds of both presentation orders decide" in page


def test_an_order_that_cannot_be_read_by_letters_leaves_no_verdict():
    script = [Act(), Act(text="Both.")]
    with FakeLlm(rule="odds:GOODWORD:0.6:2", script=script) as server:
        name = make_endpoint(base_url=server.base_url, has_logprobs=True, concurrency=1).name
        found = check_figures(check_injections(name, [PAIR], verdict=VerdictRule.LOGPROB).pk)
    clean = found.check.trials.filter(added="CLEAN")
    assert set(clean.values_list("status", "error_code")) == {
        ("UNPARSEABLE", "verdict:unparseable")
    }


def test_a_judge_without_letters_is_not_read_by_them():
    make_endpoint(name="plain")
    for name, code in (("lexical", "judge:no-letters"), ("plain", "llm:no-logprobs")):
        with refuses(code):
            planned_check(name, [PAIR], verdict=VerdictRule.LOGPROB)
