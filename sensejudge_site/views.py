"""The front door and the reader's own switches."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LogoutView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import get_language
from django.views.decorators.http import require_POST, require_safe

from annotation.core.choices import StudyKind
from annotation.forms.datasets import ImportForm
from annotation.models import User
from annotation.queries.datasets import dataset_of, slugs
from annotation.queries.studies import begun_study, studies_of_kind
from annotation.services.claims import release_claims
from annotation.views.access import reader_required
from benchmark.queries.disagreements import DisagreementQuestion, queue_page
from judging.queries.run_lists import has_runs
from sensejudge_site.context_processors import THEMES
from sensejudge_site.demo import SLUG
from sensejudge_site.methods import chapters
from sensejudge_site.methods import formats as file_formats
from sensejudge_site.methods import glossary as terms_in

ONE_YEAR = 365 * 24 * 3600


@require_safe
@login_required
def home(request: HttpRequest) -> HttpResponse:
    """To what this person came for: labelling, first steps, or the figures of one's own data."""
    user = request.user
    if not (isinstance(user, User) and user.sees_everyone):
        return redirect("annotation:studies")
    datasets = slugs()
    begins = not has_runs([each for each in datasets if each != SLUG])
    return redirect(
        "start" if begins and (user.is_manager or SLUG in datasets) else "benchmark:trust"
    )


@require_safe
@reader_required
def start(request: HttpRequest) -> HttpResponse:
    """The first minutes: what the demo shows, and the first steps with one's own data."""
    datasets = slugs()
    own = [each for each in datasets if each != SLUG]
    study = begun_study(own)
    done = {"import": bool(own), "study": bool(study and study[1]), "run": has_runs(own)}
    context = {
        "demo": _demo() if SLUG in datasets else None,
        "done": done,
        "next": next((step for step, is_done in done.items() if not is_done), ""),
        "study": study[0] if study else "",
        "only": own[0] if len(own) == 1 else "",
        "import_form": ImportForm(),
    }
    return render(request, "start.html", context)


def _demo() -> dict[str, object]:
    """What of the demo to look at first: a disagreement, and a study; "" where there is none."""
    found = queue_page(DisagreementQuestion(dataset=SLUG), page="1").rows
    studies = studies_of_kind(dataset_of(SLUG), StudyKind.PAIRWISE)
    return {
        "slug": SLUG,
        "disagreement": found[0].found if found else None,
        "study": studies[0][0] if studies else "",
    }


@require_safe
@login_required
def methods(request: HttpRequest) -> HttpResponse:
    """How each figure is computed, in the reader's language."""
    before, found = chapters(get_language() or "")
    return render(request, "methods.html", {"before": before, "chapters": found})


@require_safe
@login_required
def glossary(request: HttpRequest) -> HttpResponse:
    """What each term of the method means, in the reader's language."""
    return render(request, "glossary.html", {"terms": terms_in(get_language() or "")})


@require_safe
@login_required
def formats(request: HttpRequest) -> HttpResponse:
    """What files can be imported and exported hold, in the reader's language."""
    found = file_formats(get_language() or "")
    return render(request, "formats.html", {"chapters": found})


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
