"""What an endpoint can do: asked once, kept, and asked again where it was not told."""

from __future__ import annotations

from contextlib import nullcontext

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from annotation.models import Response
from judging.core.rules import PairwiseSettings
from judging.core.verdicts import VerdictRule
from judging.models import JudgeRun, LlmCall, ModelEndpoint
from judging.services import abilities, runs
from judging.services.abilities import (
    SlowReply,
    could_read_letters,
    find_abilities,
    slow_replies,
)
from judging.services.endpoints import endpoint_of, endpoint_row_from_settings
from judging.services.estimate_tallies import tight_requests
from judging.services.estimates import estimate_all
from judging.services.foreground import run_to_end
from judging.submission import submit
from judging.templatetags.run_settings import tight_request_text
from tests.clock import PATIENCE, HandClock, deadline_at
from tests.factory import make_endpoint
from tests.fake_llm import Act, FakeLlm
from tests.judging.study import make_study, planned_test, start_distillation, start_test_run
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

UNKNOWN = {
    "has_logprobs": None,
    "has_json_schema": None,
    "has_system_role": None,
    "measured_address": "",
}
HELLO = Act(text='{"greeting_in_french": "bonjour"}')
PLAIN = Act()
REFUSED = Act(status=400)


def refusing(said, status=400):
    return Act(status=status, body={"error": {"message": said}})


NO_LETTERS = refusing("logprobs is not supported by this model")
NO_SCHEMA = refusing("This response_format type is unavailable now")
NO_SYSTEM = refusing("System role not supported", status=500)


def unknown(server, **fields):
    return make_endpoint(base_url=server.base_url, **(UNKNOWN | fields))


def known(row):
    row = ModelEndpoint.objects.get(pk=row.pk)
    return tuple(row.can(ability) for ability in ("logprobs", "json_schema", "system_role"))


@pytest.mark.parametrize(
    ("script", "logprobs", "expected"),
    [
        ([PLAIN, HELLO, PLAIN], True, (True, True, True)),
        ([PLAIN, PLAIN, PLAIN], True, (True, False, True)),
        ([PLAIN, Act(text='["bonjour"]'), PLAIN], False, (False, False, True)),
        ([NO_LETTERS, PLAIN, NO_SCHEMA, PLAIN, NO_SYSTEM, PLAIN], True, (False, False, False)),
        # A refusal that names nothing says nothing; neither does one of everything.
        ([REFUSED, HELLO, PLAIN], True, (None, True, True)),
        ([REFUSED, REFUSED, REFUSED], True, (None, None, None)),
        ([Act(text=""), Act(text='{"answer": "bonjour"}'), PLAIN], True, (False, False, True)),
        # What fails says nothing, and what was found before it stands.
        ([Act(status=500)], True, (None, None, None)),
        ([PLAIN, Act(drop=True)], True, (True, None, None)),
        ([Act(status=401)], True, (None, None, None)),
    ],
)
def test_one_small_request_tells_of_each(script, logprobs, expected):
    with FakeLlm(script=script, logprobs=logprobs) as server:
        row = unknown(server)
        find_abilities(row)
        spoke = len(script) > 2  # to the end: then its speed is measured
        assert server.stats()["calls"] == len(script) + spoke
    assert known(row) == expected
    assert ModelEndpoint.objects.get(pk=row.pk).is_measured is spoke
    assert all(len(str(body["messages"])) < 200 for body in server.bodies)
    assert not LlmCall.objects.exists()


def test_what_is_known_is_not_asked_again():
    with FakeLlm() as server:
        row = unknown(server)
        find_abilities(row)
        find_abilities(ModelEndpoint.objects.get(pk=row.pk))
        find_abilities(make_endpoint(base_url=server.base_url))  # somebody stated it all
        find_abilities(unknown(server, has_scores=True))  # a reward model is no chat
        assert server.stats()["calls"] == 4
        find_abilities(row, again=True)
        assert server.stats()["calls"] == 8


