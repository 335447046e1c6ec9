from __future__ import annotations

import pytest
from asgiref.sync import async_to_sync

from judging.judges.lexical import LexicalJudge
from judging.models import ModelEndpoint
from judging.services.judges import LEAST_AHEAD, endpoint_for, open_judge
from tests.factory import make_endpoint, make_run
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def opened(run):
    async def look():
        async with open_judge(run) as found:
            await found.settle()
            return found

    return async_to_sync(look)()


def test_lexical_is_the_embedded_judge():
    assert endpoint_for("lexical") is None
    found = opened(make_run())
    assert isinstance(found.judge, LexicalJudge)
    assert found.concurrency == 1


def test_an_endpoint_is_a_judge_by_its_name():
    row = make_endpoint(concurrency=5, has_logprobs=True)
    assert endpoint_for(row.name) == row
    found = opened(make_run(judge=row.name, endpoint=row, config={"verdict_rule": "LOGPROB"}))
    assert (found.judge.name, found.concurrency) == (row.name, 5 + LEAST_AHEAD)
    assert found.judge.snapshot("en")["rule"] == "LOGPROB"


def test_llm_is_the_endpoint_of_the_settings(settings):
    with refuses("judge:unknown", match="no judge is named 'llm'"):
        endpoint_for("llm")
    settings.LLM_BASE_URL = "http://127.0.0.1:9/v1"
    row = endpoint_for("llm")
    assert row == ModelEndpoint.objects.get()
    assert row.base_url == "http://127.0.0.1:9/v1"


def test_an_endpoint_out_of_use_is_no_judge():
    with refuses("judge:unknown", match="not enabled"):
        endpoint_for(make_endpoint(enabled=False).name)
