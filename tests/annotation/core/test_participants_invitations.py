from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from annotation.core.participants import InvitationRefusal, refusal_of

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LATER, EARLIER = NOW + timedelta(seconds=1), NOW - timedelta(days=1)


@pytest.mark.parametrize(
    ("facts", "refusal"),
    [
        ({}, None),
        ({"expires_at": LATER, "places": 2, "joined": 1}, None),
        ({"joined": 1_000}, None),
        ({"revoked_at": EARLIER}, InvitationRefusal.WITHDRAWN),
        ({"study_closed": True}, InvitationRefusal.CLOSED),
        ({"expires_at": NOW}, InvitationRefusal.EXPIRED),
        ({"places": 2, "joined": 2}, InvitationRefusal.FULL),
        ({"places": 2, "joined": 3}, InvitationRefusal.FULL),
        # What its manager did comes before what happened to it.
        (
            {"revoked_at": EARLIER, "expires_at": EARLIER, "places": 1, "joined": 1},
            InvitationRefusal.WITHDRAWN,
        ),
        ({"expires_at": EARLIER, "places": 1, "joined": 1}, InvitationRefusal.EXPIRED),
    ],
)
def test_a_link_lets_in_or_says_why_not(facts, refusal):
    told = {
        "revoked_at": None,
        "expires_at": None,
        "study_closed": False,
        "places": None,
        "joined": 0,
        **facts,
    }
    assert refusal_of(**told, now=NOW) is refusal
