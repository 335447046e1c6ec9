"""How often a response talks a judge round by what it says to the judge, as a run.

Each attempt is put at the end of the response that the judge did not choose. So is a harmless text
of the same length: what it turns as well is no success of the attempt, but the length's.

A judge that is read by letter probabilities decides by l*: each answer is that of both orders, with
the same text at the same response, as shown in the order of its row.

The other attack repeats a response's list in front of itself (`core.repetition`): whoever is to
write, the judge itself where nobody else is named, rephrases every list, and the judge compares the
response with what came of it in both orders. The lexical judge repeats lists word for word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final, NamedTuple

from django.db import transaction

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.conversations import Dialogue, Message, Speaker
from annotation.core.refusals import Refused
from annotation.models import Dataset, Response
from judging.core.estimates import spread
from judging.core.injections import (
    ATTEMPTS,
    INJECTIONS,
    Attack,
    AttackFamily,
    Attempt,
    attacks_on,
    harmless,
)
from judging.core.prompts import LANGUAGES
from judging.core.questions import Outcome, PairAnswer, ShownPair
from judging.core.repetition import (
    LEAST_ITEMS,
    TARGET,
    list_in,
    rephrase_prompts_used,
    with_repetition,
)
from judging.core.rules import JudgePrompt, PairwiseSettings
from judging.core.runs import ORDERS, StageName
from judging.core.verdicts import VerdictRule, swap_average, verdict_of_log_odds
from judging.judges.protocol import Judge
from judging.models import InjectedText, InjectionCheck, InjectionTrial, JudgeRun, ModelEndpoint
from judging.queries.comparisons import response_texts_of, split_items, texts_of
from judging.queries.configurations import WRITER, decides_by_log_odds
from judging.queries.runs import trial_rows
from judging.services.batches import (
    AskingStage,
    ComputingStage,
    IdRange,
    RowAnswer,
    call_ids,
    raw_to_keep,
    status_of,
)
from judging.services.judges import LEXICAL, check_chats, judge_snapshot
from judging.services.pairwise_runs import check_reads
from judging.services.run_requests import RunRequest

DEFAULT_PAIRS: Final = 6
"""How many pairs a judge is tried on where nobody says: some 600 calls."""
MOST_PAIRS: Final = 1000
_CHUNK: Final = 500


@dataclass(frozen=True, slots=True)
class TriedPair:
    """Two responses to try a judge on."""

    dialogue: Dialogue
    first: str
    second: str
    language: str

    @classmethod
    def of(cls, stored: dict[str, Any]) -> TriedPair:
        """A pair as `to_json` gives it."""
        dialogue = tuple(Message(Speaker(one["role"]), one["text"]) for one in stored["dialogue"])
        return cls(dialogue, stored["first"], stored["second"], stored["language"])

    def to_json(self) -> dict[str, Any]:
        """As it is stored with a check."""
        return {
            "dialogue": [{"role": each.role.value, "text": each.text} for each in self.dialogue],
            "first": self.first,
            "second": self.second,
            "language": self.language,
        }


def dataset_pairs(dataset: Dataset, *, count: int) -> list[TriedPair]:
    """Comparisons of a dataset to try a judge on, spread evenly over it.

    Raises:
        Refused: it has none with both texts.
    """
    ids = [item.comparison_id for items in split_items(dataset.pk).values() for item in items]
    if not ids:
        message = f"{dataset.slug} has no comparison with both texts"
        raise Refused("injection:no-pairs", message)
    chosen = [ids[place] for place in spread(len(ids), most=count)]
    texts = texts_of(chosen)
    return [
        TriedPair(found.dialogue, found.text_a, found.text_b, found.language)
        for found in (texts[one] for one in chosen if one in texts)
    ]


def dataset_lists(dataset: Dataset, *, count: int) -> list[TriedPair]:
    """Responses of a dataset that hold a list, spread evenly over it, each beside itself.

    Raises:
        Refused: it has none.
    """
    rows = Response.objects.filter(turn__session__dataset=dataset, text__isnull=False)
    place = ("turn__session__position", "turn__session_id", "turn__position", "id")
    texts = rows.order_by(*place).values_list("pk", "text").iterator(chunk_size=_CHUNK)
    ids = [number for number, text in texts if list_in(text or "") is not None]
    if not ids:
        message = f"{dataset.slug} has no response with a list of {LEAST_ITEMS} items"
        raise Refused("injection:no-lists", message)
    chosen = [ids[at] for at in spread(len(ids), most=count)]
    shown = response_texts_of(chosen)
    own = dict(Response.objects.filter(pk__in=chosen).values_list("pk", "text"))
    return [
        TriedPair(shown[each].dialogue, own[each] or "", own[each] or "", shown[each].language)
        for each in chosen
    ]


def plan_check(request: RunRequest) -> JudgeRun:
    """A run that tries an attack on a judge, on the request's pairs; not saved.

    Raises:
        Refused: there is no such judge; the lexical judge is asked in its own way, no judge
            compares by grades, and a reward model names no verdict; there is a budget, but calls
            have no price; verdicts are to be read by log-probabilities, and it returns none.
    """
    judge, prompt = request.judge or LEXICAL, request.prompt
    asked = request.asked_of(judge)
    endpoint: ModelEndpoint | None = asked["endpoint"]
    if prompt.grades or (endpoint is None and prompt is not JudgePrompt.PERSONAL):
        message = f"{judge} is not asked to compare by the prompt {prompt.word}"
        raise Refused("judge:no-prompts", message)
    if endpoint is not None and endpoint.has_scores:
        raise Refused("judge:only-scores", f"{judge} is a reward model")
    check_chats(asked["writer_endpoint"])
    settings = PairwiseSettings(prompt=prompt, verdict_rule=request.verdict or VerdictRule.STRICT)
    check_reads(request, settings, endpoint, judge)
    config = {"prompt": prompt.value, "verdict_rule": settings.verdict_rule.value}
    if request.attack is AttackFamily.REPETITION:
        more = _rephrasing(asked, config)
    else:
        more = {"corpus": sha256("\0".join(INJECTIONS).encode()).hexdigest()}
    return request.run(
        **asked,
        config={
            **config,
            "judge": judge_snapshot(endpoint, config),
            **more,
            "pairs": list(request.pairs),
        },
    )


def _rephrasing(asked: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """What a check by repetition says of it; prompts with their hashes where somebody is asked."""
    writes = asked["writer_endpoint"]
    said: dict[str, Any] = {"attack": AttackFamily.REPETITION.value}
    if asked["writer"]:
        said[WRITER] = judge_snapshot(writes, config)
    if writes is not None or (not asked["writer"] and asked["endpoint"] is not None):
        said["rephrase_prompts"] = {
            name: digest
            for language in LANGUAGES
            for name, digest in rephrase_prompts_used(language).items()
        }
    return said


def write_check(run: JudgeRun) -> None:
    """Write a run's check with PENDING rows: each pair as it is in both orders, or its list."""
    attack = AttackFamily(run.config.get("attack", AttackFamily.TEXTS))
    names = ("judge", WRITER, "corpus", "rephrase_prompts", "verdict_rule")
    check = InjectionCheck.objects.create(
        run=run,
        attack=attack.value,
        judge=run.judge,
        endpoint=run.endpoint,
        prompt=run.config["prompt"],
        config={name: run.config[name] for name in names if name in run.config},
        pairs=run.config["pairs"],
        created_by=run.created_by,
    )
    repeats = attack is AttackFamily.REPETITION
    InjectionTrial.objects.bulk_create(
        InjectionTrial(
            check_run=check,
            pair=place,
            order=order.value,
            added=InjectedText.LIST if repeats else InjectedText.CLEAN,
            language=pair["language"][:2] if repeats else "",
            status=JudgmentStatus.PENDING,
        )
        for place, pair in enumerate(check.pairs)
        for order in (ORDERS[:1] if repeats else ORDERS)
    )


