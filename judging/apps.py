"""Django's handle on this app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from judging.core import conversations, error_texts  # noqa: F401 - register the codes


class JudgingConfig(AppConfig):
    """Names the app; nothing runs at import or start."""

    name = "judging"
    verbose_name = _("Judges")
    default_auto_field = "django.db.models.BigAutoField"
