"""Whole runs at servers that differ from the textbook, over HTTP."""

from __future__ import annotations

import json

import pytest

from annotation.core.refusals import Refused
from judging.core.manners import PLAIN, Manners
from judging.core.verdicts import VerdictRule
from judging.llm.errors import ENDPOINT_WIDE, LlmError
from judging.models import LlmCall, ModelEndpoint
from judging.queries.runs import run_progress
from judging.services.abilities import check_answers, note_manners
from judging.services.batch_files import batch_lines
from judging.services.foreground import run_to_end
from judging.services.run_control import reset_failed
from tests.factory import make_endpoint
from tests.fake_llm import Act, FakeLlm
from tests.judging.services.test_abilities import UNKNOWN, known
from tests.judging.study import make_study, planned_test, start_test_run
from tests.llm_manners import FAILING, TEACHING, always, manner_of, refused

pytestmark = [pytest.mark.django_db, pytest.mark.llm_faults]


@pytest.fixture
def server():
    with FakeLlm() as server:
        yield server


def judged(row, *, verdict=VerdictRule.STRICT):
    """A run over eight judgments that the endpoint was asked for, to its end."""
    dataset, rater = make_study(comparisons=4)
    run = start_test_run(
        dataset=dataset, annotator=rater, judge=row.name, with_sets=False, verdict=verdict
    )
    return run_to_end(run.pk)


def of_rows(run, *names):
    return set(run.judgments.values_list(*names))


def taught(row):
    return ModelEndpoint.objects.get(pk=row.pk).manners


@pytest.mark.parametrize("name", TEACHING)
@pytest.mark.parametrize("stated", [True, False], ids=["in-the-run", "before-it"])
def test_no_row_fails_at_an_endpoint_that_says_what_it_takes(server, name, stated):
    server.manner = manner_of(name)
    row = make_endpoint(base_url=server.base_url, concurrency=8, **({} if stated else UNKNOWN))
    run = judged(row)
    assert (run.status, of_rows(run, "status", "error_code")) == ("DONE", {("DONE", "")})
    assert LlmCall.objects.filter(run=run).count() == run.judgments.count()
    calls = server.stats()["calls"]
    assert judged(row).status == "DONE"
    assert server.stats()["calls"] == calls + 8  # it is asked the right way from the first call on


@pytest.mark.parametrize("name", ["five-alternatives", "streams-only", "new-limit", "at-least"])
def test_letters_are_read_at_an_endpoint_that_says_what_it_takes(server, name):
    server.manner = manner_of(name)
    row = make_endpoint(base_url=server.base_url, concurrency=4, **UNKNOWN)
    if name == "at-least":  # it then writes more than a letter
        server.manner = lambda body: manner_of(name)(body) or Act(text="A")
    run = judged(row, verdict=VerdictRule.LOGPROB)
    assert of_rows(run, "status") == {("DONE",)}
    assert known(row)[0] is True


@pytest.mark.parametrize("name", TEACHING)
def test_the_test_of_an_endpoint_learns_how_to_ask_it(server, name):
    server.manner = manner_of(name)
    row = make_endpoint(base_url=server.base_url, max_tokens=1024, **UNKNOWN)
    check_answers(row)
    assert None not in known(row)
    expected = {"five-alternatives": "alternatives", "streams-only": "streamed", "warm": "0.01"}
    assert expected.get(name, "") in " ".join(row.lessons)
    check_answers(row)  # again from the beginning
    assert None not in known(row)


@pytest.mark.parametrize("name", FAILING)
def test_a_failure_has_its_code_and_the_words_of_the_endpoint(server, name):
    act, code, words = FAILING[name]
    server.manner = always(act)
    row = make_endpoint(base_url=server.base_url, concurrency=1, **UNKNOWN)
    run = judged(row)
    assert run.status == "FAILED"
    failed = run.judgments.filter(status="FAILED")
    assert set(failed.values_list("error_code", "raw")) == {(code, words)}
    assert run_progress(run.pk).said == {code: words}
    assert not LlmCall.objects.exists()
    assert known(row) == (None, None, None)
    if code in ENDPOINT_WIDE:
        assert (run.error_code, run.error_detail) == ("run:endpoint-down", f"{code}: {words}")
    server.manner = lambda _body: None
    assert reset_failed(run.pk) == run.judgments.count()
    assert of_rows(run_to_end(run.pk), "status") == {("DONE",)}


@pytest.mark.parametrize("name", FAILING)
def test_the_test_of_an_endpoint_says_that_it_answered_only_if_it_did(server, name):
    act, code, words = FAILING[name]
    server.manner = always(act)
    row = make_endpoint(base_url=server.base_url, **UNKNOWN)
    with pytest.raises(LlmError) as failure:
        check_answers(row)
    assert (failure.value.code, failure.value.detail) == (code, words)
    assert known(row) == (None, None, None)
    assert taught(row) is PLAIN


def test_what_was_learned_under_a_wrong_key_is_forgotten_once_a_test_succeeds(server):
    row = make_endpoint(
        base_url=server.base_url,
        has_logprobs=False,
        has_json_schema=False,
        has_system_role=False,
        learned_manners={"limit_name": "max_completion_tokens", "logprobs": False},
        manners_address=f"{server.base_url} test-model",
    )
    assert row.can("logprobs") is False
    server.manner = manner_of("key-400")
    with pytest.raises(LlmError):
        check_answers(row)
    assert known(row) == (False, False, False)
    server.manner = lambda _body: None
    check_answers(row)
    assert known(row) == (True, False, True)  # the stand-in writes no JSON
    assert (taught(row), row.lessons) == (PLAIN, [])