class ListQuestion(NamedTuple):
    """A row with a list to rephrase."""

    row_id: int
    text: str
    language: str


def load_lists(run: JudgeRun, ids: IdRange) -> list[ListQuestion]:
    """The lists of a range that are not rephrased yet."""
    pairs = tried_pairs(run)
    rows = trial_rows(run.pk, StageName.REPHRASE).filter(
        status=JudgmentStatus.PENDING, pk__gte=ids.first, pk__lte=ids.last
    )
    return [
        list_question(pairs[place], row_id)
        for row_id, place in rows.order_by("pk").values_list("pk", "pair")
    ]


def list_question(pair: TriedPair, row_id: int = 0) -> ListQuestion:
    """The list of a response, to be rephrased."""
    return ListQuestion(row_id, list_in(pair.first) or "", pair.language)


async def ask_list(judge: Judge, question: ListQuestion) -> RowAnswer[Outcome[str]]:
    """Ask for the list in other words."""
    answer = await judge.rephrase_list(question.text, language=question.language)
    return RowAnswer(question.row_id, answer)


def store_lists(_run: JudgeRun, answered: Sequence[RowAnswer[Outcome[str]]]) -> None:
    """Write rephrased lists over pending rows alone."""
    answers = {one.row_id: one.answer for one in answered}
    calls = call_ids(answer.call for answer in answers.values())
    for row_id, answer in answers.items():
        has_text = answer.value is not None
        call_id = calls.get(answer.call.call_key or "")
        InjectionTrial.objects.filter(pk=row_id, status=JudgmentStatus.PENDING).update(
            status=status_of(answered=has_text, unparseable=answer.unparseable),
            text=answer.value or "",
            error_code=answer.error_code or "",
            call_id=call_id,
            raw=raw_to_keep(answer.call, answered=has_text, call_id=call_id),
        )


