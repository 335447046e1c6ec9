"""Django's handle on the composition root."""

from django.apps import AppConfig
from django.core.checks import Tags, register


class SensejudgeSiteConfig(AppConfig):
    """Holds the commands and the middleware; has no models."""

    name = "sensejudge_site"

    def ready(self) -> None:
        """Watch over the demo's known passwords whenever a database is checked or migrated."""
        from sensejudge_site.demo.accounts import check_logins

        register(check_logins, Tags.database)
