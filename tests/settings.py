"""The real settings, made quick and quiet; DATABASE_URL and CELERY_BROKER_URL still decide."""

import os
import tempfile

os.environ.setdefault("SENSEJUDGE_VAR", tempfile.mkdtemp(prefix="sensejudge-tests-"))
os.environ.setdefault("SECRET_KEY", "only-for-tests")

from sensejudge_site.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
AXES_ENABLED = False
if "sqlite3" in DATABASES["default"]["ENGINE"]:  # noqa: F405
    # A file, as when it is used: one connection to memory is no test of several at a time.
    DATABASES["default"]["TEST"] = {"NAME": str(VAR_DIR / "tests.sqlite3")}  # noqa: F405
    # Nobody needs a test's rows after the machine lost its power.
    DATABASES["default"]["OPTIONS"]["init_command"] += " PRAGMA synchronous=OFF;"  # noqa: F405
else:
    DATABASES["default"]["OPTIONS"]["options"] = "-c synchronous_commit=off"  # noqa: F405
