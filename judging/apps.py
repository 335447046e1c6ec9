"""Django's handle on this app."""

from django.apps import AppConfig


class JudgingConfig(AppConfig):
    """Names the app; nothing runs at import or start."""

    name = "judging"
    default_auto_field = "django.db.models.BigAutoField"
