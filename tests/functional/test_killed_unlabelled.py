"""Kill -9 while a judge works through comparisons that nobody labelled.

The command is killed twice and given again: every unlabelled comparison is judged under each
preference in both orders, once, no stored reply is asked for again, and after that nothing at all.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fake_llm import FakeLlm
from tests.functional.test_killed_runs import canonical, kill, on_sqlite

pytestmark = pytest.mark.processes

LABELLED, UNLABELLED = 20, 60
MAKE = f"""
from annotation.models import Response, Scenario
from tests.judging.study import make_pair, make_study
make_study(comparisons={LABELLED})
for number in range({UNLABELLED}):
    make_pair(Scenario.objects.get(), longer_first=number % 2 == 0)
for row in Response.objects.all():
    row.text += f" This is number {{row.pk}}."
    row.save()
"""
ROWS = """
SELECT comparison_id, preference_id, "order", status, count(*) FROM judging_judgment
WHERE run_id = (SELECT max(id) FROM judging_judgerun) GROUP BY 1, 2, 3, 4
"""
LABELS = "SELECT comparison_id FROM annotation_pairwiselabel"


def test_a_killed_run_over_what_nobody_labelled_pays_for_no_reply_twice(tmp_path: Path):
    llm = FakeLlm(rule="shorter", latency=0.1)
    with on_sqlite(tmp_path, endpoint=llm, make=MAKE, RUN_STALE_SECONDS="1") as site:
        slug = site.query("SELECT slug FROM annotation_dataset")[0][0]
        where = ("--dataset", slug, "--judge", "llm", "--json")
        site.manage("distil", *where, "--no-control")
        judge = ("judge", *where, "--targets", "unlabelled")
        learned = site.count("DONE")
        for answered in (30, 70):
            process = site.start("manage.py", *judge)
            site.wait_until(learned + answered)
            kill(process)
            stored, before = site.committed(), len(llm.bodies)
        done = json.loads(site.manage(*judge))
        rows = site.query(ROWS)
        preferences = {preference for _, preference, *_ in rows}
        assert (done["judged"], done["failed"]) == (len(rows), 0)
        assert {(status, count) for *_, status, count in rows} == {("DONE", 1)}
        assert len(rows) == UNLABELLED * len(preferences) * 2
        assert {row[0] for row in rows}.isdisjoint(key for (key,) in site.query(LABELS))
        rest = [canonical(body) for body in list(llm.bodies)[before:]]
        assert rest
        assert stored.isdisjoint(rest)
        assert json.loads(site.manage(*judge))["calls"] == 0
        assert len(llm.bodies) == before + len(rest)
