"""Every address of the site."""

from __future__ import annotations

from django.contrib import admin
from django.contrib.auth import views as auth
from django.urls import include, path
from django.views.i18n import set_language
from drf_spectacular.contrib.django_filters import DjangoFilterExtension
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from annotation.views.datasets import dataset, delete, import_file
from judging.core.formats.detect import ALL_FORMATS
from judging.queries.downloads import filled_exports
from judging.queries.run_lists import is_under_way
from judging.queries.runs import has_verdicts
from judging.services.recorded import import_any
from sensejudge_site.api_views import StoredSchema
from sensejudge_site.views import SignOut, formats, glossary, home, methods, set_theme, start

# There are no maps here. Otherwise a server's first description of the API starts 36 processes, a
# compiler among them, that look for GDAL: 0.9 seconds of processor time.
DjangoFilterExtension._has_gis = False  # type: ignore[attr-defined]  # noqa: SLF001

_API_DOCS = SpectacularSwaggerSplitView.as_view(
    url_name="api-schema", template_name="api_docs.html"
)

handler400 = "sensejudge_site.middleware.bad_request"
handler500 = "sensejudge_site.middleware.server_error"

urlpatterns = [
    path("", home, name="home"),
    path("start/", start, name="start"),
    path("formats/", formats, name="formats"),
    path("glossary/", glossary, name="glossary"),
    path("methods/", methods, name="methods"),
    path("sign-in/", auth.LoginView.as_view(redirect_authenticated_user=True), name="sign-in"),
    path("sign-out/", SignOut.as_view(), name="sign-out"),
    path("language/", set_language, name="set_language"),
    path("theme/", set_theme, name="set-theme"),
    path(  # annotation's page, with the formats of recorded judges too
        "datasets/import/",
        import_file,
        {"run": import_any, "formats": ALL_FORMATS, "judged": has_verdicts},
    ),
    path("datasets/<slug:slug>/", dataset, {"filled": filled_exports}),
    path("datasets/<slug:slug>/delete/", delete, {"under_way": is_under_way}),
    path("", include("annotation.urls")),
    path("", include("judging.urls")),
    path("", include("benchmark.urls")),
    path("api/v1/", include("sensejudge_site.api_urls")),
    path(
        "api/schema/",
        SpectacularAPIView.as_view(generator_class=StoredSchema),
        name="api-schema",
    ),
    path("api/", _API_DOCS, name="api-docs"),
    path("admin/", admin.site.urls),
]
