"""Constructions of benchmarks: their dialogues, what each stage kept and dropped, and versions."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Final, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q
from django.db.models.query import QuerySet

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.conversations import Dialogue, Message, Speaker
from annotation.core.language import language_of
from annotation.core.refusals import Refused
from annotation.models import Comparison, Dataset, Response, Session, Turn
from annotation.queries.datasets import of_no_deleted
from benchmark.core.construction import (
    BuildStage,
    DialogueLimits,
    ReviewDecision,
    StagePassage,
    passages,
)
from benchmark.core.personal_data import without_personal_data
from benchmark.models import BenchmarkVersion, ConstructionItem
from judging.models import JudgeRun, Judgment, RunStatus, RunUnit
from judging.queries.runs import UNFINISHED

RUN_KIND: Final = "CONSTRUCT"
SORT_KIND: Final = "SORT"
ROWS_A_PAGE: Final = 50
_BEFORE_SORTING: Final = (BuildStage.DUPLICATES, BuildStage.QUALITY, BuildStage.PRIVACY)


class SourceDialogue(NamedTuple):
    """A session of a dataset up to and with its last user message.

    `turns` are user messages with original replies and their models' names; the last has no reply.
    """

    session: int
    key: str
    system_prompt: str
    language: str
    turns: tuple[tuple[str | None, str | None, str], ...]

    @property
    def dialogue(self) -> Dialogue:
        """Its messages, the system prompt aside."""
        said = []
        for message, reply, _model in self.turns:
            if message is not None:
                said.append(Message(Speaker.USER, message))
            if reply is not None:
                said.append(Message(Speaker.ASSISTANT, reply))
        return tuple(said)

    @property
    def whole(self) -> Dialogue:
        """Its messages behind the system prompt, where it has one."""
        first = (Message(Speaker.SYSTEM, self.system_prompt),) if self.system_prompt else ()
        return first + self.dialogue

    @property
    def masked(self) -> SourceDialogue:
        """With personal data masked in every text."""
        turns = tuple(
            (
                None if message is None else without_personal_data(message),
                None if reply is None else without_personal_data(reply),
                model,
            )
            for message, reply, model in self.turns
        )
        return self._replace(system_prompt=without_personal_data(self.system_prompt), turns=turns)

    def asking(self, request: str) -> SourceDialogue:
        """With another last message."""
        *earlier, (_last, reply, model) = self.turns
        return self._replace(turns=(*earlier, (request, reply, model)))


def source_dialogues(session_ids: Collection[int]) -> list[SourceDialogue]:
    """Some sessions as dialogues, in the order of their ids. Three queries."""
    turns: dict[int, list[tuple[int, str | None]]] = defaultdict(list)
    rows = Turn.objects.filter(session__in=session_ids).order_by("session", "position")
    for session, pk, message in rows.values_list("session_id", "pk", "user_message"):
        turns[session].append((pk, message))
    replies = {
        turn: (text, model)
        for turn, text, model in Response.objects.filter(
            turn__session__in=session_ids, original=True
        ).values_list("turn_id", "text", "model")
    }
    found = []
    sessions = Session.objects.filter(pk__in=session_ids).order_by("pk")
    for pk, key, system, language in sessions.values_list("pk", "key", "system_prompt", "language"):
        own = turns[pk]
        said = tuple(
            (message, *(replies.get(turn, (None, "")) if turn != own[-1][0] else (None, "")))
            for turn, message in own
        )
        written = language or language_of("\n".join(message or "" for message, *_ in said))
        found.append(SourceDialogue(pk, key, system, written, said))
    return found


def in_play(run_id: int, stage: BuildStage) -> QuerySet[ConstructionItem]:
    """The dialogues that come to a stage: those that no earlier one dropped, in their order."""
    stages = list(BuildStage)
    here = ["", *stages[stages.index(stage) :]]
    return ConstructionItem.objects.filter(run=run_id, dropped_at__in=here).order_by("position")


def sorted_rows(*sort_runs: int) -> QuerySet[ConstructionItem]:
    """The dialogues whose category runs of the kind SORT ask for; `run` is the construction."""
    parents = RunUnit.objects.filter(child__in=sort_runs).values("run")
    return ConstructionItem.objects.filter(run__in=parents).exclude(dropped_at__in=_BEFORE_SORTING)


def limits_of(run: JudgeRun) -> DialogueLimits:
    """The thresholds of a construction."""
    return DialogueLimits(**run.config["limits"])


class Challenge(NamedTuple):
    """What became of strong against weak on one dialogue; verdicts have A for strong.

    `answers` are the texts of the strong and the weak model, None where there is none.
    """

    answers: tuple[str | None, str | None]
    original: Verdict | None = None
    swapped: Verdict | None = None
    comparison: int | None = None


def challenges(
    sessions: Collection[int], models: Sequence[str], judge_run: int | None
) -> dict[int, Challenge]:
    """By candidate session what the two models said at its end, and the judge. Four queries.

    Where no earlier message has a reply of its own the models answered these as well, which is not
    what they are compared by.

    Args:
        sessions: of the candidates' dataset.
        models: names of the strong and the weak model.
        judge_run: that judged them; None where nothing could be judged.
    """
    strong, weak = models
    turns = Turn.objects.filter(session__in=sessions).order_by("position", "pk")
    last = dict(turns.values_list("session_id", "pk"))
    texts: dict[int, dict[str, str]] = defaultdict(dict)
    rows = Response.objects.filter(
        turn__session__in=sessions, model__in=models, original=False, variant=""
    ).order_by("pk")
    for session, turn, model, text in rows.values_list(
        "turn__session_id", "turn_id", "model", "text"
    ):
        if turn == last[session]:
            texts[session].setdefault(model, text or "")
    compared = {
        pk: (session, first == strong)
        for pk, session, turn, first in Comparison.objects.filter(
            turn__session__in=sessions, response_a__model__in=models, response_b__model__in=models
        ).values_list("pk", "turn__session_id", "turn_id", "response_a__model")
        if turn == last[session]
    }
    verdicts: dict[int, dict[Order, Verdict]] = defaultdict(dict)
    judged = Judgment.objects.filter(
        run=judge_run, comparison__in=compared, status=JudgmentStatus.DONE
    )
    for comparison, order, verdict in judged.values_list("comparison_id", "order", "verdict"):
        if verdict is None:
            continue
        _session, strong_first = compared[comparison]
        own = Verdict(verdict)
        # Orders as the two answers were shown: ORIGINAL has the strong one first.
        place = Order(order) if strong_first else Order(order).other()
        verdicts[comparison][place] = own if strong_first else own.flipped()
    by_session = {session: pk for pk, (session, _first) in compared.items()}
    return {
        session: Challenge(
            answers=(texts[session].get(strong), texts[session].get(weak)),
            original=verdicts[by_session[session]].get(Order.ORIGINAL)
            if session in by_session
            else None,
            swapped=verdicts[by_session[session]].get(Order.SWAPPED)
            if session in by_session
            else None,
            comparison=by_session.get(session),
        )
        for session in sessions
    }


def child_at(run_id: int, step: str) -> JudgeRun | None:
    """The run of a construction's step; None before it, and for a step without one."""
    return JudgeRun.objects.filter(unit_of__run=run_id, unit_of__plan__step=step).first()


