"""Django's handle on the composition root."""

from axes import apps as axes_apps
from django.apps import AppConfig
from django.contrib.admin import apps as admin_apps
from django.core.checks import Tags, register
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from sensejudge_site import refusals  # noqa: F401 - registers the codes


class ConsoleConfig(admin_apps.AdminConfig):
    """Django's admin, with our site for its own."""

    default = False
    default_site = "sensejudge_site.admin_site.Console"


class SignInsConfig(axes_apps.AppConfig):  # type: ignore[misc]  # axes ships no types
    """Counts wrong passwords; called what its lists hold, in the reader's language."""

    default = False
    verbose_name = _("Sign-ins")
    names = (
        gettext_noop("access attempt"),
        gettext_noop("access attempts"),
        gettext_noop("access failure"),
        gettext_noop("access failures"),
        gettext_noop("access log"),
        gettext_noop("access logs"),
    )
    """What axes calls its models, and has no Chinese for."""


class TokensConfig(AppConfig):
    """Tokens of the API, whose package translates nothing."""

    default = False
    name = "knox"
    verbose_name = _("API tokens")

    def ready(self) -> None:
        """Name the model."""
        named = self.get_model("AuthToken")._meta  # noqa: SLF001 - documented, for all its name
        named.verbose_name, named.verbose_name_plural = _("API token"), _("API tokens")


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
