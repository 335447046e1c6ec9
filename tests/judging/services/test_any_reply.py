"""Whatever JSON an endpoint answers: one row, one status, nothing raised, nothing paid twice.

A real server answers, over HTTP; the engine asks, reads and stores as in any run. What is drawn is
of the shape of a chat completion, with any value in any field, or an error of any shape.
"""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from judging.core.verdicts import VerdictRule
from judging.models import Judgment, LlmCall
from judging.queries.runs import run_progress
from judging.services.foreground import run_to_end
from judging.services.run_control import reset_failed
from tests.factory import make_endpoint
from tests.fake_llm import Act, FakeLlm
from tests.judging.study import make_study, start_test_run

pytestmark = [pytest.mark.django_db, pytest.mark.llm_faults]

ODD_NUMBERS = (
    *(float("inf"), float("-inf"), float("nan"), 1e308, -1e308, 5e-324, 0.5, -0.1),
    *(0, -1, 3, 200, 429, 502, 2**31, 2**63, 10**30, 10**400),
)
ODD_TEXTS = (
    *("", "A", "B", "\0", "\ud800", "e\u0301", "\u2028", "429", "stop", "length", "error"),
    *("content_filter", "tool_calls", "nan", "API key not valid", "temperature", "stream=true"),
    *("max_completion_tokens", "max_tokens must be <= 5", "logprobs", "<think>", "</think>"),
    *("The final decision is Response A.", "retry in 0s", "x" * 5_000),
)
values = st.recursive(
    st.none() | st.booleans() | st.sampled_from(ODD_NUMBERS) | st.sampled_from(ODD_TEXTS),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("message", "code", "content", "text", "a")), inner)
    ),
    max_leaves=4,
)


def fields(**known):
    """An object with some of these fields, each as it should be or of any value."""
    return st.fixed_dictionaries({}, optional={name: one | values for name, one in known.items()})


counts = st.integers(0, 5_000)
letters = st.sampled_from(("A", "B", "\n", "The"))
logprobs = st.floats(-20, 0)
alternative = fields(token=letters, logprob=logprobs, bytes=st.lists(st.integers(0, 255)))
step = fields(
    token=letters,
    logprob=logprobs,
    bytes=st.lists(st.integers(-1, 300), max_size=3),
    top_logprobs=st.lists(alternative, max_size=3),
)
message = fields(
    role=st.just("assistant"),
    content=st.just("The final decision is Response A."),
    reasoning_content=st.just("Hm."),
    refusal=st.none(),
    tool_calls=st.lists(fields(function=fields(name=st.just("f"), arguments=st.just("{}")))),
)
choice = fields(
    index=st.just(0),
    message=message,
    delta=message,
    finish_reason=st.sampled_from(("stop", "length")),
    logprobs=fields(content=st.lists(step, max_size=3)),
    error=fields(message=st.just("gone"), code=st.just(502)),
    content_filter_results=fields(violence=fields(filtered=st.booleans())),
)
usage = fields(
    prompt_tokens=counts,
    completion_tokens=counts,
    prompt_tokens_details=fields(cached_tokens=counts),
)
problem = fields(
    message=st.sampled_from(ODD_TEXTS),
    code=st.sampled_from(ODD_NUMBERS),
    param=st.sampled_from(("max_tokens", "temperature", "messages")),
    details=st.lists(fields(retryDelay=st.just("0s")), max_size=2),
    metadata=fields(raw=st.just('{"error": "inner"}'), reasons=st.just(["violence"])),
)
completions = fields(
    id=st.just("x"),
    created=counts,
    choices=st.lists(choice, min_size=1, max_size=2),
    usage=usage,
    error=st.none() | problem,
    base_resp=fields(status_code=counts, status_msg=st.just("")),
    detail=st.lists(fields(loc=st.just(["body", "temperature"]), msg=st.just("no")), max_size=2),
)
bodies = st.one_of(completions, st.lists(fields(error=problem), max_size=2), values)


def as_bytes(body: object, *, streamed: bool) -> bytes:
    text = json.dumps(body).encode("utf-8", "surrogatepass")
    return b": hello\n\nevent: x\ndata: " + text + b"\n\ndata: [DONE]\n\n" if streamed else text


@st.composite
def acts(draw):
    status = draw(st.sampled_from((200, 200, 200, 200, 400, 422, 500)))
    streamed = draw(st.booleans()) and status == 200
    headers = {"Content-Type": "text/event-stream" if streamed else "application/json"}
    if draw(st.booleans()):
        headers["Retry-After"] = draw(st.sampled_from(("0", "nan", "inf", "1e999", "-3", "soon")))
    return Act(status=status, raw=as_bytes(draw(bodies), streamed=streamed), headers=headers)


@pytest.fixture(scope="module")
def server():
    with ExitStack() as stack:
        yield stack.enter_context(FakeLlm())


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(drawn=st.lists(acts(), min_size=1, max_size=6), letter=st.booleans())
def test_any_reply_ends_in_one_status_and_is_paid_for_once(server, drawn, letter):
    server.bodies.clear()
    server.script.clear()
    server.script.extend(drawn)
    dataset, rater = make_study(comparisons=1)
    row = make_endpoint(
        base_url=server.base_url,
        has_logprobs=True,
        has_json_schema=True,
        output_price=9_999,
        input_price=9_999,
    )
    rule = VerdictRule.LOGPROB if letter else VerdictRule.STRICT
    run = start_test_run(
        dataset=dataset, annotator=rater, judge=row.name, with_sets=False, verdict=rule
    )
    run = run_to_end(run.pk)
    assert run.status in ("DONE", "FAILED")
    assert run.error_code != "run:crashed"
    rows = Judgment.objects.filter(run=run)
    assert rows.count() == 2
    if run.error_code != "run:endpoint-down":  # else what was not asked waits for a retry
        assert not rows.filter(status="PENDING").exists()
    assert not rows.filter(error_code="answer:not-storable").exists()
    paid = Counter(LlmCall.objects.filter(run=run).values_list("key", flat=True))
    assert set(paid.values()) <= {1}
    run_progress(run.pk)
    json.dumps(list(rows.values("log_odds", "raw")), allow_nan=False)
    # A retry asks for nothing that is there, and ends, too.
    server.script.clear()
    stored = {call.key for call in LlmCall.objects.filter(run=run)}
    asked = len(server.bodies)
    failed = rows.filter(status__in=("FAILED", "PENDING")).count()
    if failed:
        reset_failed(run.pk)
        run = run_to_end(run.pk)
        assert not rows.filter(status="PENDING").exists()
        # Only what a stored reply lacks fails again: its end, or its log-probabilities.
        again = {code for (code,) in rows.filter(status="FAILED").values_list("error_code")}
        assert again <= {"llm:cut", "llm:no-logprobs"}
    assert stored <= {call.key for call in LlmCall.objects.filter(run=run)}
    assert len(server.bodies) - asked <= 3 * failed
