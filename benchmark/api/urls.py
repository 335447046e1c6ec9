"""Addresses of the API to what is made of judgments."""

from __future__ import annotations

from rest_framework.routers import SimpleRouter

from benchmark.api.views import ReplayViewSet

router = SimpleRouter()
router.register("replays", ReplayViewSet, basename="replay")

urlpatterns = router.urls
