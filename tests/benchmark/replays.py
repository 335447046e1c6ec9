"""Replays in tests: other models' responses beside the originals, and a run to its report."""

from __future__ import annotations

from typing import Any

from annotation.models import Dataset, Response
from benchmark.core.replay import ReplayScale
from benchmark.queries.replay import StoredReplay, stored_replay
from benchmark.services.replay_runs import ReplayRequest, plan_replay
from judging.models import JudgeRun
from judging.services.foreground import run_to_end
from judging.services.kinds import start
from tests.factory import make_response


def make_stored(dataset: Dataset) -> None:
    """Beside every original its copy, a longer and a shorter response, by a model each."""
    for original in Response.objects.filter(original=True, turn__session__dataset=dataset):
        make_response(original.turn, model="copy", text=original.text)
        make_response(original.turn, model="long", text=f"{original.text} " * 9)
        make_response(original.turn, model="short", text="No.")


def replay_to_end(**asked: Any) -> JudgeRun:
    return run_to_end(start(plan_replay(ReplayRequest(**asked))).pk)


def replayed(scale: ReplayScale = ReplayScale.CALIBRATED, **asked: Any) -> StoredReplay:
    run = replay_to_end(**asked)
    found = stored_replay(run.pk, scale=scale)
    assert found is not None, (run.status, run.error_code, run.error_detail)
    return found
