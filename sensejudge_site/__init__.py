"""The composition root: settings, addresses, the worker, and commands that touch several apps."""

from sensejudge_site.celery import app as celery_app

__all__ = ["celery_app"]
