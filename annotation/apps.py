"""Django's handle on this app."""

from django.apps import AppConfig


class AnnotationConfig(AppConfig):
    """Names the app; nothing runs at import or start."""

    name = "annotation"
    default_auto_field = "django.db.models.BigAutoField"