def test_an_endpoint_that_is_down_stays_unknown_and_is_asked_the_next_time():
    row = make_endpoint(**UNKNOWN)  # nobody listens there
    find_abilities(row)
    assert known(row) == (None, None, None)
    assert endpoint_of(row).has_system_role
    with FakeLlm() as server:
        ModelEndpoint.objects.filter(pk=row.pk).update(base_url=server.base_url)
        find_abilities(ModelEndpoint.objects.get(pk=row.pk))
    assert known(row) == (True, False, True)


@pytest.mark.parametrize("change", [{"model": "another"}, {"base_url": "http://127.0.0.1:9/v2"}])
def test_another_model_or_address_is_unknown_again(change):
    with FakeLlm() as server:
        row = unknown(server)
        find_abilities(row)
        ModelEndpoint.objects.filter(pk=row.pk).update(**change)
        assert known(row) == (None, None, None)
        row.refresh_from_db()
        assert not endpoint_of(row).has_logprobs
        ModelEndpoint.objects.filter(pk=row.pk).update(base_url=server.base_url)
        row.refresh_from_db()
        row.model = "another"
        row.save()
        server.script.extend([NO_LETTERS, PLAIN])
        find_abilities(row)
    assert known(row) == (False, False, True)


def test_nothing_that_was_known_of_another_model_is_kept_where_this_one_does_not_answer():
    with FakeLlm() as server:
        row = unknown(server)
        find_abilities(row)
        row.model = "another"
        row.save()
        server.script.extend([PLAIN, Act(status=500)])
        find_abilities(row)
    assert known(row) == (True, None, None)


def test_the_settings_endpoint_is_asked_anew_when_they_name_another_model(settings):
    with FakeLlm() as server:
        settings.LLM_BASE_URL, settings.LLM_MODEL = server.base_url, "small"
        row = endpoint_row_from_settings()
        find_abilities(row)
        assert known(row) == (True, False, True)
        settings.LLM_MODEL = "large"
        assert known(endpoint_row_from_settings()) == (None, None, None)


def test_a_run_asks_at_its_first_use_and_counts_its_own_calls_alone():
    dataset, annotator = make_study()
    with FakeLlm() as server:
        endpoint = unknown(server)
        run = start_test_run(
            dataset=dataset, annotator=annotator, judge=endpoint.name, with_sets=False
        )
        run_to_end(run.pk)
        paid = LlmCall.objects.filter(run=run).count()
        assert server.stats()["calls"] == paid + 4
        assert known(endpoint) == (True, False, True)
        runs.dispatch(run.pk)
        assert server.stats()["calls"] == paid + 4


def test_a_run_whose_endpoint_cannot_be_asked_at_all_says_so_by_its_batch():
    dataset, annotator = make_study()
    endpoint = make_endpoint(**UNKNOWN)
    run = start_test_run(dataset=dataset, annotator=annotator, judge=endpoint.name, with_sets=False)
    ModelEndpoint.objects.filter(pk=endpoint.pk).update(base_url="ftp://127.0.0.1/v1")
    done = run_to_end(run.pk)
    assert (done.status, done.error_code) == ("FAILED", "llm:bad-endpoint")


def test_letters_of_an_endpoint_that_was_down_are_asked_for_all_the_same():
    dataset, annotator = make_study()
    row = make_endpoint(**UNKNOWN)
    run = start_test_run(
        dataset=dataset,
        annotator=annotator,
        judge=row.name,
        with_sets=False,
        verdict=VerdictRule.LOGPROB,
    )
    with FakeLlm() as server:
        # It comes up, but nothing can be told of it at once.
        server.script.append(Act(status=500))
        ModelEndpoint.objects.filter(pk=row.pk).update(base_url=server.base_url)
        run_to_end(run.pk)
    assert known(row) == (None, None, None)
    assert set(run.judgments.values_list("status", flat=True)) == {"DONE"}


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_an_endpoint_that_hangs_is_asked_for_letters(monkeypatch):
    dataset, annotator = make_study()
    asked, probe = [], abilities._probe

    async def noted(endpoint, wanted, *rest):
        asked.append((tuple(wanted), await sync_to_async(lambda: connection.in_atomic_block)()))
        return await probe(endpoint, wanted, *rest)

    monkeypatch.setattr(abilities, "_probe", noted)
    monkeypatch.setattr(abilities, "LETTERS_WAIT_SECONDS", 0.1)
    with FakeLlm(latency=5) as server:
        row = unknown(server)
        by_letters = {"judge": row.name, "with_sets": False, "verdict": VerdictRule.LOGPROB}
        rest = {"dataset": dataset, "annotator": annotator}
        started = submit(planned_test(**rest, **by_letters) for _equal in range(2))
    assert asked == [(("logprobs",), False)]  # once for both, and the rest by the first dispatch
    assert [run.attached for run in started] == [False, True]


