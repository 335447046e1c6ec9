"""One's own account."""

from __future__ import annotations

from typing import Final

from django.contrib import messages
from django.contrib.auth import update_session_auth_hash
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from annotation.forms.accounts import PasswordForm
from annotation.services.accounts import change_password
from annotation.views.access import SignedInRequest

UNPROCESSABLE: Final = 422


@sensitive_post_parameters("current", "password", "password_again")
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
@never_cache
def password(request: SignedInRequest) -> HttpResponse:
    """Another password for oneself; this session stays, all others and the API tokens end."""
    form = PasswordForm(request, request.user)
    if form.is_valid():
        change_password(user=request.user, password=form.cleaned_data["password"])
        update_session_auth_hash(request, request.user)
        text = gettext(
            "Password changed. You have been signed out on all other devices, and your API "
            "tokens no longer work."
        )
        messages.success(request, text)
        return redirect("annotation:password")
    status = UNPROCESSABLE if form.is_bound else 200
    return render(request, "annotation/password.html", {"form": form}, status=status)
