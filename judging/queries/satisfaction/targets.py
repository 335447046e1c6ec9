"""What a run scores beyond rated turns: which responses, in whose stead, with which history.

A block is a user and a scenario, as everywhere; its history is what the user rated in scenarios of
another name. Labels decide which rows there are (`planned_turns`) and make the history; of the
target scenario none reaches a question (`target_blocks` reads no other labels).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from operator import itemgetter
from typing import NamedTuple

from django.db.models import F, Min, Q, QuerySet
from django.db.models.functions import Coalesce

from annotation.core.language import language_of, primary_language
from annotation.core.refusals import Refused
from annotation.core.splits import rank_of
from annotation.models import Dataset, Response, SatisfactionLabel, Session, StudyItem
from judging.core.retrieval import (
    Block,
    ScoringTarget,
    UserSession,
    UserTurn,
    history_of,
    response_target,
    session_target,
)
from judging.core.rules import Level
from judging.core.runs import HISTORY, TARGETS
from judging.core.targets import RunTarget, Targets, TurnPart
from judging.models import JudgeRun, SatisfactionJudgment
from judging.queries.comparisons import own_lines
from judging.queries.configurations import satisfaction_settings, targets_of
from judging.queries.satisfaction.blocks import (
    SessionColumns,
    StoredBlock,
    profiles_of,
    rated,
    rated_sessions,
    session_rows,
    stored_blocks,
    turns_of,
)

Asked = Collection[tuple[int, int]]
"""Ids of users, each with that of a response, or of a session where whole ones are scored."""


class TurnScope(NamedTuple):
    """Which responses, or sessions, of a dataset are scored, and in whose stead.

    `user` alone, or everybody who held a session or rated something. `history` is the dataset
    whose ratings are their history. Sessions are the user's own, those that they held or rated in;
    for a user alone also those that nobody holds, and with `everything` all there are.
    """

    dataset: int
    history: int
    user: int | None
    level: Level
    targets: Targets
    everything: bool


def turn_scope(run: JudgeRun) -> TurnScope | None:
    """What a run is about, saved or not; None where that is everything rated.

    Raises:
        Refused: the dataset with its history is gone.
    """
    if TARGETS not in run.config:
        return None
    history, named = run.dataset_id, run.config.get(HISTORY)
    if named:
        found = Dataset.objects.filter(slug=named).values_list("pk", flat=True).first()
        if found is None:
            raise Refused("run:no-history", f"there is no dataset {named!r} any more")
        history = found
    return TurnScope(
        dataset=run.dataset_id,
        history=history,
        user=run.annotator_id,
        level=satisfaction_settings(run.config).level,
        targets=targets_of(run.config),
        everything=bool(named),
    )


class PlannedTurn(NamedTuple):
    """A response, or a session, to score in a user's stead."""

    user_id: int
    scenario_id: int
    target_id: int
    part: TurnPart


class _Place(NamedTuple):
    """A session that can be scored in."""

    session: int
    key: str
    scenario: int
    scenario_name: str
    language: str
    owner: int | None


class _Item(NamedTuple):
    """A response, or a session; `key` tells it from others whatever its id is."""

    id: int
    original: bool
    models: frozenset[str]
    key: tuple[str, ...]


class _Candidate(NamedTuple):
    """An item in a user's stead."""

    user: int
    place: _Place
    item: _Item
    is_rated: bool

    def is_asked(self, targets: Targets) -> bool:
        """Whether it is of the kind and passes the filters; the sample is drawn of those."""
        languages = {primary_language(code) for code in targets.languages}
        return (
            targets.takes(rated=self.is_rated, original=self.item.original)
            and (not targets.scenarios or self.place.scenario_name in targets.scenarios)
            and (not targets.models or not self.item.models.isdisjoint(targets.models))
            and (not languages or primary_language(self.place.language) in languages)
        )


