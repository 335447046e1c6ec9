"""Who comes to the site, and what pages they can come to by following its own links.

A page that something links to is found by itself. One that nothing links to is one line here: an
address to start from, in `everybody`.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import unescape
from io import StringIO
from urllib.parse import urljoin, urlsplit

from django.core.management import call_command
from django.test import Client, override_settings
from django.urls import Resolver404, resolve
from django.utils import timezone

from annotation.models import Dataset, GoldLabel, Role, Study, User
from annotation.queries.participants import token_of
from annotation.services.participants import invite
from benchmark.models import Snapshot
from judging.core.satisfaction_general import GeneralSettings
from judging.core.satisfaction_model import Settings
from judging.models import ConversationSetup, JudgeRun, ModelEndpoint, RunKind
from judging.services.learned import learned_model
from sensejudge_site.demo.accounts import LOGINS
from tests.annotation.entry import do, make_asking_study
from tests.annotation.labelling import make_pair_study, make_session_study
from tests.benchmark.evaluations import evaluate_satisfaction
from tests.benchmark.services.test_satisfaction_evaluation import make_rated_dataset
from tests.benchmark.test_views_grades import grade
from tests.factory import make_endpoint, make_response, make_turn, make_user
from tests.fake_llm import FakeLlm
from tests.judging.talks import make_talk_study

STEPS = ("consent", "profile", "guidelines", "quiz")
STOCK = {"admin:index", "admin:annotation_user_changelist", "admin:annotation_user_change"}
"""Pages of Django's own administration that are looked at; the others are made like them."""

NOT_LOOKED_AT = {"annotation:ahead"}
"""What is no page by itself: a script fetches it."""

_TRIES = 3  # addresses of one name that are tried, besides those to start from
_LINK = re.compile(r'(?:href|hx-get)="([^"#]+)')
_ELEMENT = re.compile(r'<([a-z][\w-]*)(?:[^>]*?\sclass="([^"]*)")?')


@dataclass(frozen=True)
class Visitor:
    """Somebody, and where they start besides the front page."""

    name: str
    user: User | None
    starts: tuple[str, ...] = ()


@dataclass(frozen=True)
class FoundRow:
    """A page: what made it, where it stands, and the kinds of element below its top line."""

    view: str
    template: str
    path: str
    holds: frozenset[tuple[str, str]]


def everybody() -> list[Visitor]:
    """The demo, and people of every role, in studies of every kind, at every step to an item."""
    with override_settings(ALLOWED_HOSTS=["127.0.0.1"]):
        call_command("demo", stdout=StringIO(), stderr=StringIO())
    demo = {each.role: User.objects.get(username=each.username) for each in LOGINS}
    train, test = make_rated_dataset("train", users=("cid",)), make_rated_dataset("rated")
    evaluate_satisfaction(train=train, test=test, evaluators=["history_mean"], draws=20, seed=7)
    for version, freezes in (("bench-1", ("--freeze",)), ("bench-2", ())):
        asked = ("--source", "demo", "--to", version, *freezes)
        call_command("construct", *asked, stdout=StringIO(), stderr=StringIO())
    call_command("injection_check", stdout=StringIO(), stderr=StringIO())
    with FakeLlm() as server:
        endpoint = make_endpoint(name="fake", base_url=server.base_url)
        varied = {"dataset": "demo", "vary": "prompt", "judge": endpoint.name}
        call_command("ablate", **varied, stdout=StringIO(), stderr=StringIO())
    make_response(make_turn(), text="- Cut.\n- Boil.\n- Serve.", model="cook")
    repeated = {"attack": "repetition", "dataset": Dataset.objects.latest("pk").slug}
    call_command("injection_check", **repeated, stdout=StringIO(), stderr=StringIO())
    ModelEndpoint.objects.update(enabled=False)  # no page offers a server that is gone
    scored = {"dataset": "demo", "targets": "candidates"}
    call_command("score_turns", **scored, stdout=StringIO(), stderr=StringIO())
    replayed = {"dataset": "demo", "evaluator": "lexical", "candidates": "terse-1,thorough-1"}
    grade(Dataset.objects.get(slug="demo"), [9.0, None] * 4)
    call_command("replay", **replayed, items="hard", stdout=StringIO(), stderr=StringIO())
    for command in ("leaderboard", "report"):
        call_command(command, dataset="demo", snapshot=True, stdout=StringIO(), stderr=StringIO())
    quick = Settings(general=GeneralSettings(trees=2), folds=2)
    learned_model(dataset=Dataset.objects.get(slug="demo"), settings=quick)
    newcomers = {step: make_user() for step in STEPS}
    asking = make_asking_study(list(newcomers.values()))
    for number, user in enumerate(newcomers.values()):
        do(asking, user, *STEPS[:number])
    labeller = make_user()
    studies = [each.slug for each in _studies(labeller)]
    made = invite(study="pairs", by=demo[Role.MANAGER], now=timezone.now(), places=20)
    join = f"/join/{token_of(made)}/"
    of_studies = [f"/studies/{slug}/" for slug in studies]
    return [
        Visitor("nobody", None, ("/sign-in/", "/nowhere/", join, "/join/wrong/")),
        Visitor("manager", demo[Role.MANAGER], (*_for_managers(), *of_studies)),
        Visitor("admin", demo[Role.ADMIN], ("/admin/", "/api/")),
        Visitor("viewer", demo[Role.VIEWER], ("/datasets/import/", "/trust/?run=999999")),
        Visitor("annotator", demo[Role.ANNOTATOR], (join, "/memories/", "/goodbye/")),
        Visitor("labeller", labeller, tuple(f"{each}next/" for each in of_studies)),
        *(
            Visitor(f"newcomer at {step}", user, (f"/studies/{asking.slug}/next/",))
            for step, user in newcomers.items()
        ),
    ]


