"""Who works with the application, and the structured profile of those who annotate."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.core.validators import RegexValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class Role(models.TextChoices):
    """What somebody may do; each role may do what those after it may, but for labelling."""

    ADMIN = "ADMIN", _("Admin")
    MANAGER = "MANAGER", _("Manager")
    VIEWER = "VIEWER", _("Viewer")
    ANNOTATOR = "ANNOTATOR", _("Annotator")


class UserManager(BaseUserManager["User"]):
    """Makes users; a superuser is an admin by role."""

    def create_user(self, username: str, password: str | None = None, **fields: Any) -> User:
        """Store a user; without a password nobody can sign in as them."""
        user = self.model(username=self.model.normalize_username(username), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, username: str, password: str | None = None, **fields: Any) -> User:
        """Store an admin (what `createsuperuser` calls)."""
        return self.create_user(username, password, **{**fields, "role": Role.ADMIN})


class User(AbstractBaseUser):
    """A person, or an imported rater (inactive, named `<dataset>:<name>`)."""

    username = models.CharField(
        _("user name"),
        max_length=150,
        unique=True,
        validators=[RegexValidator(r"^[\w.@+:\- ]+\Z", _("Use letters, digits and . @ + : - _"))],
    )
    display_name = models.CharField(_("shown name"), max_length=150, blank=True, default="")
    email = models.EmailField(_("email"), blank=True, default="")
    role = models.CharField(_("role"), max_length=16, choices=Role.choices, default=Role.ANNOTATOR)
    is_active = models.BooleanField(_("may sign in"), default=True)
    date_joined = models.DateTimeField(_("joined"), default=timezone.now, editable=False)

    objects: ClassVar[UserManager] = UserManager()

    USERNAME_FIELD = "username"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        verbose_name = _("user")
        verbose_name_plural = _("users")
        constraints = [
            models.CheckConstraint(condition=models.Q(role__in=Role.values), name="user_role_known")
        ]

    def __str__(self) -> str:
        return self.display_name or self.username

    @property
    def is_admin(self) -> bool:
        """Whether everything is allowed."""
        return self.is_active and self.role == Role.ADMIN

    @property
    def is_manager(self) -> bool:
        """Whether studies and runs may be managed."""
        return self.is_active and self.role in {Role.ADMIN, Role.MANAGER}

    @property
    def sees_everyone(self) -> bool:
        """Whether other annotators' labels may be read (everybody but annotators)."""
        return self.is_active and self.role != Role.ANNOTATOR

    @property
    def is_staff(self) -> bool:
        """Whether the admin console opens."""
        return self.is_manager

    @property
    def is_superuser(self) -> bool:
        """Django's word for an admin."""
        return self.is_admin

    def has_perm(self, perm: str, obj: object = None) -> bool:  # noqa: ARG002 - Django's signature
        """Admins may do all; managers what concerns data, studies and profiles, not endpoints.

        An endpoint names the environment variable its key is read from, so whoever edits one could
        send that key anywhere: admins only.
        """
        if self.is_admin:
            return True
        app, _dot, codename = perm.partition(".")
        model = codename.rpartition("_")[2]
        return self.is_manager and app == "annotation" and model not in {"auditevent"}

    def has_perms(self, perms: list[str], obj: object = None) -> bool:
        """Whether every one of the permissions is held."""
        return all(self.has_perm(perm, obj) for perm in perms)

    def has_module_perms(self, app_label: str) -> bool:
        """Whether the admin console lists an app."""
        return self.is_admin or (self.is_manager and app_label == "annotation")


class AnnotatorProfile(models.Model):
    """The structured fields of seed 003, section 3; unknown keys are kept in `extra`."""

    user = models.OneToOneField(
        User, verbose_name=_("user"), on_delete=models.CASCADE, related_name="profile"
    )
    gender = models.CharField(_("gender"), max_length=50, blank=True, default="")
    age = models.CharField(_("age"), max_length=50, blank=True, default="")
    background = models.TextField(_("background"), blank=True, default="")
    occupation = models.CharField(_("occupation"), max_length=200, blank=True, default="")
    personality = models.JSONField(_("personality"), default=list, blank=True)
    daily_interests = models.JSONField(_("daily interests"), default=list, blank=True)
    travel_habits = models.JSONField(_("travel habits"), default=list, blank=True)
    dining_preferences = models.JSONField(_("dining preferences"), default=list, blank=True)
    spending_habits = models.JSONField(_("spending habits"), default=list, blank=True)
    other_aspects = models.JSONField(_("other aspects"), default=list, blank=True)
    extra = models.JSONField(_("other fields"), default=dict, blank=True)

    class Meta:
        verbose_name = _("annotator profile")
        verbose_name_plural = _("annotator profiles")

    def __str__(self) -> str:
        return str(self.user)
