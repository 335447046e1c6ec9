"""Every address of the site."""

from __future__ import annotations

from django.contrib import admin
from django.urls import path
from django.views.i18n import set_language

urlpatterns = [
    path("language/", set_language, name="set_language"),
    path("admin/", admin.site.urls),
]
