"""What `generate` prints of money."""

from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command

from tests.factory import make_dataset, make_endpoint, make_scenario, make_session, make_turn
from tests.fake_llm import FakeLlm

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("prices", "second"), [({"input_price": 1, "output_price": 1}, 0), ({}, None)]
)
def test_a_second_time_costs_nothing_where_prices_are_known(prices, second):
    dataset = make_dataset()
    make_turn(make_session(make_scenario(dataset)), user_message="Hello?")
    told = []
    with FakeLlm() as server:
        make_endpoint(name="fake", base_url=server.base_url, **prices)
        for _time in range(2):
            out = StringIO()
            asked = ["--dataset", dataset.slug, "--models", "fake", "--json"]
            call_command("generate", *asked, stdout=out, stderr=StringIO())
            told.append(json.loads(out.getvalue()))
    assert [one["calls"] for one in told] == [1, 0]
    assert (told[0]["cost"] is not None) == bool(prices)
    assert told[1]["cost"] == second
