"""What a run would cost: its questions are put to a client that sends nothing.

Prompts, cache keys and parsers are those of the run itself. What depends on a reply that is not
there yet (a judgment on its preference, a score on its memory) is estimated with a stand-in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from annotation.core.choices import Order
from annotation.models import Dataset
from judging.core.estimates import (
    ASSUMED_MEMORY,
    ASSUMED_PREFERENCE,
    ASSUMED_REFERENCE,
    RunEstimate,
)
from judging.core.injections import AttackFamily
from judging.core.judge_prompts import PairTexts
from judging.core.memory import Memory, content, statistics
from judging.core.memory_parsing import memory_from_content
from judging.core.rejudging import PlannedCell
from judging.core.retrieval import memory_question
from judging.core.rules import JudgePrompt, PairwiseSettings
from judging.core.runs import COLUMNS, ORDERS, DistilPlan, StageName, Winners
from judging.core.stack import FEWEST_PAIRS
from judging.core.targets import TurnPart
from judging.models import JudgeRun, Preference, RunKind
from judging.queries.comparisons import texts_of, texts_of_responses
from judging.queries.configurations import (
    applied_plans,
    cross_fits,
    decides_by_log_odds,
    distil_plans,
    generation_settings,
    pairwise_settings,
    satisfaction_settings,
    targets_of,
)
from judging.queries.generation import TurnLine, turn_lines, turns_to_answer
from judging.queries.satisfaction.blocks import StoredBlock
from judging.queries.satisfaction.targets import PlannedTurn, blocks_of
from judging.services.abilities import learn_abilities
from judging.services.estimate_tallies import (
    StageEstimates,
    tally_of,
    try_repetitions,
    try_rubrics,
)
from judging.services.generation import GenerationTask, ask_generation, generation_tasks
from judging.services.injection import (
    TrialQuestion,
    added_text,
    ask_trial,
    attacked_pair,
    most_attacks,
    shown_pair,
    tried_pairs,
    turned,
)
from judging.services.judges import check_chats
from judging.services.judgments import (
    GradeTask,
    JudgmentQuestion,
    ask_grade,
    ask_judge,
    ask_reference,
    grade_tasks,
    shown_references,
    sides_of,
)
from judging.services.memories import MemoryTask, ask_memory, read_written
from judging.services.pairwise_runs import pairwise_run
from judging.services.preferences import DistilQuestion, ask_distiller, labelled_pairs, written_in
from judging.services.rejudging import rejudged_cells
from judging.services.run_requests import RunRequest
from judging.services.satisfaction import TurnTask, ask_score, shown_beside, turns_to_score

MOST_PROMPTS: Final = 2000
"""More prompts than this are not written for an estimate: an evenly spread part stands for all."""
_FEWEST_PROMPTS: Final = 50
_MOST_WITH_HISTORY: Final = 10


@dataclass(frozen=True, slots=True)
class _Cell:
    """A judgment of a plan: a comparison under a preference, in one order."""

    comparison_id: int
    preference: str | None
    order: Order


def _in_both_orders(comparison_id: int, preference: str | None) -> list[_Cell]:
    return [_Cell(comparison_id, preference, order) for order in ORDERS]


def estimate(run: JudgeRun, *, most: int = MOST_PROMPTS) -> RunEstimate:
    """The calls of a planned run.

    Args:
        run: it need not be saved.
        most: how many prompts are written for it.
    """
    tally = tally_of(run, most=most)
    if run.kind == RunKind.SATISFACTION:
        _try_satisfaction(tally)
    elif run.kind == RunKind.GENERATE:
        _try_generation(tally)
    elif run.kind == RunKind.CHECK:
        _try_check(tally)
    elif run.kind == RunKind.GRADE:
        _try_grades(tally, [key for plan in applied_plans(run.config) for key in plan.comparisons])
    elif run.kind != RunKind.DISTIL:
        _try_cells(tally, _applied_cells(run))
    elif COLUMNS in run.config:
        return estimate_cells(run, rejudged_cells(run), most=most)
    else:
        _try_distillation(tally)
    return tally.total()


def estimate_all(runs: Sequence[JudgeRun], *, most: int | None = None) -> list[RunEstimate]:
    """The calls of some planned runs, once it is known what their endpoints can do.

    Args:
        runs: they need not be saved.
        most: how many prompts are written for each; None for so few that all take seconds.

    Raises:
        Refused: they ask for what an endpoint lacks; see `abilities.learn_abilities`.
    """
    learn_abilities(runs)
    most = share_of_prompts(len(runs)) if most is None else most
    return [estimate(run, most=most) for run in runs]


def _try_distillation(tally: StageEstimates) -> None:
    """Its preferences, then every dev comparison under each."""
    plans = distil_plans(tally.run.config)
    columns = list(_columns(plans))
    if cross_fits(tally.run.config, judge=tally.run.judge):
        columns += _held_out(plans)
    texts = texts_of({comparison for one in columns for comparison, _ in one.winners})
    answers = tally.try_out(
        StageName.DISTIL,
        len(columns),
        lambda places: [columns[place].question(texts) for place in places],
        ask_distiller,
    )
    written = {place: one.answer.value for place, one in answers.items()}
    by_scenario: dict[int | None, list[tuple[str | None, int | None]]] = {}
    for place, column in enumerate(columns):
        found = by_scenario.setdefault(column.plan.scenario_id, [("", None)])
        found.append((written.get(place, f"{ASSUMED_PREFERENCE}{place}"), column.only))
    cells = [
        cell
        for plan in plans
        for comparison, _ in plan.winners
        for preference, only in by_scenario.get(plan.scenario_id, ())
        if only in (None, comparison)
        for cell in _in_both_orders(comparison, preference)
    ]
    _try_cells(tally, cells)


@dataclass(frozen=True, slots=True)
class _Column:
    """A preference to distil, from one labelled comparison or from several.

    `only` is the comparison that is judged under it, None for every one.
    """

    plan: DistilPlan
    winners: Winners
    language_of: Winners
    only: int | None = None

    def question(self, texts: dict[int, PairTexts]) -> DistilQuestion:
        """As the run will put it."""
        language = written_in(self.language_of, texts)
        return DistilQuestion(0, labelled_pairs(self.winners, texts), language)


def _columns(plans: Sequence[DistilPlan]) -> Iterator[_Column]:
    for plan in plans:
        for one in (*plan.winners, *plan.flipped):
            yield _Column(plan, (one,), plan.winners)
        for winners in filter(None, (plan.winners, *plan.draws)):
            yield _Column(plan, winners, plan.winners)


def _held_out(plans: Sequence[DistilPlan]) -> Iterator[_Column]:
    """Of each label the preference that all others give, and of each of the control's."""
    for plan in plans:
        if len(plan.winners) < FEWEST_PAIRS:
            continue
        for winners in filter(None, (plan.winners, *plan.draws)):
            for label in winners:
                rest = tuple(one for one in winners if one != label)
                yield _Column(plan, rest, plan.winners, only=label[0])


