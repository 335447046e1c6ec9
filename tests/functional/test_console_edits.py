"""Every edit that a manager can make in the console, one after the other; then every page opens.

The edits come of the forms of the console themselves: each field that they hold gets another value.
"""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from io import StringIO

import pytest
from django.contrib.admin import site
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import AnnotatorProfile, GoldLabel
from benchmark.queries.kept import kept
from tests.benchmark.evaluations import evaluate_satisfaction
from tests.benchmark.services.test_satisfaction_evaluation import make_rated_dataset
from tests.benchmark.stage import Stage
from tests.benchmark.test_views_grades import grade
from tests.browser.visitors import Visitor, Walk
from tests.factory import make_claim, make_item, make_label, make_study, make_user

pytestmark = pytest.mark.django_db

NEW_VALUES = (
    *("", "Renamed", "renamed", "3", "0.4", "2001-02-03", "01:02:03", "a@b.example"),
    *('{"a": 1}', '["a"]', "null", '"a"'),
)
"""What is typed into each field; its form refuses it or takes it."""

NOT_TYPED = ("csrfmiddlewaretoken", "_save", "_addanother", "_continue", "q")


class Fields(HTMLParser):
    """The fields of a form: what each holds, and what else it offers."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self.offered: dict[str, list[str]] = {}
        self._within = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        name = told.get("name", "")
        if tag == "input" and told.get("type") == "checkbox":
            self.offered[name] = ["on"]
            if "checked" in told:
                self.values[name] = "on"
        elif tag == "input" and told.get("type") != "submit":
            self.values[name] = told.get("value", "")
        elif tag in {"select", "textarea"}:
            self._within = name
            self.values[name] = ""
        elif tag == "option" and self._within:
            self.offered.setdefault(self._within, []).append(told.get("value", ""))
            if "selected" in told:
                self.values[self._within] = told.get("value", "")

    def handle_data(self, data: str) -> None:
        if self._within and self._within not in self.offered:
            self.values[self._within] = (self.values[self._within] + data).lstrip("\r\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in {"select", "textarea"}:
            self._within = ""

    def editable(self) -> Iterator[str]:
        """The names of what a person fills in."""
        for name in {**self.values, **self.offered}:
            hidden = name.endswith(("_FORMS", "-id")) or name.startswith("initial-")
            if name and name not in NOT_TYPED and not hidden and "__prefix__" not in name:
                yield name

    def edits(self, name: str) -> Iterator[dict[str, str]]:
        """The form with another value in a field."""
        others = {key: value for key, value in self.values.items() if key != name}
        if self.offered.get(name) == ["on"]:
            yield others if name in self.values else {**others, name: "on"}
            return
        for value in self.offered.get(name, NEW_VALUES):
            if value != self.values[name]:
                yield {**others, name: value}


def fields_of(client, address):
    return Fields(client.get(address).content.decode().partition('id="content"')[2])


@pytest.fixture
def edited():
    """A row of each model whose rows a manager may change, with all that hangs on it."""
    stage = Stage.make(scenarios=("Writing", "Code"), size=6)
    ann, bob = stage.rater("ann"), stage.rater("bob")
    stage.label(ann, "ABABAB" + "AABBAT", shown="ORIGINAL")
    stage.label(bob, "ABABAA" + "AABBAB", shown="SWAPPED")
    for rater in (ann, bob):
        stage.tested(
            rater,
            stage.distilled(rater),
            base="BBBBBB" + "BBBBBB",
            selected="ABABAB" + "AABBB.",
            shuffled="ABBA?A" + "BBAAA.",
        )
    grade(stage.dataset, [9, 5, 8, 4, None, 3, 7, 2] * 3)
    member = make_user(display_name="Mia")
    AnnotatorProfile.objects.create(user=member)
    study = make_study(stage.dataset, slug="members", annotators=[member])
    for comparison in stage.comparisons["Code"]:
        item = make_item(study, comparison=comparison)
        make_claim(item, member, state="DONE", finished_at=timezone.now())
        make_label(comparison, annotator=member, study=study, shown_order="ORIGINAL")
    gold, *_others = (
        GoldLabel.objects.create(comparison=each, verdict="A", source="DATASET")
        for each in stage.comparisons["Writing"]
    )
    train, test = make_rated_dataset("train", users=("cid",)), make_rated_dataset("rated")
    evaluate_satisfaction(train=train, test=test, evaluators=["history_mean"], draws=20, seed=7)
    call_command("leaderboard", dataset="study", snapshot=True, stdout=StringIO())
    call_command("report", dataset="study", snapshot=True, stdout=StringIO())
    return [stage.dataset, test, ann, member, study, gold]


def starts(dataset):
    named = f"?dataset={dataset.slug}"
    yield from (f"/trust/{each}{named}" for each in ("", "judges/", "gold/", "people/"))
    yield from (f"/trust/{each}{named}" for each in ("satisfaction/", "satisfaction/runs/"))
    yield from (f"/leaderboard/{each}{named}" for each in ("", "grades/", "corrected/", "pairs/"))
    yield from (f"/leaderboard/{each}{named}" for each in ("annotators/", "satisfaction/"))
    yield from (f"/agreement/{named}", f"/adjudication/{named}", "/snapshots/1/compare/")


def open_every_page(datasets):
    """The views of which a page was opened; a fault is raised."""
    views = set()
    for dataset in datasets:
        dataset.refresh_from_db()
        walk = Walk(Visitor("manager", make_user(role="MANAGER"), tuple(starts(dataset))))
        views |= {page.view for page in walk.pages()}
    return views


def editable_models(rf):
    request = rf.get("/")
    request.user = make_user(role="MANAGER")
    return {
        model for model, admin in site._registry.items() if admin.has_change_permission(request)
    }


NEVER_TAKEN = {
    ("study", "participations-0-annotator"),
    ("goldlabel", "comparison"),
    ("goldlabel", "response"),
    ("goldlabel", "session"),
    ("goldlabel", "score"),
}
"""A part is its annotator's, and a verdict is of a comparison alone."""


def kept_is_of_now(times):
    return kept(lambda _asked: times, 0).page == times


def test_after_every_edit_every_page_opens_with_figures_of_now(edited, rf, monkeypatch):
    monkeypatch.setattr("tests.browser.visitors._TRIES", 1)
    # Databases number people differently; a field for a person takes one who is there.
    monkeypatch.setattr(f"{__name__}.NEW_VALUES", (*NEW_VALUES, str(edited[3].pk)))
    assert {type(row) for row in edited} == editable_models(rf)
    datasets = edited[:2]
    before = open_every_page(datasets)
    assert {"benchmark:trust", "benchmark:judges", "benchmark:satisfaction"} <= before
    client = Client()
    client.force_login(make_user(role="MANAGER"))
    refused, times = set(), 0
    assert kept_is_of_now(0)
    for row in edited:
        of = row._meta
        address = reverse(f"admin:{of.app_label}_{of.model_name}_change", args=[row.pk])
        names = list(fields_of(client, address).editable())
        assert names
        for name in names:
            fields = fields_of(client, address)
            taken = (client.post(address, each).status_code == 302 for each in fields.edits(name))
            if any(taken):
                times += 1
                assert kept_is_of_now(times), (address, name)
                any(taken)  # another value still
                kept_is_of_now(times)
            else:
                refused.add((of.model_name, name))
    assert before - open_every_page(datasets) == set()
    assert refused == NEVER_TAKEN
    assert times > 40
