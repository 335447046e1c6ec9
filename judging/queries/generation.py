"""What a generation reads and what its pages show: turns to answer, what is known of their users.

Of a user's other scenarios texts alone are read; no label is, by any query of this file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q
from django.db.models.query import QuerySet

from annotation.core.choices import JudgmentStatus
from annotation.core.language import language_of
from annotation.core.splits import rank_of
from annotation.models import Response, Session, Turn
from judging.core.chat import CUT
from judging.core.endpoints import family_of
from judging.core.generation import AskedTurn, SessionTurn, Snippet, asked_turns, snippets
from judging.core.memory import Memory
from judging.core.memory_parsing import memory_from_content
from judging.core.retrieval import UserTurn
from judging.core.rules import AnsweredTurns, GenerationContext
from judging.core.runs import RunProgress
from judging.core.targets import Targets
from judging.models import GeneratedResponse, JudgeRun, ModelEndpoint, RunKind, UserMemory
from judging.queries.comparisons import in_languages
from judging.queries.runs import generated_rows, run_progress

ROWS_A_PAGE = 50


def turns_to_answer(dataset_id: int, targets: Targets, choice: AnsweredTurns) -> list[AskedTurn]:
    """The turns of a dataset that a run answers, those that continue own replies last.

    A sample is of conversations, by the rank of their keys; `only` names turns of conversations
    with original responses. Three queries.

    Args:
        dataset_id: whose.
        targets: the filters by scenario, language and turn, and the sample; nothing else of them.
        choice: which turns of each conversation.
    """
    sessions = _sessions(dataset_id, targets).order_by("position", "pk")
    keys = list(sessions.values_list("pk", "key"))
    if targets.sample is not None:
        drawn = set(sorted(keys, key=lambda one: rank_of("sample", one[1]))[: targets.sample])
        keys = [one for one in keys if one in drawn]
    originals = set(_originals(dataset_id).values_list("turn_id", flat=True))
    by_session: dict[int, list[SessionTurn]] = defaultdict(list)
    turns = Turn.objects.filter(session__dataset_id=dataset_id).order_by("position")
    for pk, session, message in turns.values_list("pk", "session_id", "user_message").iterator():
        is_asked = bool((message or "").strip())
        by_session[session].append(SessionTurn(pk, is_asked, pk in originals))
    found = [one for key, _ in keys for one in asked_turns(by_session[key], choice)]
    only = frozenset(targets.only)
    return sorted((one for one in found if not only or one.id in only), key=lambda one: one.depth)


def _sessions(dataset_id: int, targets: Targets) -> QuerySet[Session]:
    sessions = Session.objects.filter(dataset_id=dataset_id)
    if targets.scenarios:
        sessions = sessions.filter(scenario__name__in=targets.scenarios)
    if targets.languages:
        sessions = sessions.filter(in_languages(targets.languages))
    return sessions


def _originals(dataset_id: int) -> QuerySet[Response]:
    return Response.objects.filter(
        turn__session__dataset_id=dataset_id, original=True, text__isnull=False
    )


class TurnLine(NamedTuple):
    """A turn to answer with the conversation that leads to it.

    `turns` are ids, user messages and original responses, None where there is none, up to and with
    the turn; `user` is who held the conversation, None where nobody is named.
    """

    system: str
    language: str
    user: int | None
    scenario: int
    scenario_name: str
    turns: tuple[tuple[int, str | None, str | None], ...]


def turn_lines(turn_ids: Collection[int]) -> dict[int, TurnLine]:
    """Some turns with their conversations. Three queries."""
    asked = {
        turn.pk: turn
        for turn in Turn.objects.filter(pk__in=turn_ids).select_related("session__scenario")
    }
    turns = _said({turn.session_id for turn in asked.values()})
    lines = {}
    for pk, turn in asked.items():
        session = turn.session
        own = [one for one in turns[session.pk] if one[0] <= turn.position]
        said = "\n".join(message or "" for _position, _pk, message, _reply in own)
        lines[pk] = TurnLine(
            system=session.system_prompt,
            language=session.language or language_of(said),
            user=session.original_user_id,
            scenario=session.scenario_id,
            scenario_name=session.scenario.name,
            turns=tuple(one[1:] for one in own),
        )
    return lines


def _said(
    session_ids: Collection[int],
) -> dict[int, list[tuple[int, int, str | None, str | None]]]:
    """By session its turns in order: position, id, user message, original response."""
    originals = dict(
        Response.objects.filter(turn__session__in=session_ids, original=True).values_list(
            "turn_id", "text"
        )
    )
    found: dict[int, list[tuple[int, int, str | None, str | None]]] = defaultdict(list)
    rows = Turn.objects.filter(session__in=session_ids).order_by("position")
    for session, position, pk, message in rows.values_list(
        "session_id", "position", "pk", "user_message"
    ):
        found[session].append((position, pk, message, originals.get(pk)))
    return found


def user_snippets(dataset_id: int, user_ids: Collection[int]) -> dict[int, list[Snippet]]:
    """What was said in the conversations of some users, by scenario. Three queries.

    Original responses alone: what models generated since is no history.
    """
    sessions = list(
        Session.objects.filter(dataset_id=dataset_id, original_user__in=user_ids)
        .order_by("scenario__position", "scenario_id", "position", "pk")
        .values_list("pk", "original_user_id", "scenario__name")
    )
    said = _said({session for session, *_ in sessions})
    found: dict[int, list[Snippet]] = defaultdict(list)
    for session, user, scenario in sessions:
        if user is not None:
            turns = [UserTurn(message, reply) for _place, _pk, message, reply in said[session]]
            found[user] += snippets(scenario, turns)
    return found


def user_memories(keys: Collection[tuple[int, int]]) -> dict[tuple[int, int], Memory]:
    """By user and scenario the memory written last FOR the scenario, from the others. One query."""
    rows = UserMemory.objects.filter(
        user__in={user for user, _scenario in keys},
        target_scenario__in={scenario for _user, scenario in keys},
        status=JudgmentStatus.DONE,
    ).order_by("pk")
    return {
        (user, scenario): memory_from_content({"statistics": counts, "texts": texts})
        for user, scenario, counts, texts in rows.values_list(
            "user_id", "target_scenario_id", "statistics", "texts"
        )
        if (user, scenario) in keys
    }


def is_known(dataset_id: int, targets: Targets, context: GenerationContext) -> bool:
    """Whether a context has anything to show of any user whose turns are answered. Two queries."""
    if context is GenerationContext.PREFIX:
        return True
    asked = _sessions(dataset_id, targets).filter(original_user__isnull=False).order_by()
    blocks = set(asked.values_list("original_user", "scenario").distinct())
    if not context.retrieves:
        users = {user for user, _scenario in blocks}
        written = UserMemory.objects.filter(user__in=users, status=JudgmentStatus.DONE)
        return not blocks.isdisjoint(written.values_list("user", "target_scenario"))
    said = _originals(dataset_id).order_by().distinct()
    elsewhere = set(said.values_list("turn__session__original_user", "turn__session__scenario"))
    return any(
        user == other and scenario != of for user, scenario in blocks for other, of in elsewhere
    )


class GenerationTotals(NamedTuple):
    """A generation by outcome; `responses` counts those that were not there before.

    Those that `failed` include the `cut` ones.
    """

    progress: RunProgress
    generated: int
    failed: int
    unparseable: int
    cut: int
    responses: int


def generation_totals(run_id: int) -> GenerationTotals:
    """How a generation stands."""
    counts = generated_rows(run_id).aggregate(
        generated=Count("pk", filter=Q(status=JudgmentStatus.DONE)),
        failed=Count("pk", filter=Q(status=JudgmentStatus.FAILED)),
        unparseable=Count("pk", filter=Q(status=JudgmentStatus.UNPARSEABLE)),
        cut=Count("pk", filter=Q(error_code=CUT)),
        responses=Count("pk", filter=Q(is_new=True)),
    )
    return GenerationTotals(run_progress(run_id), **counts)


def generated_page(run_id: int, *, page: str) -> Page[GeneratedResponse]:
    """A page of a generation's rows with their texts, in the order in which they are asked."""
    rows = (
        generated_rows(run_id)
        .select_related("turn__session__scenario", "response", "call")
        .defer("call__request", "call__reply", "call__reasoning", "call__logprobs")
        .order_by("pk")
    )
    return Paginator(rows, ROWS_A_PAGE).get_page(page)


