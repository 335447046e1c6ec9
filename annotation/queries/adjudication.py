"""The queue of items to decide, the most disputed first, and one of them, without names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.core.paginator import Page, Paginator

from annotation.core.adjudication import QueuePart, ValueCounts, shown_order, shuffled, tallies
from annotation.core.choices import Order, Verdict
from annotation.core.conversations import Message, Speaker
from annotation.core.item_names import ItemKey
from annotation.core.labelling import (
    SCORES,
    VERDICT_VALUES,
    Answer,
    AnswerKind,
    ShownResponse,
    Target,
    TargetKind,
    answer_of,
)
from annotation.core.quality import PRECEDENCE, is_right
from annotation.core.refusals import Refused
from annotation.models import (
    Comparison,
    GoldLabel,
    GoldSource,
    ItemKind,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    Session,
    Study,
    StudyItem,
)
from annotation.queries.labelling import (
    DatasetOption,
    dataset_options,
    earlier_of,
    original_line,
    read_answers,
)
from annotation.queries.quality import gold_rows
from annotation.queries.targets import TargetRow, target_keys, target_rows, turn_key

SEED: Final = 42
SEVERAL: Final = 2
"""Annotators from which on an item can be disputed."""

ROWS_A_PAGE: Final = 50


@dataclass(frozen=True, slots=True)
class AdjudicationQuestion:
    """Which queue: empty means the first dataset, its first kind, and every study."""

    dataset: str = ""
    kind: AnswerKind | None = None
    study: str = ""
    part: QueuePart = QueuePart.OPEN


@dataclass(frozen=True, slots=True)
class AdjudicationQueue:
    """A page of the queue, and how far it is.

    Attributes:
        question: With everything filled in.
        dataset: The dataset; None where no dataset has answers.
        datasets: All with answers.
        studies: Short and shown names of the dataset's studies.
        disputed: Items on which annotators disagree.
        decided: Those of them that are decided.
        page: The rows: item, answers, whether it is decided, whether it came with a gold answer.
    """

    question: AdjudicationQuestion
    dataset: DatasetOption | None
    datasets: tuple[DatasetOption, ...]
    studies: tuple[tuple[str, str], ...]
    disputed: int
    decided: int
    page: Page[tuple[TargetRow, ValueCounts, bool, bool]]


@dataclass(frozen=True, slots=True)
class Decision:
    """What was decided, as this page shows the item, and when."""

    answer: Answer | int
    rationale: str
    decided_at: datetime


@dataclass(frozen=True, slots=True)
class ChangedGold:
    """The effect of a decision on the gold answer that a dataset came with.

    Attributes:
        value: The answer, as stored; `answer`: as this page shows it.
        answers: Answers of annotators to the item as a gold item of a study.
        right: How many of them are right now; `right_then`: under the decision.
        annotators: How many annotators gave them.
    """

    value: Verdict | int
    answer: Answer | int
    answers: int
    right: int
    right_then: int
    annotators: int


@dataclass(frozen=True, slots=True)
class DisputedItem:
    """An item as an adjudicator sees it: no annotator's name, no model's.

    Attributes:
        target: What it is.
        key: Its name in lists.
        dataset: Short name.
        dataset_name: Shown name.
        scenario: Name.
        order: Which response of a comparison is shown first.
        system_prompt: Of the session.
        task_context: Of the session.
        dialogue: The conversation before, or the whole of a session.
        question: The user's message; None where there is none.
        responses: Two of a comparison, one of a turn, none of a session.
        tally: Answers and how many gave them, in an order of the item's own.
        annotators: How many answered.
        decision: What stands, if anything.
        gold: Where the gold answer comes from that holds besides; "" where there is none.
    """

    target: Target
    key: ItemKey
    dataset: str
    dataset_name: str
    scenario: str
    order: Order
    system_prompt: str
    task_context: str
    dialogue: tuple[Message, ...]
    question: str | None
    responses: tuple[ShownResponse, ...]
    tally: tuple[tuple[Answer | int, int], ...]
    annotators: int
    decision: Decision | None
    gold: str


def adjudication_queue(question: AdjudicationQuestion, *, page: int | str = 1) -> AdjudicationQueue:
    """A page of the queue: by disagreement, then by key.

    Raises:
        Refused: something asked for does not exist.
    """
    resolved, dataset, options = _resolved(question)
    studies: tuple[tuple[str, str], ...] = ()
    rows: list[tuple[ValueCounts, bool, bool]] = []
    if dataset is not None:
        found = Study.objects.filter(dataset=dataset.id).order_by("name", "pk")
        studies = tuple(found.values_list("slug", "name"))
        rows = _ordered(resolved, dataset)
    disputed = [decided for tally, decided, _gold in rows if tally.disputed]
    listed = [row for row in rows if _is_in(resolved.part, *row[:2])]
    paginator = Paginator(listed, ROWS_A_PAGE)
    chosen = paginator.get_page(page)
    known = target_rows(tally.target for tally, *_marks in chosen)
    shown = [(known[tally.target], tally, decided, gold) for tally, decided, gold in chosen]
    return AdjudicationQueue(
        question=resolved,
        dataset=dataset,
        datasets=options,
        studies=studies,
        disputed=len(disputed),
        decided=sum(disputed),
        page=Page(shown, chosen.number, paginator),  # type: ignore[arg-type]
    )


def next_to_decide(question: AdjudicationQuestion) -> Target | None:
    """The most disputed item that nobody has decided; None where all are.

    Raises:
        Refused: something asked for does not exist.
    """
    resolved, dataset, _options = _resolved(question)
    rows = _ordered(resolved, dataset) if dataset else []
    return next((tally.target for tally, done, _gold in rows if tally.disputed and not done), None)


def disputed_item(target: Target, *, study: str = "") -> DisputedItem | None:
    """One item; None where there is none, or fewer than two annotators answered it."""
    given = given_answers(target, study=study)
    if len(given) < SEVERAL:
        return None
    order = shown_order(target, seed=SEED)
    texts = {
        TargetKind.COMPARISON: _comparison,
        TargetKind.RESPONSE: _response,
        TargetKind.SESSION: _session,
    }[target.kind](target.id, order)
    gold = gold_rows(target)
    other = _other_gold(gold)
    counted = Counter(_shown(value, order) for value in given.values())
    session: Session = texts.pop("session")
    return DisputedItem(
        target=target,
        dataset=session.dataset.slug,
        dataset_name=session.dataset.name,
        scenario=session.scenario.name,
        order=order,
        system_prompt=session.system_prompt,
        task_context=session.task_context,
        tally=tuple(shuffled(sorted(counted.items(), key=str), target, seed=SEED)),
        annotators=len(given),
        decision=_decision(gold, order),
        gold=other[0] if other else "",
        **texts,
    )


def given_answers(target: Target, *, study: str = "") -> dict[int, Verdict | int]:
    """What annotators said of an item, by annotator: the first answer of each, no hidden repeat."""
    pair = target.kind is TargetKind.COMPARISON
    model: Any = PairwiseLabel if pair else SatisfactionLabel
    labels = model.objects.filter(**{target.kind.value: target.id}, repeat_index=0)
    if study:
        labels = labels.filter(study__slug=study)
    given: dict[int, Verdict | int] = {}
    column = "verdict" if pair else "score"
    for annotator, value in labels.order_by("pk").values_list("annotator", column):
        given.setdefault(annotator, Verdict(value) if pair else value)
    return given


def changed_gold(target: Target, decision: Verdict | int) -> ChangedGold | None:
    """Returns the gold answer that a first decision would replace; None if it replaces none.

    A decision outranks what the dataset came with, and a manager's own answer outranks it.
    """
    rows = gold_rows(target)
    found = _other_gold(rows)
    if found is None or found[0] == GoldSource.MANAGER or found[1] == decision:
        return None
    if any(row.source == GoldSource.ADJUDICATION for row in rows):
        return None
    value = found[1]
    given = _answers_as_gold(target)
    return ChangedGold(
        value=value,
        answer=_shown(value, shown_order(target, seed=SEED)),
        answers=len(given),
        right=sum(is_right(said, value) for _annotator, said, _allowed in given),
        right_then=sum(
            is_right(said, decision)
            for _annotator, said, ties in given
            if ties or decision != Verdict.TIE
        ),
        annotators=len({annotator for annotator, _said, _allowed in given}),
    )


def _other_gold(rows: Iterable[GoldLabel]) -> tuple[str, Verdict | int] | None:
    """The gold answer of an item that holds, decisions apart, with its source."""
    others = [row for row in rows if row.source != GoldSource.ADJUDICATION]
    gold = min(others, key=lambda row: PRECEDENCE.index(row.source), default=None)
    return None if gold is None else (gold.source, _value(gold))


def _value(gold: GoldLabel) -> Verdict | int:
    return Verdict(gold.verdict) if gold.verdict else gold.score or 0


def _answers_as_gold(target: Target) -> list[tuple[int, Verdict | int, bool]]:
    """First answers to an item in studies that have it as gold: who, what, whether ties count."""
    if target.kind is TargetKind.SESSION:
        return []
    pair = target.kind is TargetKind.COMPARISON
    model: Any = PairwiseLabel if pair else SatisfactionLabel
    named = {"comparison": target.id} if pair else {"session__turns__responses": target.id}
    items = StudyItem.objects.filter(kind=ItemKind.GOLD, **named)
    labels = model.objects.filter(
        **{target.kind.value: target.id}, repeat_index=0, study__in=items.values("study")
    )
    column = "verdict" if pair else "score"
    rows = labels.order_by("pk").values_list("annotator", column, "study__allow_tie")
    return [
        (annotator, Verdict(value) if pair else value, not pair or ties)
        for annotator, value, ties in rows
    ]


def _is_in(part: QueuePart, tally: ValueCounts, decided: object) -> bool:
    if part is QueuePart.OPEN:
        return tally.disputed and not decided
    return bool(decided) or part is QueuePart.ALL


def _resolved(
    question: AdjudicationQuestion,
) -> tuple[AdjudicationQuestion, DatasetOption | None, tuple[DatasetOption, ...]]:
    options = dataset_options(also=question.dataset)
    dataset = next((each for each in options if question.dataset in {"", each.slug}), None)
    if dataset is None:
        if question.dataset:
            raise Refused("adjudication:unknown-queue", f"no dataset {question.dataset!r}")
        return question, None, options
    if not dataset.kinds:
        return question, None, options
    kind = question.kind or dataset.kinds[0]
    if kind not in dataset.kinds:
        raise Refused("adjudication:unknown-queue", f"no {kind} in {dataset.slug}")
    return replace(question, dataset=dataset.slug, kind=kind), dataset, options


def _ordered(
    question: AdjudicationQuestion, dataset: DatasetOption
) -> list[tuple[ValueCounts, bool, bool]]:
    """Every item with several annotators, the most disputed first.

    With each, whether it is decided, and whether it has a gold answer besides.
    """
    kind = question.kind or AnswerKind.VERDICTS
    study = None
    if question.study:
        study = Study.objects.filter(slug=question.study, dataset=dataset.id).first()
        if study is None:
            raise Refused(
                "adjudication:unknown-queue", f"no study {question.study!r} on {dataset.slug}"
            )
    found = read_answers(dataset.id, kind, study=study.pk if study else None)
    categories = len(VERDICT_VALUES) if kind is AnswerKind.VERDICTS else len(SCORES)
    rows = tallies(found.answers, kind, categories=categories)
    keys = target_keys(dataset.id, kind)
    gold = _gold_sources(dataset.id)
    rows.sort(key=lambda row: (-round(row.entropy, 9), keys[row.target], row.target))
    return [
        (row, GoldSource.ADJUDICATION in found, bool(found - {GoldSource.ADJUDICATION}))
        for row in rows
        for found in [gold.get(row.target, set())]
    ]


def _gold_sources(dataset: int) -> dict[Target, set[str]]:
    """The sources of gold answers, by item."""
    paths = {
        TargetKind.COMPARISON: "comparison__turn__session__dataset",
        TargetKind.RESPONSE: "response__turn__session__dataset",
        TargetKind.SESSION: "session__dataset",
    }
    found: dict[Target, set[str]] = {}
    for kind, path in paths.items():
        rows = GoldLabel.objects.filter(**{path: dataset}).values_list(kind.value, "source")
        for number, source in rows:
            found.setdefault(Target(kind, number), set()).add(source)
    return found


def _shown(value: Verdict | int, order: Order) -> Answer | int:
    return answer_of(value, order) if isinstance(value, Verdict) else value


def _decision(rows: Iterable[GoldLabel], order: Order) -> Decision | None:
    for gold in rows:
        if gold.source == GoldSource.ADJUDICATION:
            return Decision(_shown(_value(gold), order), gold.rationale, gold.created_at)
    return None


_SESSION: Final = ("turn__session__dataset", "turn__session__scenario")


def _comparison(number: int, order: Order) -> dict[str, Any]:
    related = (*_SESSION, "response_a", "response_b")
    row = Comparison.objects.select_related(*related).get(pk=number)
    sides = [row.response_a, row.response_b]
    if order is Order.SWAPPED:
        sides.reverse()
    dialogue, own = earlier_of(row.turn, sides)
    responses = (ShownResponse(side.text, line) for side, line in zip(sides, own, strict=True))
    return {
        "session": row.turn.session,
        "key": row.name,
        "dialogue": dialogue,
        "question": row.turn.user_message,
        "responses": tuple(responses),
    }


def _response(number: int, _order: Order) -> dict[str, Any]:
    row = Response.objects.select_related(*_SESSION).get(pk=number)
    dialogue, _own = earlier_of(row.turn, [row])
    return {
        "session": row.turn.session,
        "key": turn_key(row.turn),
        "dialogue": dialogue,
        "question": row.turn.user_message,
        "responses": (ShownResponse(row.text),),
    }


def _session(number: int, _order: Order) -> dict[str, Any]:
    row = Session.objects.select_related("dataset", "scenario").get(pk=number)
    messages = []
    for turn, response in original_line(row):
        if turn.user_message is not None:
            messages.append(Message(Speaker.USER, turn.user_message))
        if response is not None and response.text is not None:
            messages.append(Message(Speaker.ASSISTANT, response.text))
    return {
        "session": row,
        "key": row.name,
        "dialogue": tuple(messages),
        "question": None,
        "responses": (),
    }
