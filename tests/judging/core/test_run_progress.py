from __future__ import annotations

from judging.core.run_progress import RunProgress, StageProgress
from judging.core.stages import StageName


def test_a_run_adds_its_stages_up():
    progress = RunProgress(
        run_id=1,
        kind="DISTIL",
        status="RUNNING",
        stage="judge",
        error_code="",
        error_detail="",
        stages=(
            StageProgress(StageName.DISTIL, 0, 5, 0, 2, (("llm:timeout", 2),)),
            StageProgress(StageName.JUDGE, 10, 3, 4, 1, (("a:b", 4), ("llm:timeout", 1))),
        ),
        calls=0,
        input_tokens=None,
        output_tokens=None,
        cost=None,
        started_at=None,
        heartbeat_at=None,
        finished_at=None,
    )
    assert (progress.total, progress.answered) == (25, 15)
    assert progress.errors == (("a:b", 4), ("llm:timeout", 3))
