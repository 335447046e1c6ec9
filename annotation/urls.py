"""Addresses of the annotation app."""

from __future__ import annotations

from django.urls import URLPattern, path, re_path

from annotation.views import (
    agreement,
    datasets,
    labelling,
    onboarding,
    participants,
    quality,
    studies,
    study_work,
)
from annotation.views.labelling import ITEM

app_name = "annotation"

# Managing studies: making one, how it goes, its rows, who gets which item.
_managing = [
    path("studies/new/", studies.new_study, name="new-study"),
    path("studies/new/counts/", studies.new_study_counts, name="new-study-counts"),
    path("studies/<slug:slug>/live/", studies.live, name="study-live"),
    path("studies/<slug:slug>/status/", studies.study_status, name="study-status"),
    path("studies/<slug:slug>/delete/", studies.delete_study, name="study-delete"),
    path("studies/<slug:slug>/rules/", studies.study_rules, name="study-rules"),
    path("studies/<slug:slug>/people/", participants.people, name="study-people"),
    path(
        "studies/<slug:slug>/people/<number:annotator>/",
        participants.annotator,
        name="study-annotator",
    ),
    path(
        "studies/<slug:slug>/people/<number:annotator>/pause/",
        participants.pause_annotator,
        name="study-pause",
    ),
    path(
        "studies/<slug:slug>/people/<number:annotator>/resume/",
        participants.resume_annotator,
        name="study-resume",
    ),
    path(
        "studies/<slug:slug>/people/<number:annotator>/remove/",
        participants.remove,
        name="study-remove",
    ),
    path("studies/<slug:slug>/work/", study_work.claims, name="study-claims"),
    path("studies/<slug:slug>/work/<number:number>/", study_work.item_claims, name="study-item"),
    path("studies/<slug:slug>/work/<number:number>/give/", study_work.give, name="study-give"),
    path(
        "studies/<slug:slug>/work/<number:number>/release/<number:claim>/",
        study_work.release,
        name="study-release",
    ),
    path("studies/<slug:slug>/work/return/", study_work.return_all, name="study-return"),
    path("studies/<slug:slug>/work/pass-on/", study_work.pass_on, name="study-pass-on"),
    path("studies/<slug:slug>/work/discard/", study_work.discard, name="study-discard"),
    path("studies/<slug:slug>/skips/", study_work.skips, name="study-skips"),
    path("studies/<slug:slug>/skips/offer/", study_work.offer, name="study-offer"),
    path("studies/<slug:slug>/flags/", study_work.flags, name="study-flags"),
    path("studies/<slug:slug>/history/", studies.history, name="study-history"),
    re_path(
        r"^studies/(?P<slug>[-\w]+)/export/"
        r"(?P<kind>labels|labels_wide|satisfaction|sessions)\.(?P<format_name>jsonl|csv|excel)$",
        studies.export,
        name="study-export",
    ),
]

# Labelling: studies, and the pages on which annotators work.
_labelling = [
    path("studies/", studies.studies, name="studies"),
    path("studies/<slug:slug>/", studies.study, name="study"),
    path("studies/<slug:slug>/next/", labelling.next_item, name="next"),
    path("studies/<slug:slug>/answers/", labelling.answers, name="answers"),
    path(ITEM, labelling.item, name="item"),
    path(f"{ITEM}ahead/", labelling.ahead, name="ahead"),
    path(f"{ITEM}answer/", labelling.answer, name="answer"),
    path(f"{ITEM}ratings/", labelling.ratings, name="ratings"),
    path(f"{ITEM}turns/<number:turn>/raw/", labelling.raw_reply, name="raw-reply"),
    path(f"{ITEM}skip/", labelling.skip_item, name="skip"),
    path(f"{ITEM}undo-skip/", labelling.undo_skip_item, name="undo-skip"),
    path(f"{ITEM}lease/", labelling.lease, name="lease"),
]