def construction_passages(run_id: int) -> list[StagePassage]:
    """What each stage kept and dropped so far. One query."""
    rows = ConstructionItem.objects.filter(run=run_id).order_by()
    counted = rows.values_list("dropped_at", "reason").annotate(Count("pk"))
    counts = {(stage, reason): count for stage, reason, count in counted}
    total = sum(counts.values())
    counts.pop(("", ""), None)
    return passages(counts, total)


def construction_run(run_id: int) -> JudgeRun:
    """A construction.

    Raises:
        Refused: there is none of this number.
    """
    runs = JudgeRun.objects.filter(kind=RUN_KIND, pk=run_id)
    run = runs.select_related("dataset", "created_by").first()
    if run is None:
        raise Refused("construction:unknown")
    return run


def failed_construction(wanted: JudgeRun) -> JudgeRun | None:
    """The newest construction with the settings of a planned one that failed; None without one."""
    failed = JudgeRun.objects.filter(
        kind=RUN_KIND, dataset=wanted.dataset, status=RunStatus.FAILED
    ).order_by("-pk")
    return next((run for run in failed if run.config == wanted.config), None)


def version_of(run: JudgeRun) -> BenchmarkVersion | None:
    """What a construction was frozen into, its items not loaded; None before."""
    rows = BenchmarkVersion.objects.filter(run=run.pk).select_related("dataset")
    return rows.defer("items", "datasheet").first()