def _applied_cells(run: JudgeRun) -> list[_Cell]:
    """Every test comparison under its preferences."""
    asked = [cell for plan in applied_plans(run.config) for cell in plan.cells()]
    ids = {key for _comparison, keys in asked for key in keys}
    preferences = dict(Preference.objects.filter(pk__in=ids).values_list("pk", "text"))
    return [
        cell
        for comparison, keys in asked
        for key in keys
        for cell in _in_both_orders(comparison, preferences[key])
    ]


def estimate_judgments(
    run: JudgeRun, cells: Iterable[tuple[int, str | None]], *, most: int = MOST_PROMPTS
) -> RunEstimate:
    """The calls of a run that judges comparisons, each under a preference's text, in both orders.

    Args:
        run: it need not be saved.
        cells: ids of comparisons with what they are judged under, "" for the base judge.
        most: how many prompts are written for it.
    """
    tally = tally_of(run, most=most)
    _try_cells(tally, [cell for each in cells for cell in _in_both_orders(*each)])
    return tally.total()


def estimate_pairs(
    dataset: Dataset,
    pairs: Sequence[tuple[int, int]],
    *,
    judge: str,
    most: int = MOST_PROMPTS,
) -> RunEstimate:
    """The calls of judging responses that need not be compared yet, in both orders.

    They are judged without preferences; under a set each of its members asks as often again.

    Args:
        dataset: where they are.
        pairs: ids of two responses to one turn.
        judge: by its name.
        most: how many prompts are written for it.

    Raises:
        Refused: there is no such judge, or it compares nothing; see `abilities.learn_abilities`.
    """
    request = RunRequest(kind=RunKind.TEST, dataset=dataset, judge=judge, with_sets=False)
    endpoint = request.endpoint(judge)
    check_chats(endpoint)
    run = pairwise_run(request, PairwiseSettings(), (), {}, judge=judge, endpoint=endpoint)
    learn_abilities([run])
    tally = tally_of(run, most=most)

    def make(places: Sequence[int]) -> list[JudgmentQuestion]:
        wanted = [(pairs[place // 2], ORDERS[place % 2]) for place in places]
        texts = texts_of_responses({pair for pair, _order in wanted})
        return [JudgmentQuestion(0, order, texts.get(pair), "", "") for pair, order in wanted]

    tally.try_out(StageName.JUDGE, len(ORDERS) * len(pairs), make, ask_judge)
    return tally.total()


def estimate_cells(
    run: JudgeRun, cells: Iterable[PlannedCell[int]], *, most: int = MOST_PROMPTS
) -> RunEstimate:
    """The calls of judging edited preferences again: what no earlier run answered."""
    tally = tally_of(run, most=most)
    _try_cells(
        tally,
        [_Cell(cell.comparison, cell.column.text, cell.order) for cell in cells if cell.asks],
    )
    return tally.total()


def _try_cells(tally: StageEstimates, cells: Sequence[_Cell]) -> None:
    """Judgments of some cells, and the reference answers that the judge writes before them."""
    written: Mapping[int, str] = {}
    if pairwise_settings(tally.run.config).prompt is JudgePrompt.OWN_REFERENCE:
        written = _try_references(tally, list(dict.fromkeys(cell.comparison_id for cell in cells)))

    def make(places: Sequence[int]) -> list[JudgmentQuestion]:
        wanted = [cells[place] for place in places]
        ids = {cell.comparison_id for cell in wanted}
        texts, references = texts_of(ids), shown_references(tally.run, ids)
        return [
            JudgmentQuestion(
                0,
                cell.order,
                texts.get(cell.comparison_id),
                cell.preference,
                references.get(cell.comparison_id) or written.get(cell.comparison_id, ""),
            )
            for cell in wanted
        ]

    tally.try_out(StageName.JUDGE, len(cells), make, ask_judge)


def _try_references(tally: StageEstimates, comparisons: Sequence[int]) -> Mapping[int, str]:
    """The answers that a judge writes itself, by comparison: as they are stored, or a stand-in."""
    given = shown_references(tally.run, set(comparisons))
    without = [key for key in comparisons if not given.get(key)]

    def make(places: Sequence[int]) -> list[JudgmentQuestion]:
        texts = texts_of({without[place] for place in places})
        return [
            JudgmentQuestion(0, Order.ORIGINAL, texts.get(without[place]), "") for place in places
        ]

    answers = tally.try_out(StageName.REFERENCE, len(without), make, ask_reference)
    stored = {without[place]: one.answer.value for place, one in answers.items()}
    return {key: stored.get(key) or ASSUMED_REFERENCE for key in without}


def _try_grades(tally: StageEstimates, comparisons: Sequence[int]) -> None:
    """Grades of the responses of some comparisons, each once."""
    sides = sides_of(comparisons)
    responses = list(dict.fromkeys(side for key in comparisons for side in sides[key]))

    def make(places: Sequence[int]) -> list[GradeTask]:
        return grade_tasks([(0, responses[place]) for place in places], run=tally.run)

    tally.try_out(StageName.GRADE, len(responses), make, ask_grade)


def _try_check(tally: StageEstimates) -> None:
    """The pairs as they are in both orders, then every attempt and harmless text on each.

    By l* each of these is shown in both orders, too.
    """
    if tally.run.config.get("attack") == AttackFamily.REPETITION:
        try_repetitions(tally)
        return
    pairs = tried_pairs(tally.run)
    by_log_odds = decides_by_log_odds(tally.run.config, judge=tally.run.judge)
    clean = [(pair, order) for pair in pairs for order in ORDERS]
    orders = ORDERS if by_log_odds else ORDERS[:1]
    attacks = [(*each, order) for each in most_attacks(tally.run) for order in orders]

    def clean_ones(places: Sequence[int]) -> list[TrialQuestion]:
        some = [clean[place] for place in places]
        return [TrialQuestion(0, shown_pair(pair, order), pair.language) for pair, order in some]

    def attacked_ones(places: Sequence[int]) -> list[TrialQuestion]:
        questions = []
        for attack, added, order in (attacks[place] for place in places):
            pair, text = pairs[attack.pair], added_text(attack.attempt, added)
            shown = attacked_pair(pair, attack, text)
            shown = shown if order is attack.order else turned(shown)
            questions.append(TrialQuestion(0, shown, pair.language))
        return questions

    tally.try_out(StageName.CLEAN, len(clean), clean_ones, ask_trial)
    tally.try_out(StageName.TRY, len(attacks), attacked_ones, ask_trial)


def _try_generation(tally: StageEstimates) -> None:
    """Replies to turns, those that continue own replies behind these: as stored, or a stand-in."""
    run = tally.run
    settings = generation_settings(run.config)
    asked = turns_to_answer(run.dataset_id, targets_of(run.config), settings.turns)
    if settings.context.retrieves:  # a user's history is read for each
        tally.most = min(tally.most, _MOST_WITH_HISTORY)
    replies: dict[tuple[int, int], str] = {}
    for depth in sorted({one.depth for one in asked}):
        rows = [
            (one.id, sample)
            for one in asked
            if one.depth == depth
            for sample in range(settings.samples)
        ]

        def make(
            places: Sequence[int], rows: Sequence[tuple[int, int]] = rows
        ) -> list[GenerationTask]:
            wanted = [rows[place] for place in places]
            lines = turn_lines({turn for turn, _sample in wanted})
            return generation_tasks(
                run,
                [
                    (0, _told(lines[turn], replies, sample), sample, [(turn, 0, None)])
                    for turn, sample in wanted
                ],
            )

        answers = tally.try_out(StageName.GENERATE, len(rows), make, ask_generation)
        for place, row in enumerate(rows):
            stored = answers[place].answer.value if place in answers else None
            replies[row] = stored or ASSUMED_REFERENCE


def _told(line: TurnLine, replies: Mapping[tuple[int, int], str], sample: int) -> TurnLine:
    """A conversation with the own replies that it goes on from."""
    return line._replace(
        turns=tuple(
            (turn, message, replies.get((turn, sample), original))
            for turn, message, original in line.turns
        )
    )


def _try_satisfaction(tally: StageEstimates) -> None:
    """Its memories, then its turns.

    Memories that are taken over from an earlier run are counted as if they were built anew.
    """
    run = tally.run
    settings, planned = satisfaction_settings(run.config), turns_to_score(run)
    built: dict[tuple[int, int], Memory | None] = {}
    if settings.with_memory:
        built = _try_memories(tally, [stored for stored in planned.heads if stored.block.history])
    rubrics = try_rubrics(tally, settings)
    shown = shown_beside(run, settings, rubrics=rubrics)

    originals = (TurnPart.RATED, TurnPart.UNLABELLED)
    beside = [turn for turn in planned.turns if turn.part in originals]
    turns = [*planned.turns, *beside * run.awaited]

    def make(places: Sequence[int]) -> list[TurnTask]:
        there = [at for at in places if at < len(planned.turns)]
        tasks = tasks_of([turns[at] for at in there], "")
        for number in range(run.awaited):
            first = len(planned.turns) + number * len(beside)
            own = [at for at in places if first <= at < first + len(beside)]
            tasks += tasks_of([turns[at] for at in own], f"{ASSUMED_REFERENCE}{number}")
        return tasks

    def tasks_of(some: Sequence[PlannedTurn], response: str) -> list[TurnTask]:
        """The questions about some turns; about another response to them where there is one."""
        asked = [(turn.user_id, turn.target_id) for turn in some]
        wanted = frozenset(asked)
        return [
            shown.task(
                0,
                stored,
                replace(target, response=response or target.response),
                built.get((stored.user_id, stored.scenario_id)),
                alike,
            )
            for stored in blocks_of(run, asked)
            for target, alike in shown.with_nearest(
                [
                    each
                    for each in stored.block.targets
                    if (stored.user_id, int(each.turn_id)) in wanted
                ],
                stored,
            )
        ]

    tally.try_out(StageName.SCORE, len(turns), make, ask_score)


def _try_memories(
    tally: StageEstimates, blocks: Sequence[StoredBlock]
) -> dict[tuple[int, int], Memory | None]:
    """The memory of each block: as it is stored, or a stand-in."""
    answers = tally.try_out(
        StageName.MEMORY,
        len(blocks),
        lambda places: [
            MemoryTask(0, memory_question(blocks[place].block, language=blocks[place].language))
            for place in places
        ],
        ask_memory,
    )
    built: dict[tuple[int, int], Memory | None] = {}
    for place, stored in enumerate(blocks):
        texts = ASSUMED_MEMORY
        if place in answers and (parsed := read_written(answers[place])[0]) is not None:
            texts = parsed.texts
        memory = Memory(statistics(stored.block.history), texts)
        built[stored.user_id, stored.scenario_id] = memory_from_content(content(memory))
    return built


def share_of_prompts(runs: int) -> int:
    """How many prompts each of some runs may write, so that all are estimated in seconds."""
    return max(_FEWEST_PROMPTS, MOST_PROMPTS // max(runs, 1))