def planned_turns(scope: TurnScope) -> list[PlannedTurn]:
    """What is to be scored, by user and block in stored order.

    The original responses of a block in which anything is asked for all are: those that were not
    asked for as its reference (protocols A2.4). What is drawn into a sample depends on keys alone,
    so a score does not depend on what is scored beside it. Six queries, of a study seven.
    """
    candidates = list(_candidates(scope))
    listed, only = _listed(scope.targets), frozenset(scope.targets.only)
    asked = [
        at
        for at, each in enumerate(candidates)
        if each.is_asked(scope.targets)
        and (listed is None or each.place.session in listed)
        and (not only or each.item.id in only)
    ]
    if scope.targets.sample is not None:
        asked.sort(key=lambda at: rank_of("sample", *candidates[at].item.key))
        asked = asked[: scope.targets.sample]
    wanted = frozenset(asked)
    blocks = {(candidates[at].user, candidates[at].place.scenario) for at in wanted}
    return [
        PlannedTurn(
            each.user,
            each.place.scenario,
            each.item.id,
            TurnPart.of(rated=each.is_rated, original=each.item.original)
            if at in wanted
            else TurnPart.REFERENCE,
        )
        for at, each in enumerate(candidates)
        if at in wanted or (each.item.original and (each.user, each.place.scenario) in blocks)
    ]


def _listed(targets: Targets) -> frozenset[int] | None:
    """The sessions of the study that is meant; None without one."""
    if targets.kind is not RunTarget.STUDY:
        return None
    items = StudyItem.objects.filter(study__slug=targets.study, session__isnull=False)
    return frozenset(items.values_list("session_id", flat=True))


def _candidates(scope: TurnScope) -> Iterator[_Candidate]:
    """Every item of every user's sessions."""
    places = [
        _Place(*row)
        for row in Session.objects.filter(dataset=scope.dataset)
        .order_by("scenario__position", "scenario_id", "position", "id")
        .values_list("id", "key", "scenario_id", "scenario__name", "language", "original_user_id")
    ]
    items = (_responses if scope.level is Level.TURN else _wholes)(scope.dataset)
    met = _sessions_rated_in(scope)
    given = _rated_items(scope)
    users = [scope.user] if scope.user is not None else _users(places, met)
    for user in users:
        for place in places:
            is_own = place.owner == user or place.session in met[user]
            is_free = scope.user is not None and place.owner is None
            if is_own or is_free or scope.everything:
                for item in items[place.session]:
                    yield _Candidate(user, place, item, (user, item.id) in given)


def _users(places: Iterable[_Place], met: Mapping[int, Collection[int]]) -> list[int]:
    return sorted({place.owner for place in places if place.owner is not None} | met.keys())


def _labels(scope: TurnScope) -> QuerySet[SatisfactionLabel]:
    labels = SatisfactionLabel.objects.all()
    return labels if scope.user is None else labels.filter(annotator=scope.user)


def _sessions_rated_in(scope: TurnScope) -> dict[int, set[int]]:
    """By user, the sessions of which they rated anything, a response or the whole."""
    found: dict[int, set[int]] = defaultdict(set)
    for path in ("session", "response__turn__session"):
        own = _labels(scope).filter(**{f"{path}__dataset": scope.dataset})
        for user, session in own.values_list("annotator_id", f"{path}_id").distinct():
            found[user].add(session)
    return found


def _rated_items(scope: TurnScope) -> frozenset[tuple[int, int]]:
    """Users with what they rated, of the kind of item that is scored."""
    target = "response_id" if scope.level is Level.TURN else "session_id"
    users = None if scope.user is None else [scope.user]
    labels = rated(dataset_id=scope.dataset, user_ids=users, level=scope.level)
    return frozenset(labels.values_list("annotator_id", target))


def _responses(dataset_id: int) -> dict[int, list[_Item]]:
    """By session, its responses whose text is available."""
    found: dict[int, list[_Item]] = defaultdict(list)
    rows = (
        Response.objects.filter(turn__session__dataset=dataset_id, text__isnull=False)
        .order_by("turn__position", "position", "id")
        .values_list(
            "turn__session_id",
            "id",
            "original",
            "model",
            "turn__session__key",
            "turn__position",
            "variant",
            "text_hash",
        )
    )
    for session, number, original, model, key, place, variant, text in rows.iterator():
        told = (key, str(place), model, variant, text)
        found[session].append(_Item(number, original, frozenset({model}), told))
    return found