def _for_managers() -> Iterator[str]:
    """Pages that are led to by what the demo happens to hold, if at all."""
    quality = "/studies/demo-which-answer-is-better/quality/"
    yield from (quality, f"{quality}rows/?figure=answers", f"{quality}rows/?figure=skipped")
    gold = GoldLabel.objects.filter(comparison__isnull=False).order_by("pk")[0]
    yield f"/gold/comparison/{gold.comparison_id}/"
    one, other = JudgeRun.objects.order_by("pk").values_list("pk", flat=True)[:2]
    yield f"/runs/compare/?run={one}&run={other}"
    yield f"/runs/{one}/prompts/"
    yield f"/snapshots/{Snapshot.objects.latest('pk').pk}/compare/"
    scoring = JudgeRun.objects.filter(kind=RunKind.SATISFACTION, dataset__slug="demo")
    yield "/trust/satisfaction/runs/?dataset=demo"
    yield f"/trust/satisfaction/models/{scoring.latest('pk').pk}/"


def _studies(labeller: User) -> Iterator[Study]:
    """Studies that somebody may begin to work on, one of every kind and with nothing left."""
    people = [labeller]
    pairs = make_pair_study(
        people,
        items=3,
        slug="pairs",
        guidelines="Read *both*.",
        allow_tie=True,
        allow_strength=True,
        allow_both_bad=True,
    )
    do(pairs, labeller, "guidelines")
    yield pairs
    asked = {"ask_hallucination": True, "ask_questionnaire": True}
    yield make_session_study(people, turns=2, slug="turns", **asked)
    yield make_talk_study(people, slug="talk")
    unready = make_talk_study(people, slug="unready")
    ConversationSetup.objects.filter(study=unready).delete()
    yield unready
    yield make_pair_study(people, items=0, slug="finished")


class Walk:
    """One visitor's way through the site."""

    def __init__(self, visitor: Visitor) -> None:
        self.client = Client()
        if visitor.user is not None:
            self.client.force_login(visitor.user)
        self._starts = {"/", *visitor.starts}
        self._waiting = deque(["/", *visitor.starts])
        self._tried: Counter[str] = Counter()
        self._seen: set[str] = set()

    def pages(self) -> Iterator[FoundRow]:
        """A page of every view and template; of one view a few addresses are tried."""
        made: set[tuple[str, str]] = set()
        while self._waiting:
            path = self._waiting.popleft()
            found = self._fetch(path) if self._is_new(path) else None
            if found is not None and (found.view, found.template) not in made:
                made.add((found.view, found.template))
                yield found

    def _is_new(self, path: str) -> bool:
        view = _view(path)
        known = path in self._seen or (view in NOT_LOOKED_AT and path not in self._starts)
        stock = view.startswith("admin:") and view not in STOCK
        if known or stock or not view or view.endswith(("export", "csv")):
            return False
        self._seen.add(path)
        if path not in self._starts:
            self._tried[view] += 1
        return self._tried[view] <= _TRIES

    def _fetch(self, path: str) -> FoundRow | None:
        response = self.client.get(path)
        elsewhere = response.headers.get("Location")
        if elsewhere:
            self._starts.add(elsewhere)  # where a start leads to counts as one
            self._waiting.append(urljoin(path, elsewhere))
            return None
        if response.streaming or not response["Content-Type"].startswith("text/html"):
            return None
        html = response.content.decode()
        links = (urljoin(path, unescape(each)) for each in _LINK.findall(html))
        self._waiting.extend(each for each in links if each.startswith("/"))
        if "<html" not in html:
            return None
        holds = frozenset(_ELEMENT.findall(html.partition("<main")[2] or html))
        return FoundRow(_view(path), response.templates[0].name or "", path, holds)


@cache  # a page's links are most of those of the page before
def _view(path: str) -> str:
    try:
        return resolve(urlsplit(path).path).view_name
    except Resolver404:
        return "no address" if path == "/nowhere/" else ""