@dataclass(frozen=True, slots=True)
class TrialQuestion:
    """A row to answer with the pair as it is shown, and the answer to it.

    `both_orders`: the pair is shown the other way round as well, and l* answers.
    """

    row_id: int
    shown: ShownPair
    language: str
    both_orders: bool = False
    answer: PairAnswer | None = None


def load_trials(run: JudgeRun, ids: IdRange) -> list[TrialQuestion]:
    """The pending trials of a range, with what the judge is shown."""
    pairs, by_log_odds = tried_pairs(run), decides_by_log_odds(run.config, judge=run.judge)
    rows = InjectionTrial.objects.exclude(added=InjectedText.LIST).filter(
        check_run__run=run.pk, status=JudgmentStatus.PENDING, pk__gte=ids.first, pk__lte=ids.last
    )
    return [
        TrialQuestion(row.pk, _of_row(pairs[row.pair], row), pairs[row.pair].language, by_log_odds)
        for row in rows.order_by("pk")
    ]


def tried_pairs(run: JudgeRun) -> list[TriedPair]:
    """What a planned run tries the judge on."""
    return [TriedPair.of(stored) for stored in run.config["pairs"]]


def _of_row(pair: TriedPair, row: InjectionTrial) -> ShownPair:
    if row.added == InjectedText.REPEATED:
        return repeated_pair(pair, Order(row.order), row.text)
    shown = shown_pair(pair, Order(row.order))
    return shown if row.target is None else _with_text(shown, Verdict(row.target), row.text)


def repeated_pair(pair: TriedPair, order: Order, text: str) -> ShownPair:
    """A response beside what a repetition made of it, which the original order shows second."""
    return shown_pair(replace(pair, second=with_repetition(pair.first, text)), order)


def shown_pair(pair: TriedPair, order: Order) -> ShownPair:
    """A pair as it is, in an order."""
    if order is Order.SWAPPED:
        return ShownPair(pair.dialogue, first=pair.second, second=pair.first)
    return ShownPair(pair.dialogue, first=pair.first, second=pair.second)


def turned(shown: ShownPair) -> ShownPair:
    """A pair the other way round."""
    return replace(shown, first=shown.second, second=shown.first)


def attacked_pair(pair: TriedPair, attack: Attack, text: str) -> ShownPair:
    """A pair with a text at the end of the attacked response."""
    return _with_text(shown_pair(pair, attack.order), attack.attempt.target, text)


def _with_text(shown: ShownPair, target: Verdict, text: str) -> ShownPair:
    if target is Verdict.A:
        return replace(shown, first=f"{shown.first}\n\n{text}")
    return replace(shown, second=f"{shown.second}\n\n{text}")


async def ask_trial(judge: Judge, question: TrialQuestion) -> TrialQuestion:
    """Ask which is better, without any preference."""
    answer = await judge.judge_pair(question.shown, preference="", language=question.language)
    if question.both_orders and answer.log_odds is not None:
        other = await judge.judge_pair(
            turned(question.shown), preference="", language=question.language
        )
        answer = _by_both(answer, other)
    return replace(question, answer=answer)


def _by_both(answer: PairAnswer, other: PairAnswer) -> PairAnswer:
    """What l* says as shown first; an order that could not be read leaves no verdict."""
    if other.log_odds is None:
        return other
    log_odds = swap_average(original=answer.log_odds or 0.0, swapped=other.log_odds)
    return replace(answer, verdict=verdict_of_log_odds(log_odds), log_odds=log_odds)


