"""One settings file; deployments differ by environment variables only (docs/deploy.md).

Without any variable: SQLite under var/, the Celery worker as a thread of the web process, a broker
of files, and a secret key made once and kept in var/ with mode 600.
"""

from __future__ import annotations

import tomllib
from datetime import timedelta
from pathlib import Path

import django_stubs_ext
import environ
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

from judging.core.endpoints import KNOWN_HOSTS, SITE_SECRETS, may_hold_key
from sensejudge_site.kept_secret import kept_secret
from sensejudge_site.private_files import FOLDER, make_private

django_stubs_ext.monkeypatch()  # ModelAdmin[Row] and the like, where Django has no generics

BASE_DIR = Path(__file__).resolve().parent.parent
env = environ.FileAwareEnv()

APP_VERSION: str = tomllib.loads((BASE_DIR / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]["version"]

VAR_DIR = Path(env.str("SENSEJUDGE_VAR", default=str(BASE_DIR / "var")))
VAR_DIR.mkdir(parents=True, exist_ok=True)
make_private(VAR_DIR / name for name in ("broker", "secret-key", "uploads"))


DEBUG = env.bool("DEBUG", default=False)
SECRET_KEY = env.str("SECRET_KEY", default="") or kept_secret(VAR_DIR / "secret-key")
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
HTTPS = env.bool("HTTPS", default=False)

INSTALLED_APPS = [
    "sensejudge_site",
    "benchmark",
    "judging",
    "annotation",
    "sensejudge_site.apps.ConsoleConfig",  # django.contrib.admin
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "django_filters",
    "rest_framework",
    "sensejudge_site.apps.TokensConfig",  # knox
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "sensejudge_site.apps.SignInsConfig",  # axes
    "csp",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # Its random padding and masked CSRF tokens keep a page's length from telling what is in it.
    "sensejudge_site.middleware.PackedPages",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "sensejudge_site.sign_in.RefusedSignIns",
    "sensejudge_site.refusals.RefusalPages",
    "sensejudge_site.archived.DeletedDatasets",
]

ROOT_URLCONF = "sensejudge_site.urls"
WSGI_APPLICATION = "sensejudge_site.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    [
                        "sensejudge_site.template_loader.Loader",
                        "django.template.loaders.app_directories.Loader",
                    ],
                )
            ],
            "libraries": {"i18n": "sensejudge_site.kept_tags"},
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.i18n",
                "sensejudge_site.context_processors.site",
            ],
        },
    },
]

# Where rows live -------------------------------------------------------------

DATABASES = {
    "default": env.db("DATABASE_URL", default=f"sqlite:///{VAR_DIR / 'sensejudge.sqlite3'}")
}
if "sqlite3" in DATABASES["default"]["ENGINE"]:
    DATABASES["default"]["ENGINE"] = "sensejudge_site.sqlite3"  # writers wait in line
    make_private(Path(f"{DATABASES['default']['NAME']}{end}") for end in ("", "-wal", "-shm"))
    # A new connection costs more than a page's queries: it reads the schema, and its cache is cold.
    DATABASES["default"].setdefault("CONN_MAX_AGE", None)
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }
else:
    DATABASES["default"].setdefault("CONN_MAX_AGE", 60)
    DATABASES["default"].setdefault("CONN_HEALTH_CHECKS", True)
    # A host that is away is known within seconds, unless the address sets its own connect_timeout.
    DATABASES["default"].setdefault("OPTIONS", {}).setdefault("connect_timeout", 5)
    # Planning a page's statements costs more than running them: what comes again is kept prepared.
    DATABASES["default"]["OPTIONS"].update({"server_side_binding": True, "prepare_threshold": 5})
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

# Who may enter ---------------------------------------------------------------

AUTH_USER_MODEL = "annotation.User"
AUTHENTICATION_BACKENDS = ["sensejudge_site.signed_in.UserBackend"]
SESSION_ENGINE = "sensejudge_site.signed_in"
PASSWORD_HASHERS = [
    "sensejudge_site.hashing.Argon2",
    "sensejudge_site.hashing.PBKDF2",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "sign-in"
AXES_HANDLER = "sensejudge_site.sign_in.Handler"
AXES_CLIENT_IP_CALLABLE = "sensejudge_site.sign_in.client_address"
AXES_FAILURE_LIMIT = 8  # of one user name, from one address
ADDRESS_FAILURE_LIMIT = 30  # of all names: a whole laboratory may have one address
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_VERBOSE = False
AXES_DISABLE_ACCESS_LOG = True
SILENCED_SYSTEM_CHECKS = [
    "axes.W002",  # its middleware makes a page of what the handler raises
    "templates.W003",  # what templates load as i18n is `kept_tags`, with Django's own tags
]
# Proxies in front that append the address of who asks them to X-Forwarded-For.
TRUSTED_PROXIES = env.int("TRUSTED_PROXIES", default=0)
if TRUSTED_PROXIES < 0:
    raise ImproperlyConfigured("TRUSTED_PROXIES must be 0 or more.")

# What a browser may do -------------------------------------------------------

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
    }
}
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 3600 * 24 * 30 if HTTPS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS else None
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 20_000  # a rated reply sends seven, and a session may be long
FILE_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024

# Words, time, files ----------------------------------------------------------

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "sensejudge_site" / "locale"]
USE_I18N = True
USE_TZ = True
TIME_ZONE = env.str("TIME_ZONE", default="UTC")
STATIC_URL = "static/"
STATIC_ROOT = VAR_DIR / "static"
STATIC_ROOT.mkdir(exist_ok=True)  # whitenoise warns of a missing folder
STATICFILES_DIRS = [BASE_DIR / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": env.str(
            "STATICFILES_BACKEND", default="whitenoise.storage.CompressedManifestStaticFilesStorage"
        )
    },
}