def test_a_choice_that_failed_once_is_asked_again_and_no_empty_reply_is_kept(server):
    seen = set()

    def once(body):
        is_new = (text := json.dumps(body["messages"])) not in seen
        seen.add(text)
        return FAILING["choice-error-200"][0] if is_new else None

    server.manner = once
    run = judged(make_endpoint(base_url=server.base_url))
    assert of_rows(run, "status") == {("DONE",)}
    assert not LlmCall.objects.filter(reply="").exists()


@pytest.mark.parametrize(("usage", "held"), [(None, True), ({}, False)])
def test_a_failure_within_a_success_is_paid_for_if_it_counts_tokens(server, usage, held):
    message = {"role": "assistant", "content": None, "refusal": "No."}
    server.manner = always(Act(message=message, usage=usage))
    row = make_endpoint(base_url=server.base_url, output_price=100, input_price=10)
    dataset, rater = make_study(comparisons=2)
    run = start_test_run(
        dataset=dataset, annotator=rater, judge=row.name, with_sets=False, budget=100
    )
    run = run_to_end(run.pk)
    assert of_rows(run, "error_code") == {("llm:refusal",)}
    assert (run.held > 0) is held


def test_a_batch_file_is_written_the_way_the_endpoint_takes(server):
    server.manner = manner_of("new-limit")
    row = make_endpoint(base_url=server.base_url, **UNKNOWN)
    dataset, rater = make_study(comparisons=2)
    asked = {"dataset": dataset, "annotator": rater, "judge": row.name, "with_sets": False}
    run = start_test_run(**asked, batch_file=True)
    bodies = [json.loads(line)["body"] for line in batch_lines([run])]
    assert len(bodies) == 4
    assert {"max_completion_tokens"} == {
        name for body in bodies for name in body if name.startswith("max")
    }
    calls = server.stats()["calls"]
    list(batch_lines([run]))
    assert server.stats()["calls"] == calls  # it is known now


def test_a_batch_file_of_an_endpoint_that_cannot_be_asked_is_written_as_usual(monkeypatch):
    monkeypatch.delenv("LLM_TEST_KEY", raising=False)
    dataset, rater = make_study(comparisons=1)
    for fields in ({"key_variable": "LLM_TEST_KEY"}, {"base_url": "http://127.0.0.1:9/v1"}):
        row = make_endpoint(**UNKNOWN, **fields)
        asked = {"dataset": dataset, "annotator": rater, "judge": row.name, "with_sets": False}
        run = start_test_run(**asked, batch_file=True)
        assert all('"max_tokens"' in line for line in batch_lines([run]))


def test_what_others_learned_meanwhile_stays():
    row = make_endpoint()
    other = ModelEndpoint.objects.get(pk=row.pk)
    note_manners(other, PLAIN)
    assert ModelEndpoint.objects.get(pk=row.pk).manners_address == ""
    note_manners(other, Manners(streams=True))
    note_manners(row, Manners(temperature=False))
    assert taught(row) == Manners(streams=True, temperature=False)
    other.model = "another"
    assert other.manners is PLAIN
    note_manners(other, Manners(warm=True))  # somebody gave it another model meanwhile
    assert taught(row) == Manners(streams=True, temperature=False)


def test_headers_come_from_the_environment_and_go_nowhere_else(server, monkeypatch):
    monkeypatch.setenv("LLM_AZURE_KEY", "secret-value-1234")
    monkeypatch.setenv("LLM_ROUTE", "eu")
    headers = {"api-key": "LLM_AZURE_KEY", "X-Route": "LLM_ROUTE", "X-None": "LLM_NOT_SET_HERE"}
    row = make_endpoint(base_url=server.base_url, extra_headers=headers)
    with pytest.raises(Refused, match="LLM_NOT_SET_HERE is not set"):
        check_answers(row)
    server.script.append(refused("api-key secret-value-1234 at eu"))
    run = judged(row)
    sent = {name.lower(): value for name, value in server.headers[-1].items()}
    assert (sent["api-key"], sent["x-route"]) == ("secret-value-1234", "eu")
    assert sent.keys().isdisjoint({"x-none", "authorization"})
    raws = {raw for (raw,) in of_rows(run, "raw") if raw}
    assert raws == {"HTTP 400 api-key *** at eu"}
    stored = json.dumps(list(LlmCall.objects.values("request", "reply")))
    assert "secret-value" not in stored + json.dumps(run.config)


def test_extra_fields_are_part_of_what_a_reply_is_stored_under(server):
    row = make_endpoint(base_url=server.base_url)
    dataset, rater = make_study(comparisons=1)
    asked = {"dataset": dataset, "annotator": rater, "judge": row.name, "with_sets": False}
    run_to_end(start_test_run(**asked).pk)
    row.extra_sampling = {"reasoning_effort": "low"}
    row.save()
    run_to_end(start_test_run(**asked).pk)
    assert LlmCall.objects.count() == 4
    assert [body.get("reasoning_effort") for body in server.bodies] == [None] * 2 + ["low"] * 2
    assert planned_test(**asked).endpoint == row
