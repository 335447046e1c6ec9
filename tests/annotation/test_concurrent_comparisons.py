"""The button pressed several times at the same instant."""

from __future__ import annotations

import pytest

from annotation.core.pairing import PairingRules
from annotation.models import AuditEvent, Comparison
from annotation.services.imports.comparisons import chosen_by, plan_comparisons
from tests.annotation.test_concurrent_claims import at_once
from tests.factory import make_response, make_session, make_turn, make_user

pytestmark = pytest.mark.django_db(transaction=True)


def test_of_requests_at_once_one_creates_the_comparisons():
    session, manager = make_session(), make_user(role="MANAGER")
    for _turn in range(50):
        turn = make_turn(session)
        for model in "abc":
            make_response(turn, model=model)
    rules = PairingRules()

    def plan():
        return plan_comparisons(session.dataset, rules, chosen_by(rules), by=manager).created

    calls = [plan for _request in range(4)]
    assert sorted(at_once(calls)) == [0, 0, 0, 150]
    assert Comparison.objects.count() == 150
    assert AuditEvent.objects.filter(action="dataset.compared").count() == 1