# Work that takes time --------------------------------------------------------

BROKER_DIR = VAR_DIR / "broker"
CELERY_BROKER_URL = env.str("CELERY_BROKER_URL", default="filesystem://localhost")
EMBEDDED_WORKER = CELERY_BROKER_URL.startswith("filesystem:")
if EMBEDDED_WORKER:
    BROKER_DIR.mkdir(mode=FOLDER, exist_ok=True)
    for _name in ("queue", "control", "processed"):
        (BROKER_DIR / _name).mkdir(parents=True, exist_ok=True)
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(BROKER_DIR / "queue"),
        "data_folder_out": str(BROKER_DIR / "queue"),
        "control_folder": str(BROKER_DIR / "control"),
        "processed_folder": str(BROKER_DIR / "processed"),
        "store_processed": False,
        "polling_interval": 0.2,
    }
    CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
elif CELERY_BROKER_URL.startswith(("redis:", "rediss:")):
    # Seconds: a page that starts a run does not wait for long where the broker hangs.
    CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 2, "socket_timeout": 3}
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0}
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # workers wait for a broker that is away
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = TIME_ZONE
# A run whose worker gave no sign of life for this long is taken over by the next worker to start.
RUN_STALE_SECONDS = env.int("RUN_STALE_SECONDS", default=60)

# An endpoint without a row: what LLM_* say (docs/llm.md) -----

LLM_BASE_URL = env.str("LLM_BASE_URL", default="")
LLM_MODEL = env.str("LLM_MODEL", default="")
LLM_KEY_VARIABLE = env.str("LLM_KEY_VARIABLE", default="LLM_API_KEY")
# Variables that may hold an endpoint's key besides those whose names begin with LLM_.
LLM_KEY_VARIABLES = frozenset(env.list("LLM_KEY_VARIABLES", default=[]))
if SITE_SECRETS & LLM_KEY_VARIABLES:
    _names = ", ".join(sorted(SITE_SECRETS & LLM_KEY_VARIABLES))
    raise ImproperlyConfigured(f"LLM_KEY_VARIABLES must not list the site's own secrets: {_names}.")
if not may_hold_key(LLM_KEY_VARIABLE, listed=LLM_KEY_VARIABLES):
    raise ImproperlyConfigured(
        f"LLM_KEY_VARIABLE must name a variable that begins with LLM_ or is listed in "
        f"LLM_KEY_VARIABLES, not {LLM_KEY_VARIABLE}."
    )
# Hosts at which managers may add endpoints: a key goes to where an endpoint is. Admins name any.
LLM_HOSTS = frozenset(map(str.lower, env.list("LLM_HOSTS", default=KNOWN_HOSTS)))
LLM_CONCURRENCY = env.int("LLM_CONCURRENCY", default=16)
LLM_TIMEOUT_SECONDS = env.float("LLM_TIMEOUT_SECONDS", default=120.0)
if LLM_CONCURRENCY < 1:
    raise ImproperlyConfigured("LLM_CONCURRENCY must be 1 or more.")
# None: as the endpoint's row says, or as is found out at its first use.
LLM_MAX_TOKENS = env.int("LLM_MAX_TOKENS", default=None)
LLM_CONTEXT_TOKENS = env.int("LLM_CONTEXT_TOKENS", default=None)
LLM_LOGPROBS = env.bool("LLM_LOGPROBS", default=None)
for _name in ("LLM_MAX_TOKENS", "LLM_CONTEXT_TOKENS"):
    if globals()[_name] is not None and globals()[_name] < 1:
        raise ImproperlyConfigured(f"{_name} must be 1 or more.")

# Replies of live conversations that one process writes at a time; further ones wait their turn.
CONVERSATION_REPLIES = env.int("CONVERSATION_REPLIES", default=32)
if CONVERSATION_REPLIES < 1:
    raise ImproperlyConfigured("CONVERSATION_REPLIES must be 1 or more.")

# The API ---------------------------------------------------------------------

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "sensejudge_site.api_tokens.PasswordTokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": [
        "annotation.api.parsers.BoundedJSONParser",
        "rest_framework.parsers.FormParser",
        "rest_framework.parsers.MultiPartParser",
    ],
    "DEFAULT_FILTER_BACKENDS": ["annotation.api.lists.KnownWordsBackend"],
    "DEFAULT_PAGINATION_CLASS": "annotation.api.lists.ByIdPagination",
    "PAGE_SIZE": 100,
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "EXCEPTION_HANDLER": "sensejudge_site.api_errors.handle",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "SenseJudge API",
    "DESCRIPTION": (
        "For managers and viewers; annotators can read their own labels. Only runs can be started, "
        "by managers (`POST /api/v1/runs/`, `POST /api/v1/replays/`). `POST /api/v1/token/` with "
        "basic authentication returns a token to send as `Authorization: Token ...`; users who are "
        "signed in on the site need none. Lists are paginated; each page holds the address of the "
        "`next`."
    ),
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_NAME_OVERRIDES": {
        "VerdictEnum": "annotation.models.wording.VERDICTS",
        "ReasonEnum": "annotation.models.wording.REASONS",
        "JudgmentStatusEnum": "annotation.models.wording.JUDGMENT_STATUSES",
        "RunStatusEnum": "judging.models.RunStatus",
        "RunKindEnum": "judging.models.RunKind",
        "PreferenceKindEnum": "judging.models.PreferenceKind",
    },
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.str("LOG_LEVEL", default="WARNING")},
    "loggers": {
        # It warns whenever more requests come than there are threads: a line for each of them.
        "waitress.queue": {"level": "ERROR"},
        # Below an error it tells of answers such as 403 and 404, with a traceback each.
        "django.request": {"level": "ERROR"},
    },
}