def _wholes(dataset_id: int) -> dict[int, list[_Item]]:
    """By session, the session itself where an original response of it is available."""
    models: dict[tuple[int, str], set[str]] = defaultdict(set)
    rows = Response.objects.filter(
        turn__session__dataset=dataset_id, original=True, text__isnull=False
    ).values_list("turn__session_id", "turn__session__key", "model")
    for session, key, model in rows.iterator():
        models[session, key].add(model)
    found: dict[int, list[_Item]] = defaultdict(list)
    for (session, key), own in models.items():
        found[session].append(_Item(session, True, frozenset(own), (key,)))  # noqa: FBT003
    return found


def blocks_of(run: JudgeRun, asked: Asked) -> tuple[StoredBlock, ...]:
    """The blocks of a run that hold some of its targets.

    A run over rated turns gives its users' whole blocks, any other the targets that are asked for.
    """
    scope = turn_scope(run)
    if scope is not None:
        return target_blocks(scope, asked)
    level = satisfaction_settings(run.config).level
    users = {user for user, _target in asked}
    return stored_blocks(dataset_id=run.dataset_id, user_ids=users, level=level)


def block_heads(run: JudgeRun, users: Collection[int]) -> tuple[StoredBlock, ...]:
    """Every block of some users of a run, at least with its first target, which tells the language.

    What does not depend on the targets, the history above all, is read of these.
    """
    if TARGETS not in run.config:
        return blocks_of(run, [(user, 0) for user in users])
    rows = SatisfactionJudgment.objects.filter(run=run, user__in=users)
    scenario = Coalesce("response__turn__session__scenario_id", "session__scenario_id")
    firsts = rows.order_by().values("user_id", scenario=scenario).annotate(first=Min("pk"))
    heads = SatisfactionJudgment.objects.filter(pk__in=[each["first"] for each in firsts])
    target = Coalesce(F("response_id"), F("session_id"))
    return blocks_of(run, list(heads.values_list("user_id", target)))


def heads_of(planned: Iterable[PlannedTurn]) -> list[tuple[int, int]]:
    """The first target of each block of a plan, with its user."""
    firsts: dict[tuple[int, int], int] = {}
    for each in planned:
        firsts.setdefault((each.user_id, each.scenario_id), each.target_id)
    return [(user, target) for (user, _scenario), target in firsts.items()]


def target_blocks(scope: TurnScope, asked: Asked) -> tuple[StoredBlock, ...]:
    """Some targets in their blocks, by user and then in stored order; no label of theirs is read.

    Targets of one block whose sessions are in different languages come as several blocks, so that
    what a target's judge reads does not depend on what else is asked for. Eight queries, and one
    more for each turn that a response goes back on a line of its own.
    """
    items = _by_session(scope, asked)
    rows = session_rows(Session.objects.filter(pk__in=items))
    turns = turns_of(list(items))
    lines = own_lines(
        response for users in items.values() for own in users.values() for response in own
    )
    users = sorted({user for user, _target in asked})
    profiles, histories = profiles_of(users), _histories(scope, users)
    blocks: dict[tuple[int, int, str, str], list[ScoringTarget]] = defaultdict(list)
    for row in rows:
        said = turns.get(row.id, [])
        for user, responses in items[row.id].items():
            session = UserSession(
                user=str(user),
                scenario=row.scenario,
                key=row.key,
                task_context=row.task_context,
                turns=tuple(UserTurn(message, response) for _id, message, response in said),
                profile=_profile(scope, row, user, profiles),
            )
            key = user, row.scenario_id, row.scenario, _language(row, session)
            if scope.level is Level.SESSION:
                blocks[key].append(session_target(session, turn_id=str(row.id)))
                continue
            places = {turn: place for place, (turn, _message, _response) in enumerate(said)}
            blocks[key] += [_target(session, each, places, lines[each.pk]) for each in responses]
    return tuple(
        StoredBlock(
            user,
            scenario_id,
            language,
            Block(
                user=str(user),
                scenario=scenario,
                targets=tuple(blocks[user, scenario_id, scenario, language]),
                history=history_of(
                    histories.get(user, {}), target_scenario=scenario, level=scope.level
                ),
                level=scope.level,
            ),
        )
        for user, scenario_id, scenario, language in sorted(blocks, key=itemgetter(0))
    )


