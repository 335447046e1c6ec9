"""Django's handle on this app."""

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class AnnotationConfig(AppConfig):
    """Names the app; nothing runs at import or start."""

    name = "annotation"
    verbose_name = _("Data and labels")
    default_auto_field = "django.db.models.BigAutoField"