def find_version(name: str) -> BenchmarkVersion | None:
    """A frozen version, its items loaded once they are read; None of no such name."""
    rows = BenchmarkVersion.objects.filter(version=name).select_related("dataset")
    return rows.defer("items").first()


def versions_built_of(dataset: Dataset) -> list[str]:
    """The names of the versions whose dialogues come from a dataset, the newest first."""
    rows = BenchmarkVersion.objects.filter(run__dataset=dataset).order_by("-pk")
    return list(rows.values_list("version", flat=True))


def version_named(name: str) -> BenchmarkVersion:
    """A frozen version.

    Raises:
        Refused: there is none of that name.
    """
    found = find_version(name)
    if found is None:
        raise Refused("construction:unknown-version")
    return found


class ConstructionLine(NamedTuple):
    """A construction in the list: the run, its dialogues and those in play, its version."""

    run: JudgeRun
    dialogues: int
    left: int
    version: str


def construction_lines() -> list[ConstructionLine]:
    """Every construction, the newest first. Three queries."""
    runs = JudgeRun.objects.filter(kind=RUN_KIND).select_related("dataset").order_by("-pk")
    runs = of_no_deleted(runs, "dataset")
    rows = ConstructionItem.objects.order_by().values_list("run")
    counted = rows.annotate(Count("pk"), left=Count("pk", filter=Q(dropped_at="")))
    counts = {run: (everything, left) for run, everything, left in counted}
    versions = dict(BenchmarkVersion.objects.values_list("run", "version"))
    return [
        ConstructionLine(run, *counts.get(run.pk, (0, 0)), versions.get(run.pk, "")) for run in runs
    ]


class ReviewCounts(NamedTuple):
    """Dialogues in the review queue by what was decided of them."""

    keep: int
    edit: int
    drop: int
    waiting: int


def review_counts(run_id: int) -> ReviewCounts:
    """How far the review is. One query."""
    rows = in_play(run_id, BuildStage.REVIEW).order_by().values_list("decision")
    counts = Counter(dict(rows.annotate(Count("pk"))))
    return ReviewCounts(*(counts[each] for each in (*ReviewDecision, "")))


_STEP_OF: Final = {
    BuildStage.DUPLICATES: "duplicates",
    BuildStage.QUALITY: "quality",
    BuildStage.PRIVACY: "privacy",
    BuildStage.SORTING: "sort",
    BuildStage.CHALLENGE: "challenge",
}
"""The step of a run that ends a stage; the others are people's."""


class ConstructionPage(NamedTuple):
    """A construction with its stages, review and version.

    `passages` are its stages, each with whether it is over; one that was not to be is never.
    """

    run: JudgeRun
    total: int
    passages: Sequence[tuple[StagePassage, bool]]
    reviews: ReviewCounts
    version: BenchmarkVersion | None
    categories: Sequence[tuple[str, int]]
    steps: Mapping[str, str]

    @property
    def steps_done(self) -> int:
        """How many of its steps are over; `steps` are their statuses by name."""
        return sum(status != JudgmentStatus.PENDING for status in self.steps.values())

    @property
    def left(self) -> int:
        """Dialogues in play."""
        return self.passages[-1][0].kept

    @property
    def is_over(self) -> bool:
        """Whether the machine's part is done, so that people review."""
        return self.run.status == RunStatus.DONE

    @property
    def under_way(self) -> bool:
        """Whether it is still worked on, or waits to be."""
        return self.run.status in UNFINISHED


def construction_page(run_id: int) -> ConstructionPage:
    """One construction. Six queries.

    Raises:
        Refused: there is none of this number.
    """
    run = construction_run(run_id)
    found = construction_passages(run_id)
    rows = ConstructionItem.objects.filter(run=run, dropped_at="").exclude(category="")
    counted = rows.order_by("category").values_list("category").annotate(Count("pk"))
    units = RunUnit.objects.filter(run=run).values_list("plan", "status")
    steps = {plan["step"]: status for plan, status in units}
    version = version_of(run)
    over = {name for name, step in _STEP_OF.items() if steps.get(step) == JudgmentStatus.DONE}
    if version is not None:
        over |= {BuildStage.REVIEW, BuildStage.BALANCE}
    return ConstructionPage(
        run=run,
        total=found[0].came,
        passages=[(each, each.stage in over) for each in found],
        reviews=review_counts(run_id),
        version=version,
        categories=[(category, count) for category, count in counted],
        steps=steps,
    )