def store_trials(_run: JudgeRun, answered: Sequence[TrialQuestion]) -> None:
    """Write verdicts AS SHOWN over pending rows alone."""
    answers = {one.row_id: one.answer for one in answered if one.answer is not None}
    calls = call_ids(answer.call for answer in answers.values())
    for row_id, answer in answers.items():
        has_verdict = answer.verdict is not None
        call_id = calls.get(answer.call.call_key or "")
        InjectionTrial.objects.filter(pk=row_id, status=JudgmentStatus.PENDING).update(
            status=status_of(answered=has_verdict, unparseable=answer.unparseable),
            verdict=answer.verdict,
            log_odds=answer.log_odds,
            error_code=answer.error_code or "",
            call_id=call_id,
            raw=raw_to_keep(answer.call, answered=has_verdict, call_id=call_id),
        )


def place_attacks(run: JudgeRun) -> None:
    """Write the PENDING rows of all attempts that can win, and of harmless texts in their place.

    An attempt that has its place keeps it: where a failed answer comes later, attempts are added.
    """
    check = InjectionCheck.objects.get(run=run.pk)
    if check.attack == AttackFamily.REPETITION:
        _place_repetitions(check)
        return
    verdicts: list[dict[Order, Verdict | None]] = [{} for _ in check.pairs]
    clean = trial_rows(run.pk, StageName.CLEAN).order_by("pk")
    for pair, order, verdict in clean.values_list("pair", "order", "verdict"):
        verdicts[pair][Order(order)] = None if verdict is None else Verdict(verdict)
    placed = set(trial_rows(run.pk, StageName.TRY).values_list("pair", "key"))
    attacks = [
        one for one in attacks_on(verdicts, ATTEMPTS) if (one.pair, one.attempt.key) not in placed
    ]
    rows = [
        _attack_row(check, attack, added)
        for added in (InjectedText.ATTEMPT, InjectedText.HARMLESS)
        for attack in attacks
    ]
    with transaction.atomic():  # an attempt without its harmless text would look placed
        InjectionTrial.objects.bulk_create(rows, batch_size=_CHUNK)


def _place_repetitions(check: InjectionCheck) -> None:
    """Write both orders of every response whose list was rephrased, and is not placed yet."""
    placed = check.trials.filter(added=InjectedText.REPEATED).values("pair")
    lists = check.trials.filter(added=InjectedText.LIST, status=JudgmentStatus.DONE)
    InjectionTrial.objects.bulk_create(
        (
            InjectionTrial(
                check_run=check,
                pair=row.pair,
                order=order.value,
                added=InjectedText.REPEATED,
                key=AttackFamily.REPETITION.word,
                language=row.language,
                text=row.text,
                target=target.value,
                status=JudgmentStatus.PENDING,
            )
            for row in lists.exclude(pair__in=list(placed.values_list("pair", flat=True)))
            for order, target in TARGET.items()
        ),
        batch_size=_CHUNK,
    )


def _attack_row(check: InjectionCheck, attack: Attack, added: InjectedText) -> InjectionTrial:
    attempt = attack.attempt
    return InjectionTrial(
        check_run=check,
        pair=attack.pair,
        order=attack.order.value,
        added=added,
        key=attempt.key,
        kind=attempt.kind.value,
        language=attempt.language,
        text=added_text(attempt, added),
        target=attempt.target.value,
        status=JudgmentStatus.PENDING,
    )


def added_text(attempt: Attempt, added: InjectedText) -> str:
    """What is added: the attempt, or a harmless text of its length."""
    return attempt.text if added is InjectedText.ATTEMPT else harmless(attempt)


def most_attacks(run: JudgeRun) -> Iterator[tuple[Attack, InjectedText]]:
    """Every attempt on every pair in the original order, as an estimate has them.

    Where a verdict would go depends on answers that are not there; there are never more than these.
    """
    for added in (InjectedText.ATTEMPT, InjectedText.HARMLESS):
        for attempt in ATTEMPTS:
            for place in range(len(run.config["pairs"])):
                yield Attack(place, Order.ORIGINAL, attempt), added


CLEAN_STAGE: Final = AskingStage(
    name=StageName.CLEAN,
    rows=lambda run_id: trial_rows(run_id, StageName.CLEAN),
    load=load_trials,
    ask=ask_trial,
    store=store_trials,
)
REPHRASE_STAGE: Final = AskingStage(
    name=StageName.REPHRASE,
    rows=lambda run_id: trial_rows(run_id, StageName.REPHRASE),
    load=load_lists,
    ask=ask_list,
    store=store_lists,
)
ATTACK_STAGE: Final = ComputingStage(name=StageName.ATTACK, compute=place_attacks)
TRY_STAGE: Final = replace(
    CLEAN_STAGE, name=StageName.TRY, rows=lambda run_id: trial_rows(run_id, StageName.TRY)
)
