from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from judging.models import JudgeRun
from judging.services.heartbeats import (
    Pulse,
    SupersededError,
    beat,
    seconds_between_beats,
    this_process,
)
from tests.factory import make_run

pytestmark = pytest.mark.django_db


def test_a_beat_is_noted():
    run = make_run(status="RUNNING", generation=2)
    beat(run)
    run.refresh_from_db()
    noted = run.heartbeat_at
    assert noted is not None
    assert run.worker == this_process()
    assert timezone.now() - noted < timedelta(seconds=10)


@pytest.mark.parametrize("change", [{"generation": 3}, {"status": "CANCELLED"}])
def test_whoever_lost_a_run_learns_it(change):
    run = make_run(status="RUNNING", generation=2)
    JudgeRun.objects.update(**change)
    with pytest.raises(SupersededError):
        beat(run)


def test_a_pulse_beats_every_five_seconds():
    run = make_run(status="RUNNING")
    times = iter([0.0, 4.0, 5.0, 5.0, 9.0])
    pulse = Pulse(run, clock=lambda: next(times))
    pulse()  # at 4
    assert JudgeRun.objects.get(pk=run.pk).heartbeat_at is None
    pulse()  # at 5
    first = JudgeRun.objects.get(pk=run.pk).heartbeat_at
    assert first is not None
    pulse()  # at 9
    assert JudgeRun.objects.get(pk=run.pk).heartbeat_at == first


@pytest.mark.parametrize(("stale", "between"), [(60, 5.0), (4, 1.0)])
def test_beats_come_often_enough_for_whoever_watches(settings, stale, between):
    settings.RUN_STALE_SECONDS = stale
    assert seconds_between_beats() == between
