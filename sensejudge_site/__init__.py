"""The composition root: settings, addresses, the worker, and commands that touch several apps."""

import os

# Before numpy is imported: where requests and a worker compute side by side, the threads that it
# starts for each product of small matrices only wait for one another.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from sensejudge_site.celery import app as celery_app

__all__ = ["celery_app"]
