"""`check --deploy` says what it cannot see; other checks stay quiet about it."""

from __future__ import annotations

import pytest
from django.core.checks import Tags, run_checks


@pytest.fixture(autouse=True)
def _rows(db: None) -> None:
    """Other checks of a deployment read them."""


def ids(*, deploy: bool) -> set[str]:
    found = run_checks(tags=[Tags.security], include_deployment_checks=deploy)
    return {each.id or "" for each in found}


def test_a_deployment_is_asked_for_its_proxy():
    assert "sensejudge.W004" in ids(deploy=True)


def test_nobody_else_is():
    assert "sensejudge.W004" not in ids(deploy=False)
