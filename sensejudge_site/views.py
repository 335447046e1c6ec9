"""The front door and the reader's own switches."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LogoutView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import get_language
from django.views.decorators.http import require_POST, require_safe

from annotation.models import User
from annotation.services.claims import release_claims
from sensejudge_site.context_processors import THEMES
from sensejudge_site.methods import chapters

ONE_YEAR = 365 * 24 * 3600


@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """To what this person came for: labelling, or the figures."""
    user = request.user
    sees_everyone = isinstance(user, User) and user.sees_everyone
    return redirect("benchmark:trust" if sees_everyone else "annotation:studies")


@require_safe
@login_required
def methods(request: HttpRequest) -> HttpResponse:
    """How each figure is computed, in the reader's language."""
    before, found = chapters(get_language() or "")
    return render(request, "methods.html", {"before": before, "chapters": found})


class SignOut(LogoutView):
    """Leave, and give back what one holds to label."""

    def post(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        """Release the claims, then sign out."""
        if isinstance(request.user, User):
            release_claims(request.user)
        return super().post(request, *args, **kwargs)


@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    """Keep the theme (`light`, `dark`, anything else: the system's) in a cookie; go back."""
    target = request.POST.get("next", "/")
    if not url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    ):
        target = "/"
    response = HttpResponseRedirect(target)
    theme = request.POST.get("theme", "")
    if theme in THEMES:
        response.set_cookie("theme", theme, max_age=ONE_YEAR, samesite="Lax", httponly=True)
    else:
        response.delete_cookie("theme")
    return response