def test_a_distillation_that_was_read_by_letters_is_not_followed_where_there_are_none():
    dataset, annotator = make_study()
    with FakeLlm() as server:
        endpoint = make_endpoint(base_url=server.base_url, has_logprobs=True)
        asked = {"dataset": dataset, "annotator": annotator}
        rules = PairwiseSettings(verdict_rule=VerdictRule.LOGPROB)
        run_to_end(start_distillation(**asked, settings=rules, judge=endpoint.name).pk)
    other = make_endpoint()
    with refuses("llm:no-logprobs"):
        planned_test(**asked, judge=other.name)
    with refuses("run:writer-not-read"):
        planned_test(**asked, judge="lexical")
    assert planned_test(**asked, judge=endpoint.name).config["verdict_rule"] == "LOGPROB"


def test_letters_are_recommended_where_they_are_known_and_not_read():
    dataset, annotator = make_study()
    able, unable = make_endpoint(has_logprobs=True), make_endpoint()
    asked = {"dataset": dataset, "annotator": annotator, "with_sets": False}
    planned = [
        planned_test(**asked, judge=able.name),
        planned_test(**asked, judge=able.name),
        planned_test(**asked, judge=unable.name),
        planned_test(**asked, judge="lexical"),
    ]
    assert could_read_letters(planned) == (able.name,)
    read = planned_test(**asked, judge=able.name, verdict=VerdictRule.LOGPROB)
    assert could_read_letters([read]) == ()


COUNTED = " ".join(map(str, range(1, 31)))  # 20 pieces, of 21 tokens


def measured(row):
    row = ModelEndpoint.objects.get(pk=row.pk)
    return row.told_context, row.speed


