"""An endpoint that somebody asks what it can do is not asked, and paid for, a second time."""

from __future__ import annotations

from hashlib import sha256

import pytest

from judging.models import ModelEndpoint
from judging.services.abilities import find_abilities
from judging.services.replies import CallClaims
from tests.fake_llm import FakeLlm
from tests.judging.services.test_abilities import known, unknown
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


class Elsewhere:
    """Somebody else who asks the same endpoint."""

    def __init__(self, row):
        self.row, self.claims = row, CallClaims(run_id=None)
        assert self.claims.take([sha256(f"abilities of {row.address}".encode()).hexdigest()])

    def finish(self, _seconds=0.0):
        ModelEndpoint.objects.filter(pk=self.row.pk).update(
            has_logprobs=True,
            has_json_schema=True,
            has_system_role=True,
            probe_address=self.row.address,
            measured_address=self.row.address,
        )
        self.claims.drop_all()


def test_what_somebody_else_asks_at_the_moment_is_waited_for_and_not_asked_twice():
    with FakeLlm() as server:
        row = unknown(server)
        elsewhere = Elsewhere(row)
        assert find_abilities(row, sleep=elsewhere.finish) is None
        assert server.stats()["calls"] == 0
    assert known(row) == (True, True, True)


def test_a_second_test_of_an_endpoint_under_test_pays_nothing():
    with FakeLlm() as server:
        row = unknown(server)
        elsewhere = Elsewhere(row)
        with refuses("llm:under-test"):
            find_abilities(row, again=True)
        assert server.stats()["calls"] == 0
        elsewhere.claims.drop_all()
        assert find_abilities(row, again=True) is None
        assert server.stats()["calls"] == 4
