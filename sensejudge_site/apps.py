"""Django's handle on the composition root."""

from django.apps import AppConfig


class SensejudgeSiteConfig(AppConfig):
    """Holds the commands and the middleware; has no models."""

    name = "sensejudge_site"