WHOLE = {"choices": [{"message": {"content": COUNTED}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    ("listed", "act", "window", "speed"),
    [
        # 19 times a tenth between the first piece and the last, of 20 tokens.
        ({"max_model_len": 4096}, Act(text=COUNTED), 4096, 20 / 1.9),
        # In one piece, the waiting counts: a tenth until it is over.
        ({}, Act(body=WHOLE | {"usage": {"completion_tokens": 21}}), None, 210),
        ({"meta": {"n_ctx": 2048}}, Act(text="No."), 2048, None),
        ({"meta": {"n_ctx": 2048}}, REFUSED, 2048, None),
    ],
)
def test_the_context_is_as_listed_and_the_speed_as_measured(
    monkeypatch, listed, act, window, speed
):
    monkeypatch.setattr(abilities, "time", HandClock(tick=0.1))
    with FakeLlm(script=[act]) as server:
        server.models = [{"id": "fake", **listed}]
        row = make_endpoint(base_url=server.base_url, measured_address="")
        find_abilities(row)
        find_abilities(ModelEndpoint.objects.get(pk=row.pk))
        assert server.stats()["calls"] == 1
    told, wrote = measured(row)
    assert told == window
    assert wrote == (None if speed is None else pytest.approx(speed))


def test_a_slow_model_is_measured_by_what_it_wrote_in_time(monkeypatch):
    monkeypatch.setattr(abilities, "time", clock := HandClock(tick=0.1))
    in_time = deadline_at(lambda: clock.readings == 1 + 10)  # at the start, and of ten pieces
    monkeypatch.setattr(abilities, "deadline", in_time)
    with FakeLlm(script=[Act(text=COUNTED, stalls_after=10)]) as server:
        row = make_endpoint(base_url=server.base_url, measured_address="")
        find_abilities(row, wait=PATIENCE)
    assert measured(row)[1] == pytest.approx(10)


def test_what_was_measured_of_another_model_says_nothing():
    row = make_endpoint(found_context_tokens=4096, found_tokens_per_second=3.0)
    assert measured(row) == (4096, 3.0)
    ModelEndpoint.objects.update(model="another")
    assert measured(row) == (None, None)


def test_an_endpoint_that_hangs_or_is_down_is_measured_the_next_time():
    row = make_endpoint(measured_address="")
    find_abilities(row)
    with FakeLlm(script=[Act(delay=5)]) as server:
        ModelEndpoint.objects.update(base_url=server.base_url)
        server.models = 404  # none, so nothing says that it is there
        row.refresh_from_db()
        find_abilities(row, wait=0.3)
        row.refresh_from_db()
        assert not row.is_measured
        find_abilities(row)
    row.refresh_from_db()
    assert row.is_measured


def test_of_an_endpoint_that_is_there_but_says_nothing_in_time_a_bound_is_kept(monkeypatch):
    with FakeLlm(script=[Act(delay=PATIENCE)] * 2) as server:
        monkeypatch.setattr(abilities, "deadline", deadline_at(lambda: server.bodies))
        row = make_endpoint(base_url=server.base_url, measured_address="")
        find_abilities(row, wait=PATIENCE)
        find_abilities(ModelEndpoint.objects.get(pk=row.pk), wait=PATIENCE)
        assert server.stats()["calls"] == 1
    assert measured(row) == (None, 0.8)  # 48 tokens in 60 seconds


@pytest.mark.parametrize("status", [401, 402, 403, 404])
def test_an_endpoint_that_refuses_the_asker_is_measured_the_next_time(status):
    with FakeLlm(script=[Act(status=status), Act(text=COUNTED)]) as server:
        row = make_endpoint(base_url=server.base_url, measured_address="")
        find_abilities(row)
        assert not ModelEndpoint.objects.get(pk=row.pk).is_measured
        find_abilities(row)
    assert measured(row)[1] is not None


@pytest.mark.parametrize(("status", "calls"), [(401, 0), (402, 0), (403, 0), (404, 1)])
def test_only_a_list_of_models_that_is_not_there_is_passed_over(status, calls):
    with FakeLlm() as server:
        server.models = status
        row = make_endpoint(base_url=server.base_url, measured_address="")
        find_abilities(row)
        assert server.stats()["calls"] == calls
    assert ModelEndpoint.objects.get(pk=row.pk).is_measured is bool(calls)


LETTERS = {"with_sets": False, "verdict": VerdictRule.LOGPROB}


def test_letters_that_an_endpoint_lacks_are_refused_in_an_estimate_and_at_the_start():
    dataset, annotator = make_study()
    asked = {"dataset": dataset, "annotator": annotator, **LETTERS}
    with FakeLlm(logprobs=False) as server:
        row = unknown(server)
        planned = planned_test(judge=row.name, **asked)
        with refuses("llm:no-logprobs"):
            estimate_all([planned])
        with refuses("llm:no-logprobs"):
            start_test_run(judge=row.name, **asked)
        assert server.stats()["calls"] == 2  # for the letters, and for the speed
    assert not JudgeRun.objects.exists()


def test_longer_requests_than_the_context_are_refused_in_an_estimate_and_at_the_start():
    dataset, annotator = make_study()
    row = make_endpoint(found_context_tokens=40, max_tokens=1024)
    asked = {"dataset": dataset, "annotator": annotator, "judge": row.name, "with_sets": False}
    said = r"takes 40 tokens, and (\d+) of \1 .*at least \d+.*LLM_CONTEXT_TOKENS.*test the endpoint"
    with refuses("llm:context", match=said):
        estimate_all([planned_test(**asked)])
    with refuses("llm:context"):
        submit([planned_test(**asked)])
    assert not JudgeRun.objects.exists()


def test_one_request_that_is_too_long_is_told_and_fails_alone():
    dataset, annotator = make_study()
    row = make_endpoint(found_context_tokens=1100, max_tokens=64)
    longest = Response.objects.filter(turn__session__dataset=dataset).first()
    Response.objects.filter(pk=longest.pk).update(text="far too long " * 1000)
    planned = planned_test(dataset=dataset, annotator=annotator, judge=row.name, with_sets=False)
    estimate_all([planned])
    (told,) = tight_requests([planned])
    assert told.is_beyond
    assert 1100 < told.fewest < told.most
    assert "calls like it will fail" in tight_request_text(told)


def test_a_request_that_may_fit_the_context_is_told_and_goes_on():
    dataset, annotator = make_study()
    row = make_endpoint(found_context_tokens=1100, max_tokens=1024)
    asked = {"dataset": dataset, "annotator": annotator, "judge": row.name, "with_sets": False}
    planned = planned_test(**asked)
    estimate_all([planned])
    (told,) = tight_requests([planned, planned])
    assert (told.judge, told.context) == (row.name, 1100)
    assert told.fewest < 1100 < told.most
    assert not told.is_beyond
    assert "calls like it may fail" in tight_request_text(told)
    assert tight_requests(submit([planned_test(**asked)])) == (told,)
    ModelEndpoint.objects.update(max_tokens=64)
    planned = planned_test(**asked)
    estimate_all([planned])
    assert tight_requests([planned]) == ()


@pytest.mark.parametrize(("listed", "known"), [(4096, 4096), (16, 40), ("many", 40)])
def test_before_a_refusal_the_context_is_listed_once_more(listed, known):
    """A server that was started again may take more, and nobody has to say so."""
    dataset, annotator = make_study()
    with FakeLlm() as server:
        server.models = [{"id": "fake", "max_model_len": listed}]
        row = make_endpoint(base_url=server.base_url, found_context_tokens=40, max_tokens=64)
        asked = {"dataset": dataset, "annotator": annotator, "judge": row.name}
        with nullcontext() if known > 40 else refuses("llm:context"):
            assert estimate_all([planned_test(**asked, with_sets=False)])
        assert server.stats()["calls"] == 0
    assert measured(row)[0] == known


def test_one_letter_leaves_the_context_to_the_prompt():
    dataset, annotator = make_study()
    row = make_endpoint(found_context_tokens=1100, max_tokens=1024, has_logprobs=True)
    asked = {"dataset": dataset, "annotator": annotator, "judge": row.name}
    assert estimate_all([planned_test(**asked, **LETTERS)])[0].calls


def test_the_context_that_a_refused_call_names_is_kept():
    dataset, annotator = make_study()
    said = {"message": "too long", "type": "exceed_context_size_error", "n_ctx": 30}
    with FakeLlm() as server:
        row = make_endpoint(base_url=server.base_url, found_tokens_per_second=9.0)
        server.script.extend([Act(status=400, body={"error": said})] * 2)
        asked = {"dataset": dataset, "annotator": annotator, "judge": row.name}
        run_to_end(start_test_run(**asked, with_sets=False).pk)
    assert measured(row) == (30, 9.0)
    with refuses("llm:context"):
        start_test_run(**asked, with_sets=False)


def test_a_reply_that_cannot_come_in_time_is_told():
    dataset, annotator = make_study()
    slow = {"found_tokens_per_second": 2.0, "timeout_seconds": 120, "has_logprobs": True}
    row, quick = make_endpoint(max_tokens=1024, **slow), make_endpoint(max_tokens=64, **slow)
    asked = {"dataset": dataset, "annotator": annotator, "with_sets": False}
    by_words = planned_test(judge=row.name, **asked)
    by_letter = planned_test(judge=row.name, **asked, verdict=VerdictRule.LOGPROB)
    (told,) = slow_replies([by_words, by_words, planned_test(judge=quick.name, **asked)])
    assert told == SlowReply(row.name, 1024, 2.0, 120)
    assert told.seconds == 512
    assert slow_replies([by_letter]) == ()
    written = make_endpoint(has_logprobs=True)
    distilled = start_distillation(
        dataset=dataset,
        annotator=annotator,
        judge=row.name,
        settings=PairwiseSettings(verdict_rule=VerdictRule.LOGPROB),
    )
    assert slow_replies([distilled]) == (told,)
    distilled.writer, distilled.writer_endpoint = written.name, written
    assert slow_replies([distilled]) == ()