class ItemFilter(NamedTuple):
    """Which dialogues of a construction are listed; "" does not filter.

    `stage` "LEFT" lists what is in play, `decision` "NONE" what of the review nobody decided.
    """

    stage: str = ""
    reason: str = ""
    category: str = ""
    subcategory: str = ""
    decision: str = ""


UNDECIDED: Final = "NONE"
LEFT: Final = "LEFT"


class ItemLine(NamedTuple):
    """A dialogue in a list, with its last request, personal data masked."""

    item: ConstructionItem
    request: str


def item_lines(
    run: JudgeRun, wanted: ItemFilter, *, page: str
) -> tuple[Sequence[ItemLine], Page[ConstructionItem]]:
    """A page of a construction's dialogues. Five queries."""
    rows = ConstructionItem.objects.filter(run=run).select_related("session").order_by("position")
    if wanted.stage:
        rows = rows.filter(dropped_at="" if wanted.stage == LEFT else wanted.stage)
    if wanted.reason:
        rows = rows.filter(reason=wanted.reason)
    if wanted.category:
        rows = rows.filter(category=wanted.category)
    if wanted.subcategory:
        rows = rows.filter(subcategory=wanted.subcategory)
    if wanted.decision:
        decided = "" if wanted.decision == UNDECIDED else wanted.decision
        reviewed = in_play(run.pk, BuildStage.REVIEW).filter(decision=decided)
        rows = rows.filter(pk__in=reviewed.values("pk"))
    shown = Paginator(rows, ROWS_A_PAGE).get_page(page)
    items = list(shown.object_list)
    said = {each.session: each for each in source_dialogues({item.session_id for item in items})}
    lines = [
        ItemLine(item, without_personal_data(_request(said[item.session_id]))) for item in items
    ]
    return lines, shown


def _request(dialogue: SourceDialogue) -> str:
    last = dialogue.turns[-1][0] if dialogue.turns else ""
    return last or ""


class ItemPage(NamedTuple):
    """A dialogue of a construction with all that became of it.

    `dialogue` has personal data masked where a stage up to PRIVACY dropped it; `earlier` is the one
    that it repeats, where it was dropped as a duplicate; `following` the next that waits for a
    review.
    """

    item: ConstructionItem
    dialogue: SourceDialogue
    challenge: Challenge | None
    earlier: ConstructionItem | None
    following: ConstructionItem | None

    @property
    def request(self) -> str:
        """Its last message as it would be frozen."""
        return self.item.request or _request(self.dialogue)


def item_page(run: JudgeRun, position: int) -> ItemPage:
    """One dialogue. Ten queries at most.

    Raises:
        Refused: there is none at this position.
    """
    rows = ConstructionItem.objects.filter(run=run).select_related(
        "session__dataset", "call", "reviewed_by"
    )
    item = rows.filter(position=position).first()
    if item is None:
        raise Refused("construction:unknown")
    challenge = None
    if item.candidate_id is not None and run.config["strong"]:
        judged = child_at(run.pk, "judge")
        judge_run = None if judged is None else judged.pk
        found = challenges([item.candidate_id], run.config["models"], judge_run)
        challenge = found[item.candidate_id]
    earlier = item.details.get("of")
    dialogue = source_dialogues([item.session_id])[0]
    return ItemPage(
        item=item,
        dialogue=dialogue.masked if item.dropped_at in _BEFORE_SORTING else dialogue,
        challenge=challenge,
        earlier=None if earlier is None else rows.filter(position=earlier).first(),
        following=next_to_review(run.pk, after=position),
    )


def next_to_review(run_id: int, *, after: int = -1) -> ConstructionItem | None:
    """The next dialogue that waits for a review, from the beginning once more after the last."""
    waiting = in_play(run_id, BuildStage.REVIEW).filter(decision="")
    return waiting.filter(position__gt=after).first() or waiting.exclude(position=after).first()
