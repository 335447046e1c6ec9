"""A deleted dataset is gone from every list, and every way to it says so in one sentence."""

from __future__ import annotations

import re
from html import unescape
from io import StringIO

import pytest
from django.core.management import (
    CommandError,
    call_command,
    get_commands,
    load_command_class,
)
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from annotation.core.refusals import text_of
from annotation.models import AuditEvent, Dataset, PairwiseLabel, Study
from annotation.services.datasets import archive_dataset
from benchmark.core.snapshots import SnapshotKind
from benchmark.models import Snapshot
from benchmark.queries.ranking import LeaderboardQuestion
from benchmark.queries.snapshot_questions import asked_board
from benchmark.services.snapshots import keep, verify
from judging.models import RunStatus
from judging.queries.run_lists import is_under_way
from sensejudge_site.archived import ADDRESSES
from tests.annotation.records import everything, import_rows
from tests.benchmark.stage import Stage
from tests.factory import make_dataset, make_run, make_study, make_user
from tests.refusals import refuses

pytestmark = pytest.mark.django_db

SENTENCE = text_of("dataset:archived")
NAME = "Zanzibar"

KEPT = {
    "api/v1/token/", "benchmarks/versions/", "snapshots/<", "snapshots/keep/", "join/", "admin/",
    "trust/satisfaction/evaluator/", "adjudication/", "gold/",
}  # fmt: skip
"""Addresses with a name that is of no dataset, or that stay readable; the last of each kind."""


@pytest.fixture
def manager():
    return make_user(role="MANAGER")


@pytest.fixture
def stage():
    made = Stage.make(slug="gone", name=NAME)
    rater = made.rater("ada")
    made.label(rater, "AABB")
    return made


def archive(by, *, name=NAME):
    archive_dataset(dataset="gone", name=name, under_way=is_under_way, by=by, now=timezone.now())


def patterns(resolver=None, before=""):
    for each in (resolver or get_resolver()).url_patterns:
        path = before + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from patterns(each, path)
        elif isinstance(each, URLPattern):
            yield re.sub(r"[\^$]", "", path), each


def test_every_address_with_a_name_is_looked_up():
    named = [path for path, _each in patterns() if "<" in path and not path.startswith("admin/")]
    filled = {
        path: "/" + re.sub(r"\(\?P<\w+>(?:[^()]|\([^()]*\))*\)|<[^>]+>", "1", path)
        for path in named
    }
    lost = {
        path
        for path, address in filled.items()
        if not any(pattern.match(address) for pattern, _named in ADDRESSES)
        and not path.startswith(tuple(KEPT))
    }
    assert not lost


def test_every_page_without_a_name_is_silent_about_it(client, manager, stage):
    annotator = make_user()
    make_study(stage.dataset, name=f"{NAME} study", annotators=[annotator])
    make_run(dataset=stage.dataset, status=RunStatus.DONE)
    make_dataset(slug="there", name="Still there")
    archive(manager)
    for user in (manager, annotator):
        client.force_login(user)
        for path, _each in patterns():
            if "<" in path or path.startswith(("admin/", "api/")) or "keep/" in path:
                continue
            page = client.get(f"/{path}", follow=True)
            if page.status_code == 200 and not page.streaming:
                assert NAME not in page.content.decode(), path


def test_old_links_are_refused_in_one_sentence(client, manager, stage):
    annotator = make_user()
    study = make_study(stage.dataset, slug="old", annotators=[annotator])
    run = make_run(dataset=stage.dataset, status=RunStatus.DONE)
    pair = stage.comparisons["Writing"][0]
    archive(manager)
    client.force_login(manager)
    for address in (
        "/datasets/gone/",
        "/datasets/gone/export/labels.csv",
        "/studies/old/",
        "/studies/old/quality/",
        f"/sessions/{pair.turn.session_id}/",
        f"/comparisons/{pair.pk}/",
        f"/adjudication/comparison/{pair.pk}/?dataset=gone",
        f"/runs/{run.pk}/",
        f"/runs/compare/?run={run.pk}&run={run.pk}",
        "/trust/?dataset=gone",
        "/leaderboard/?dataset=gone",
        "/runs/new/?dataset=gone",
        "/api/v1/datasets/gone/",
        f"/api/v1/comparisons/{pair.pk}/",
        "/api/v1/labels/?dataset=gone",
        f"/api/v1/runs/{run.pk}/",
    ):
        answer = client.get(address)
        assert (answer.status_code, SENTENCE in answer.content.decode()) == (410, True), address
    assert client.get("/api/v1/labels/").json()["results"] == []
    client.force_login(annotator)
    assert client.get(f"/studies/{study.slug}/next/").status_code == 410
    client.logout()
    assert client.get("/datasets/gone/").status_code == 302
    assert client.get("/api/v1/datasets/gone/").status_code == 401


