"""A board whose comparisons lie in one session, or a few."""

from __future__ import annotations

from itertools import islice

import pytest

from tests.benchmark.stage import Stage
from tests.factory import make_user

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("sizes", "few"),
    [([30, *[1] * 10], "one session holds"), ([10] * 4 + [1] * 6, "a few sessions hold")],
)
def test_sessions_that_hold_most_of_the_comparisons_are_said(client, sizes, few):
    """Neither a rating nor a win rate has an interval."""
    client.force_login(make_user(role="VIEWER"))
    stage = Stage.make(size=sum(sizes))
    stage.label(stage.rater("ann"), "AAB" * (sum(sizes) // 3) + "A" * (sum(sizes) % 3))
    pairs = iter(stage.comparisons["Writing"])
    for size in sizes:
        first = next(pairs)
        for pair in islice(pairs, size - 1):
            pair.turn.session = first.turn.session
            pair.turn.position = pair.pk
            pair.turn.save()
    page = client.get("/leaderboard/")
    assert f"Ratings have no interval: {few} most of the comparisons." in " ".join(
        page.content.decode().split()
    )
    board = page.context["boards"][0].board
    assert board.ranking.sessions == len(sizes)
    assert {(row.low, row.rank_low) for row in board.ranking.models} == {(None, None)}
    assert {rate.interval for rate in board.win_rates.values()} == {None}
