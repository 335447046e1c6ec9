"""Django's handle on the composition root."""

from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps
from django.core.checks import Tags, register

from sensejudge_site import refusals  # noqa: F401 - registers the codes


class ConsoleConfig(admin_apps.AdminConfig):
    """Django's admin, with our site for its own."""

    default = False
    default_site = "sensejudge_site.admin_site.Console"


class SensejudgeSiteConfig(AppConfig):
    """Holds the commands and the middleware; has no models."""

    name = "sensejudge_site"

    def ready(self) -> None:
        """Watch over passwords that everybody knows, and over what a deployment must say."""
        from sensejudge_site.demo.accounts import check_deployed_logins, check_logins
        from sensejudge_site.deployment_checks import check_proxy
        from sensejudge_site.sign_in import check_trusted_proxies

        register(check_logins, Tags.database)
        register(check_deployed_logins, Tags.security, deploy=True)
        register(check_trusted_proxies, Tags.security, deploy=True)
        register(check_proxy, Tags.security, deploy=True)
