from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from annotation.core.participants import (
    InvitationRefusal,
    completion_for,
    refusal_of,
    unknown_placeholders,
    worker_id,
    worker_of,
)

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


@pytest.mark.parametrize(
    ("link", "worker", "number"),
    [
        ({}, {}, ""),
        ({"page": "2", "PROLIFIC_PID": ""}, {}, ""),
        (
            {"prolific_pid": " 5f3a ", "STUDY_ID": "s-1", "utm": "x"},
            {"PROLIFIC_PID": "5f3a", "STUDY_ID": "s-1"},
            "5f3a",
        ),
        # The surer name says who it is.
        (
            {"participant_id": "p@x.org", "workerId": "A1", "assignmentId": "3X"},
            {"participant_id": "p@x.org", "workerId": "A1", "assignmentId": "3X"},
            "A1",
        ),
        ({"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"}, {}, ""),
        ({"PROLIFIC_PID": "{{%PROLIFIC_PID%}}", "workerId": "x" * 201}, {}, ""),
        ({"workerId": "<script>"}, {}, ""),
    ],
)
def test_a_link_says_who_a_platform_sends(link, worker, number):
    assert worker_of(link) == worker
    assert worker_id(worker) == number


WORKER = {"workerId": "A 1&b", "assignmentId": "3X"}


@pytest.mark.parametrize(
    ("completion", "shown"),
    [
        ("", ""),
        ("C0DE {worker}", "C0DE {worker}"),
        ("https://pay.org/done?cc=C0DE", "https://pay.org/done?cc=C0DE"),
        ("https://pay.org/?w={worker}", "https://pay.org/?w=A%201%26b"),
        (
            "https://pay.org/?a={assignmentId}&s={SESSION_ID}&w={workerid}",
            "https://pay.org/?a=3X&s=&w=A%201%26b",
        ),
    ],
)
def test_an_address_is_filled_in_and_a_code_is_not(completion, shown):
    assert completion_for(completion, WORKER) == shown


def test_placeholders_that_nothing_fills_are_named():
    assert unknown_placeholders("https://pay.org/?{worker}{STUDY_ID}{name}{}") == ["name", ""]