def _by_session(scope: TurnScope, asked: Asked) -> dict[int, dict[int, list[Response]]]:
    """By session and user, the responses to score in their order; none for whole sessions."""
    found: dict[int, dict[int, list[Response]]] = defaultdict(lambda: defaultdict(list))
    if scope.level is Level.SESSION:
        for user, session in asked:
            found[session][user] = []
        return found
    users: dict[int, list[int]] = defaultdict(list)
    for user, target in asked:
        users[target].append(user)
    rows = Response.objects.filter(pk__in=users, text__isnull=False).select_related("turn")
    for response in rows.order_by("turn__position", "position", "pk"):
        for user in users[response.pk]:
            found[response.turn.session_id][user].append(response)
    return found


def _target(
    session: UserSession,
    response: Response,
    places: Mapping[int, int],
    line: Mapping[int, Response],
) -> ScoringTarget:
    """A response after the turns of its own line; `places` are those of the session's turns."""
    return response_target(
        session,
        turn_id=str(response.pk),
        position=places[response.turn_id],
        response=response.text or "",
        line={places[each.turn_id]: each.text for each in line.values()},
    )


def _histories(scope: TurnScope, users: Collection[int]) -> dict[int, dict[str, list[UserSession]]]:
    """By user and scenario, the sessions with what the user rated of them."""
    found: dict[int, dict[str, list[UserSession]]] = {}
    for _row, session in rated_sessions(
        dataset_id=scope.history, user_ids=users, level=scope.level
    ):
        own = found.setdefault(int(session.user), {})
        own.setdefault(session.scenario, []).append(session)
    return found


def _language(row: SessionColumns, session: UserSession) -> str:
    asked = (turn.user_message for turn in session.turns if turn.user_message is not None)
    return row.language or language_of(next(asked, ""))


def _profile(
    scope: TurnScope, row: SessionColumns, user: int, profiles: Mapping[int, dict[str, object]]
) -> dict[str, object]:
    """The user's as it was in a session that they held, else their present one."""
    held = (user,) if scope.everything else (user, None)
    is_theirs = row.original_user_id in held and bool(row.snapshot)
    return row.snapshot if is_theirs else profiles.get(user, {})


def rated_elsewhere(dataset: Dataset) -> list[Dataset]:
    """Other datasets in which somebody rated a response or a session, by name. One query."""
    rows = SatisfactionLabel.objects.all()
    return list(
        Dataset.objects.filter(
            Q(pk__in=rows.values("response__turn__session__dataset"))
            | Q(pk__in=rows.values("session__dataset"))
        )
        .exclude(pk=dataset.pk)
        .order_by("name")
    )


def is_rated(dataset: Dataset) -> bool:
    """Whether somebody rated a response or a session of a dataset. At most two queries."""
    rows = SatisfactionLabel.objects.all()
    return (
        rows.filter(response__turn__session__dataset=dataset).exists()
        or rows.filter(session__dataset=dataset).exists()
    )


def filters_of(dataset: Dataset) -> dict[str, list[str]]:
    """By field what responses can be filtered by: scenarios, models, languages. Three queries."""
    sessions = Session.objects.filter(dataset=dataset).exclude(language="")
    models = Response.objects.filter(turn__session__dataset=dataset).exclude(model="")
    languages = sessions.order_by().values_list("language", flat=True).distinct()
    return {
        "scenario": [each.name for each in dataset.scenarios.order_by("position", "pk")],
        "model": list(models.order_by("model").values_list("model", flat=True).distinct()),
        "language": sorted({primary_language(code) for code in languages}),
    }
