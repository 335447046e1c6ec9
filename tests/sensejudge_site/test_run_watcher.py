from __future__ import annotations

from types import SimpleNamespace

from sensejudge_site.celery import app
from sensejudge_site.run_watcher import TASKS, RunWatcher, leave_runs


class FakeTimer:
    def __init__(self):
        self.entries = []

    def call_repeatedly(self, seconds, function, arguments):
        entry = SimpleNamespace(seconds=seconds, cancelled=False)
        entry.tick = lambda: function(*arguments)
        entry.cancel = lambda: setattr(entry, "cancelled", True)
        self.entries.append(entry)
        return entry


class FakeApp:
    def __init__(self):
        self.sent = []

    def send_task(self, name, *, expires):
        self.sent.append((name, expires))


def test_a_worker_asks_for_a_look_at_once_and_again_and_again(settings):
    settings.RUN_STALE_SECONDS = 60
    consumer = SimpleNamespace(app=FakeApp(), timer=FakeTimer())
    watcher = RunWatcher(consumer)
    watcher.stop(consumer)  # before it was started
    watcher.start(consumer)
    (entry,) = consumer.timer.entries
    entry.tick()
    assert consumer.app.sent == [(task, 30.0) for task in (*TASKS, *TASKS)]
    assert entry.seconds == 30.0
    watcher.stop(consumer)
    assert entry.cancelled


def test_a_process_that_leaves_runs_to_their_owners_still_asks_after_ratings(monkeypatch):
    monkeypatch.setattr(RunWatcher, "tasks", TASKS)
    leave_runs()
    consumer = SimpleNamespace(app=FakeApp(), timer=FakeTimer())
    RunWatcher(consumer).start(consumer)
    assert [task for task, _ in consumer.app.sent] == ["judging.tasks.watch_ratings"]


def test_every_worker_has_the_watcher_and_knows_the_task():
    assert RunWatcher in app.steps["consumer"]
    app.loader.import_default_modules()
    assert set(TASKS) <= set(app.tasks)
