"""Addresses of the API to what the judge says."""

from __future__ import annotations

from rest_framework.routers import SimpleRouter

from judging.api.views import (
    JudgeRunViewSet,
    JudgmentViewSet,
    PreferenceSetViewSet,
    PreferenceViewSet,
    SatisfactionJudgmentViewSet,
)

router = SimpleRouter()
router.register("runs", JudgeRunViewSet)
router.register("preferences", PreferenceViewSet)
router.register("preference-sets", PreferenceSetViewSet)
router.register("judgments", JudgmentViewSet)
router.register("satisfaction-judgments", SatisfactionJudgmentViewSet)

urlpatterns = router.urls
