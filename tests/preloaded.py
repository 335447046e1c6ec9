"""What a child process would import first, as far as it needs no settings (tests/children.py)."""

import gc
from importlib import import_module

gc.disable()
for _name in (
    *("django.core.management.commands.shell", "django.db.models", "django.forms"),
    *("django.template.engine", "django.test.client", "django.core.handlers.wsgi", "django.urls"),
    *("django.db.backends.sqlite3.base", "django.db.backends.postgresql.base"),
    *("django.contrib.postgres.fields", "django.views.generic", "django.contrib.staticfiles"),
    *("celery.app.base", "celery.app.amqp", "celery.app.control", "celery.bin.worker"),
    *("celery.apps.worker", "celery.concurrency.prefork", "celery.worker.consumer"),
    *("kombu.transport.filesystem", "kombu.transport.redis", "redis"),
    *("numpy.random", "scipy.stats", "scipy.sparse", "scipy.optimize", "pandas"),
    *("openai", "openai.resources.chat", "aiohttp", "pydantic", "pygments.lexers"),
    *("markdown_it", "mdit_py_plugins", "latex2mathml.converter", "nh3", "yaml", "uritemplate"),
    *("waitress.server", "whitenoise", "drf_spectacular_sidecar", "environ", "psycopg_binary"),
    *("django_stubs_ext", "inflection", "jsonschema", "csp.constants", "confusable_homoglyphs"),
    *("argon2", "sqlite3", "asyncio", "concurrent.futures.thread", "IPython"),
):
    try:
        import_module(_name)
    except ImportError:  # then the child says so, if it needs it
        continue
gc.freeze()
gc.enable()
