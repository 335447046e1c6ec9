"""The Celery application; its settings are the CELERY_* names of settings.py."""

from __future__ import annotations

import os

from celery import Celery

from sensejudge_site import file_broker
from sensejudge_site.run_watcher import RunWatcher

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sensejudge_site.settings")

file_broker.install()
app = Celery("sensejudge_site")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.steps["consumer"].add(RunWatcher)
