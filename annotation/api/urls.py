"""Addresses of the API to what is labelled."""

from __future__ import annotations

from rest_framework.routers import SimpleRouter

from annotation.api.views import (
    ComparisonViewSet,
    DatasetViewSet,
    PairwiseLabelViewSet,
    SatisfactionLabelViewSet,
)

router = SimpleRouter()
router.register("datasets", DatasetViewSet)
router.register("comparisons", ComparisonViewSet)
router.register("labels", PairwiseLabelViewSet)
router.register("satisfaction-labels", SatisfactionLabelViewSet)

urlpatterns = router.urls
