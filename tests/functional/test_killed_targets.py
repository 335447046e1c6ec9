"""Kill -9 during a run over what users did not rate: it ends as if nobody had disturbed it.

The run of `test_killed_satisfaction`, with a third of the ratings gone and another response beside
each one; everything is scored, and calibrated among the originals of its block.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.children import Child
from tests.functional import test_killed_satisfaction as rated
from tests.functional.test_killed_runs import Site, free_port, on_sqlite

pytestmark = pytest.mark.processes

PEOPLE, SCENARIOS, TURNS = 3, 2, 9
MEMORIES = PEOPLE * SCENARIOS
SCORES = MEMORIES * TURNS * 2

MAKE = f"""
from annotation.models import Response, SatisfactionLabel
from tests.factory import make_response
from tests.judging.ratings import make_ratings
make_ratings(people={PEOPLE}, scenarios={SCENARIOS}, turns={TURNS})
SatisfactionLabel.objects.filter(response__turn__position__gte=6).delete()
for response in Response.objects.order_by("pk"):
    make_response(response.turn, model="other", text=response.text + " And more of it.")
"""
SUBMIT = """
from annotation.models import Dataset
from judging.core.targets import RunTarget, Targets
from judging.submission import submit
from tests.judging.study import planned_satisfaction
asked = {"judge": "llm", "targets": Targets(kind=RunTarget.ALL)}
submit([planned_satisfaction(dataset=Dataset.objects.get(), **asked)])
"""
AGAIN = """
from annotation.models import Dataset
from judging.core.targets import RunTarget, Targets
from judging.models import LlmCall
from judging.services.foreground import run_to_end
from judging.services.kinds import start
from tests.judging.study import planned_satisfaction
asked = {"judge": "llm", "targets": Targets(kind=RunTarget.CANDIDATES)}
before = LlmCall.objects.count()
run = run_to_end(start(planned_satisfaction(dataset=Dataset.objects.get(), **asked)).pk)
print("AGAIN", run.status, run.calls.count(), LlmCall.objects.count() - before)
"""


@pytest.fixture(autouse=True)
def _over_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other journey's steps, on these rows."""
    for name in ("MAKE", "SUBMIT", "MEMORIES", "SCORES"):
        monkeypatch.setattr(rated, name, globals()[name])


def test_a_killed_server_ends_as_if_it_had_not_been(tmp_path: Path):
    calm, llm = rated.flaky(), rated.flaky()
    (tmp_path / "calm").mkdir()
    with on_sqlite(tmp_path / "calm", **rated.options(calm)) as undisturbed:
        undisturbed.manage("shell", "-c", rated.FINISH)
        rated.check_rows(undisturbed)
        expected = rated.report(undisturbed)
    (tmp_path / "killed").mkdir()
    with on_sqlite(tmp_path / "killed", **rated.options(llm)) as found:

        def start() -> Child:
            return found.start("manage.py", "serve", "--port", str(free_port()))

        assert rated.torture(found, llm, start, seed=3) == expected
        check_nothing_is_asked_again(found)


def check_nothing_is_asked_again(found: Site) -> None:
    """Unparseable replies are stored too, as are the memories; failures alone may be asked anew."""
    failed = found.query(
        "SELECT count(*) FROM judging_satisfactionjudgment WHERE status = 'FAILED'"
    )[0][0]
    (told,) = [
        line
        for line in found.manage("shell", "-v", "0", "-c", AGAIN).splitlines()
        if line.startswith("AGAIN")
    ]
    _, status, calls, more = told.split()
    assert status == "DONE"
    assert int(calls) == int(more) <= failed