# How carefully the annotators of a study answer, and pausing them.
_quality = [
    path("studies/<slug:slug>/quality/", quality.quality, name="quality"),
    path("studies/<slug:slug>/quality/rows/", quality.rows, name="quality-rows"),
    path("studies/<slug:slug>/quality/quality.csv", quality.quality_csv, name="quality-csv"),
    path(
        "studies/<slug:slug>/quality/annotators/<number:number>/pause/",
        quality.pause_annotator,
        name="quality-pause",
    ),
    path(
        "studies/<slug:slug>/quality/annotators/<number:number>/resume/",
        quality.resume_annotator,
        name="quality-resume",
    ),
]

# The way into a study: joining by a link, and what comes before the first item.
_onboarding = [
    path("join/<str:token>/", participants.join_study, name="join"),
    path("goodbye/", onboarding.goodbye, name="goodbye"),
    path("profile/", onboarding.my_profile, name="my-profile"),
    path("password/", participants.password, name="password"),
    path("studies/<slug:slug>/consent/", onboarding.consent_page, name="consent"),
    path("studies/<slug:slug>/profile/", onboarding.profile_page, name="profile"),
    path("studies/<slug:slug>/guidelines/", onboarding.guidelines_page, name="guidelines"),
    path("studies/<slug:slug>/quiz/", onboarding.quiz_page, name="quiz"),
    path("studies/<slug:slug>/consent/edit/", onboarding.edit_consent, name="edit-consent"),
    path("studies/<slug:slug>/quiz/edit/", onboarding.edit_quiz, name="edit-quiz"),
    path("studies/<slug:slug>/guidelines/edit/", studies.edit_guidelines, name="edit-guidelines"),
    path(
        "studies/<slug:slug>/guidelines/history/",
        studies.guidelines_history_page,
        name="guidelines-history",
    ),
    path("preview/", studies.preview, name="preview"),
    re_path(
        r"^studies/(?P<slug>[-\w]+)/participants\.(?P<format_name>jsonl|csv|excel)$",
        onboarding.participants,
        name="participants",
    ),
    path("studies/<slug:slug>/invitations/", participants.invitations, name="invitations"),
    path(
        "studies/<slug:slug>/invitations/<number:number>/withdraw/",
        participants.withdraw_invitation,
        name="withdraw-invitation",
    ),
    path(
        "studies/<slug:slug>/invitations/<number:number>/completion/",
        participants.completion,
        name="invitation-completion",
    ),
]

# Data in and out: datasets, what is in them, imports and exports.
_datasets = [
    path("datasets/", datasets.datasets, name="datasets"),
    path("datasets/import/", datasets.import_file, name="import"),
    path("datasets/<slug:slug>/", datasets.dataset, name="dataset"),
    path("datasets/<slug:slug>/delete/", datasets.delete, name="delete-dataset"),
    path("datasets/<slug:slug>/sampling/", datasets.label_sampling, name="label-sampling"),
    re_path(
        r"^datasets/(?P<slug>[-\w]+)/export/"
        r"(?P<kind>kto|labels|labels_wide|satisfaction|sessions)"
        r"\.(?P<format_name>jsonl|csv|excel|zip|parquet)$",
        datasets.export,
        name="export",
    ),
    path("sessions/<number:session_id>/", datasets.session, name="session"),
    path("comparisons/<number:comparison_id>/", datasets.comparison, name="comparison"),
    re_path(
        r"^gold/(?P<kind>comparison|response)/(?P<number>[0-9]{1,18})/$", quality.gold, name="gold"
    ),
]

# Agreement: how far annotators agree, and deciding where they do not.
_agreement = [
    path("agreement/", agreement.agreement, name="agreement"),
    path("agreement/rows/", agreement.agreement_rows, name="agreement-rows"),
    path("agreement/agreement.csv", agreement.agreement_csv, name="agreement-csv"),
    path("adjudication/", agreement.queue, name="adjudication"),
    path("adjudication/next/", agreement.next_item, name="adjudicate-next"),
    re_path(
        r"^adjudication/(?P<kind>comparison|response|session)/(?P<number>[0-9]{1,18})/$",
        agreement.item,
        name="adjudicate",
    ),
]

urlpatterns: list[URLPattern] = [
    *_managing,
    *_labelling,
    *_quality,
    *_onboarding,
    *_datasets,
    *_agreement,
]