ASKED = [
    "ablate --dataset gone --annotator ada --vary prompt",
    "construct --source gone --to v1",
    "distil --dataset gone --annotator ada",
    "evaluate_satisfaction --train gone --test gone",
    "export_records labels --dataset gone --out x",
    "generate --dataset gone --model one",
    "injection_check --dataset gone",
    "judge --dataset gone --annotator ada",
    "leaderboard --dataset gone",
    "pair --dataset gone",
    "recorded_judges --dataset gone",
    "replay --dataset gone --evaluator lexical --candidates alpha",
    "report --dataset gone",
    "satisfaction_board --dataset gone",
    "score_turns --dataset gone",
]


def test_every_command_refuses_it(manager, stage):
    archive(manager)
    for command in ASKED:
        with pytest.raises(CommandError) as refused:
            call_command(*command.split(), stdout=StringIO(), stderr=StringIO())
        assert str(refused.value).startswith("dataset:archived"), command


def test_no_command_about_a_dataset_is_left_out():
    options = {"--dataset", "--source", "--train"}

    def known(name):
        parser = load_command_class("sensejudge_site", name).create_parser("", name)
        return {each for action in parser._actions for each in action.option_strings}

    own = [name for name, app in get_commands().items() if app == "sensejudge_site"]
    commands = {name for name in own if options & known(name)}
    assert commands == {each.split()[0] for each in ASKED} | {"import_records"}


def test_no_file_is_imported_under_its_name(manager, stage, tmp_path):
    archive(manager)
    with refuses("import:archived"):
        import_rows(tmp_path, *everything(), dataset="gone")


def test_a_kept_snapshot_is_readable_but_not_computed_again(client, manager, stage):
    kept = keep(SnapshotKind.BOARD, asked_board(LeaderboardQuestion("gone")), created_by=manager)
    archive(manager)
    client.force_login(manager)
    assert client.get(f"/snapshots/{kept.pk}/").status_code == 200
    assert client.get(f"/snapshots/{kept.pk}/compare/").status_code == 410
    with refuses("dataset:archived"):
        verify(Snapshot.objects.get())


def test_labels_stay_and_studies_are_closed_with_a_trace(manager, stage):
    make_study(stage.dataset, slug="open")
    make_study(stage.dataset, slug="draft", status="DRAFT")
    archive(manager, name=" gone ")
    assert PairwiseLabel.objects.count() == 4
    assert dict(Study.objects.values_list("slug", "status")) == {"open": "CLOSED", "draft": "DRAFT"}
    trace = AuditEvent.objects.get(action="dataset.archived")
    assert (trace.actor, trace.detail["studies"]) == (manager, {"open": "OPEN"})


@pytest.mark.parametrize("config", [{}, {"train": "gone"}, {"history_dataset": "gone"}])
def test_runs_under_way_come_first(config, manager, stage):
    make_run(make_dataset() if config else stage.dataset, status=RunStatus.BATCH, config=config)
    with refuses("dataset:runs-under-way"):
        archive(manager)


def test_a_manager_deletes_it_on_its_page_by_its_name(client, manager, stage):
    client.force_login(manager)
    assert client.get("/datasets/gone/delete/").status_code == 405
    wrong = client.post("/datasets/gone/delete/", {"name": "gon"})
    assert wrong.status_code == 422
    assert text_of("dataset:other-name") in unescape(wrong.content.decode())
    done = client.post("/datasets/gone/delete/", {"name": NAME}, follow=True)
    assert done.redirect_chain == [("/datasets/", 302)]
    assert f"Deleted: {NAME}." in done.content.decode()
    assert client.post("/datasets/gone/delete/", {"name": NAME}).status_code == 410


def test_only_managers_delete(client, stage):
    assert client.post("/datasets/gone/delete/", {"name": NAME}).status_code == 302
    client.force_login(make_user(role="VIEWER"))
    assert client.post("/datasets/gone/delete/", {"name": NAME}).status_code == 403
    assert Dataset.objects.filter(slug="gone").exists()


def test_the_admin_console_shows_it(client, manager, stage):
    archive(manager)
    client.force_login(make_user(role="ADMIN"))
    assert NAME in client.get("/admin/annotation/dataset/?archived_at__isempty=0").content.decode()
    assert client.get("/admin/annotation/pairwiselabel/").context["cl"].result_count == 4
