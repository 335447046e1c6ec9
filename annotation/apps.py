"""Django's handle on this app."""

from django.apps import AppConfig
from django.urls import register_converter
from django.utils.translation import gettext_lazy as _

from annotation.core.numbers import NumberConverter


class AnnotationConfig(AppConfig):
    """Names the app, and the numbers in the addresses of all apps."""

    name = "annotation"
    verbose_name = _("Data and labels")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Make `<number:...>` known before any address is read."""
        register_converter(NumberConverter, "number")
