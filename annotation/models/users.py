"""Who works with the application, and the structured profile of those who annotate."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator
from django.db import IntegrityError, models, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotation.core.participants import NameFault, looks, name_fault

NAMES: Final = ("username", "display_name")

NAME_FAULTS: Final = {
    NameFault.MIXED_SCRIPTS: _(
        "This name mixes letters of different scripts, such as Latin and Cyrillic. Use one script."
    ),
    NameFault.UNSEEN: _("This name contains invisible characters. Remove them."),
    NameFault.ODD_SPACE: _("This name contains an unusual space. Type it with the space bar."),
}


class LookAlikeError(ValidationError):
    """A name of somebody who may sign in looks like another's."""

    code = "account:look-alike"

    def __init__(self) -> None:
        text = _("This name is taken, or looks like one that is. Choose another.")
        super().__init__(text, code=self.code)


def validate_name(value: str) -> None:
    """Refuse a name that deceives the eye by itself.

    Raises:
        ValidationError: it mixes scripts, or has unseen characters or odd spaces.
    """
    fault = name_fault(value)
    if fault is not None:
        raise ValidationError(NAME_FAULTS[fault], code=fault.value)


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
    """A person, or an imported rater (inactive, named `<dataset>:<name>`).

    The names of whoever may sign in, or once could, look like nobody else's. Raters are not held to
    that: data from elsewhere has its User_1 and User_l, and nobody signs in as them.
    """

    username = models.CharField(
        _("user name"),
        max_length=150,
        unique=True,
        validators=[
            RegexValidator(r"^[\w.@+:\- ]+\Z", _("Use letters, digits and . @ + : - _")),
            validate_name,
        ],
    )
    display_name = models.CharField(
        _("display name"), max_length=150, blank=True, default="", validators=[validate_name]
    )
    email = models.EmailField(_("email"), blank=True, default="")
    role = models.CharField(_("role"), max_length=16, choices=Role.choices, default=Role.ANNOTATOR)
    is_active = models.BooleanField(_("can sign in"), default=True)
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

    def clean(self) -> None:
        """Refuse names that look like another's, each beside its field."""
        super().clean()
        if self.is_active and (alike := self.look_alikes()):
            raise ValidationError({name: LookAlikeError() for name in alike})

    def save(self, **options: Any) -> None:
        """Store the row and what its names look like.

        Raises:
            LookAlikeError: a name looks like another's; nothing was stored.
        """
        fields = options.get("update_fields")
        if fields is not None and not {*NAMES, "is_active"} & set(fields):
            super().save(**options)
            return
        with transaction.atomic():
            super().save(**options)
            self._store_looks()

    def look_alikes(self) -> list[str]:
        """Which of the names look like another's: their fields (one query)."""
        # A form that refused a name leaves None in its place.
        own = {name: looks(getattr(self, name) or "") for name in NAMES}
        others = NameLook.objects.filter(look__in=frozenset().union(*own.values()))
        taken = set(others.exclude(user=self.pk).values_list("look", flat=True))
        return [name for name, each in own.items() if each & taken]

    def _store_looks(self) -> None:
        stored = set(self.name_looks.values_list("look", flat=True))
        if not self.is_active and not stored:
            return
        own = looks(self.username) | looks(self.display_name)
        if stored - own:
            self.name_looks.exclude(look__in=own).delete()
        try:
            with transaction.atomic():
                NameLook.objects.bulk_create(
                    NameLook(look=each, user=self) for each in sorted(own - stored)
                )
        except IntegrityError as taken:
            raise LookAlikeError from taken

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
    def only(self) -> int | None:
        """The one annotator whose labels may be read, oneself; None where everybody's may."""
        return None if self.sees_everyone else self.pk

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
        send that key anywhere: here admins only, on its page managers at the hosts of LLM_HOSTS.
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


class NameLook(models.Model):
    """What a name of somebody looks like, as a digest (core.participants): no two share one."""

    look = models.CharField(_("look"), max_length=64, unique=True)
    user = models.ForeignKey(
        User, verbose_name=_("user"), on_delete=models.CASCADE, related_name="name_looks"
    )

    class Meta:
        verbose_name = _("look of a name")
        verbose_name_plural = _("looks of names")

    def __str__(self) -> str:
        return self.look[:12]


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