class SameFamily(NamedTuple):
    """Judges beside candidates of their own model family, which they may favour."""

    family: str
    judges: tuple[str, ...]
    models: tuple[str, ...]


def judges_of_family(dataset_id: int, models: Iterable[str]) -> list[SameFamily]:
    """Endpoints that could judge candidates of their own family, and judges that did here.

    A candidate's own endpoint is named where it judged: who generates is not taken for a judge.

    Args:
        dataset_id: where the candidates answer.
        models: the candidates.
    """
    candidates = list(models)
    endpoints = ModelEndpoint.objects.filter(enabled=True).exclude(model__in=candidates)
    known = dict(endpoints.values_list("name", "model"))
    ran = JudgeRun.objects.filter(dataset=dataset_id).exclude(kind=RunKind.GENERATE).order_by()
    for name, model in ran.values_list("judge", "endpoint__model").distinct():
        known[name] = model or name
    return same_families(known, candidates)


def same_families(judges: Mapping[str, str], candidates: Collection[str]) -> list[SameFamily]:
    """The families that have both judges and candidates, in order of their names.

    Args:
        judges: by name the model behind each, or the name again where there is none.
        candidates: models by name.
    """
    families = {each: family_of(each) for each in {*judges.values(), *candidates}}
    models = {each for each in candidates if families[each]}
    return [
        SameFamily(
            family,
            tuple(sorted(name for name, model in judges.items() if families[model] == family)),
            tuple(sorted(each for each in models if families[each] == family)),
        )
        for family in sorted({families[model] for model in judges.values()})
        if any(families[each] == family for each in models)
    ]


def families_of_judges(runs: Iterable[JudgeRun]) -> list[SameFamily]:
    """The families of the judges of some runs, of one dataset, that candidates there belong to.

    A judge that needs no endpoint belongs to no model family, but for one that a file brought. One
    query at most.
    """
    judging = [
        run
        for run in runs
        if run.kind == RunKind.RECORDED or (run.endpoint and run.kind != RunKind.GENERATE)
    ]
    if not judging:
        return []
    judges = {run.judge: run.endpoint.model if run.endpoint else run.judge for run in judging}
    return same_families(judges, _candidates(judging[0].dataset_id))


def families_of_runs(runs: Iterable[int]) -> list[SameFamily]:
    """The same by the runs' numbers. Two queries at most."""
    rows = JudgeRun.objects.filter(pk__in=set(runs)).select_related("endpoint").defer("config")
    return families_of_judges(rows)


def families_of_endpoints(dataset_id: int, names: Iterable[str]) -> list[SameFamily]:
    """The same of judges that are to judge a dataset, by their names. Two queries at most."""
    judges = dict(ModelEndpoint.objects.filter(name__in=set(names)).values_list("name", "model"))
    return same_families(judges, _candidates(dataset_id)) if judges else []


def _candidates(dataset_id: int) -> list[str]:
    models = Response.objects.filter(turn__session__dataset=dataset_id).order_by()
    return list(models.values_list("model", flat=True).distinct())
