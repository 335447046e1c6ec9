"""The demo from an empty database to its figures; run again, it does only what is left to do."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from benchmark.queries.ranking import LeaderboardQuestion, leaderboard_page
from benchmark.queries.trust import SEED, report
from sensejudge_site.demo.generate import SLUG
from sensejudge_site.demo.judge import Watch, judge_everything
from sensejudge_site.demo.load import load
from sensejudge_site.demo.words import report_lines


def run_demo(*, now: datetime, watch: Watch) -> Iterator[str]:
    """Loads, learns, judges; then the lines of the report.

    Raises:
        Refused: the site serves more than its own machine; the database holds a demo study of
            another version; a run ended without success.
    """
    watch("loading the demo study")
    judge_everything(load(now=now), watch)
    watch("measuring")
    page = leaderboard_page(LeaderboardQuestion(dataset=SLUG), seed=SEED)
    return report_lines(report(SLUG), page.boards)
