"""How a judge is asked: the paper's ways, or one of MT-Bench's (seed 004)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from annotation.core.choices import LabelledEnum
from annotation.core.conversations import Dialogue, Speaker
from annotation.core.refusals import Refused, gettext_noop
from annotation.core.splits import DEFAULT_DEV_SIZE, DEFAULT_SEED, Pooling, SplitSampling
from judging.core.calibration import Calibration
from judging.core.money import estimate_tokens
from judging.core.structured import PLAIN, SATISFIED, ReplyForm, ScoreFlag
from judging.core.verdicts import VerdictRule


class JudgePrompt(LabelledEnum):
    """Which prompt compares or grades; stored with a run.

    PERSONAL is the paper's, with a preference or without. PAIRWISE compares by a generic rubric,
    THOUGHT lets the judge solve the request first, REFERENCE shows it a reference answer,
    OWN_REFERENCE one that it wrote in a call before, where the data has none. SINGLE grades each
    response alone from 1 to 10, SINGLE_REFERENCE beside a reference answer. REWARD is no prompt: a
    reward model scores each response.
    """

    PERSONAL = "PERSONAL", gettext_noop("as in the paper, with or without preferences")
    PAIRWISE = "PAIRWISE", gettext_noop("compare by a generic rubric")
    THOUGHT = "THOUGHT", gettext_noop("solve the request first, then compare")
    REFERENCE = "REFERENCE", gettext_noop("compare with a reference answer")
    OWN_REFERENCE = "OWN_REFERENCE", gettext_noop("write a reference answer first, then compare")
    SINGLE = "SINGLE", gettext_noop("grade each response from 1 to 10")
    SINGLE_REFERENCE = "SINGLE_REFERENCE", gettext_noop("grade with a reference answer")
    REWARD = "REWARD", gettext_noop("score each response")

    @property
    def word(self) -> str:
        """As an argument of a command: single-reference."""
        return self.value.lower().replace("_", "-")

    @property
    def grades(self) -> bool:
        """Whether it looks at one response at a time."""
        return self in (JudgePrompt.SINGLE, JudgePrompt.SINGLE_REFERENCE, JudgePrompt.REWARD)

    @property
    def compares(self) -> bool:
        """Whether it is shown both responses, and so can be answered by one letter."""
        return not self.grades

    @property
    def guided(self) -> bool:
        """Whether it shows a reference answer where there is one."""
        return self in (
            JudgePrompt.REFERENCE,
            JudgePrompt.OWN_REFERENCE,
            JudgePrompt.SINGLE_REFERENCE,
        )


class DistilPrompt(LabelledEnum):
    """Which prompt distils a preference from one comparison; stored with a run.

    SENTENCES is the paper's, about three of them (seed 001, appendix A.2); SENTENCE asks for one,
    as the released code can.
    """

    SENTENCES = "SENTENCES", gettext_noop("about three sentences, as in the paper")
    SENTENCE = "SENTENCE", gettext_noop("one sentence, as in the paper's code")


class Combine(LabelledEnum):
    """What of a distillation decides in the annotator's stead (protocols A1.6).

    STACK is a weighted vote of several ways to judge, SUBSET the set of preferences that was
    selected, BASE the base judge alone.
    """

    STACK = "STACK", gettext_noop("a weighted vote of several ways to judge")
    SUBSET = "SUBSET", gettext_noop("the selected preferences")
    BASE = "BASE", gettext_noop("the base judge")


class StackWay(LabelledEnum):
    """A way to judge that a weighted vote counts, of a judge that is asked by prompts."""

    BASE = "BASE", gettext_noop("the base judge")
    AGGREGATE = "AGGREGATE", gettext_noop("the preference distilled from all comparisons")
    SELECTED = "SELECTED", gettext_noop("the selected preferences")


class SelectionMode(LabelledEnum):
    """How preferences are selected: by the project's rule, or as the code of seed 001 does."""

    DEFAULT = "DEFAULT", gettext_noop("this project's rules")
    PAPER = "PAPER", gettext_noop("the rules of the paper's released code")


def prompt_of(word: str) -> JudgePrompt:
    """The prompt that an argument names.

    Raises:
        ValueError: there is none of that name.
    """
    return JudgePrompt(word.upper().replace("-", "_"))


class Window(LabelledEnum):
    """Which turns of a conversation enter a prompt."""

    ALL = "ALL", gettext_noop("all turns")
    LAST_TURN = "LAST_TURN", gettext_noop("the last turn")
    LAST_TWO_TURNS = "LAST_TWO_TURNS", gettext_noop("the last two turns")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The messages that are shown, and how many earlier ones are not."""

    messages: Dialogue
    omitted: int


def excerpt(dialogue: Dialogue, *, window: Window, budget: int) -> Excerpt:
    """The part of a conversation that a prompt shows.

    Within the window, turns are taken from the newest back while their estimated tokens fit
    `budget`. The last turn is always whole: it is the request that the responses answer.
    """
    opening, turns = _turns(dialogue)
    wanted = {Window.ALL: len(turns), Window.LAST_TURN: 1, Window.LAST_TWO_TURNS: 2}[window]
    left = budget - _tokens(opening)
    kept: list[Dialogue] = []
    for turn in reversed(turns[-wanted:] if wanted else []):
        left -= _tokens(turn)
        if kept and left < 0:
            break
        kept.append(turn)
    shown = opening + tuple(message for turn in reversed(kept) for message in turn)
    return Excerpt(shown, len(dialogue) - len(shown))


def _turns(dialogue: Dialogue) -> tuple[Dialogue, list[Dialogue]]:
    """The messages before the first turn, and the turns."""
    starts = [
        place
        for place, message in enumerate(dialogue)
        if message.role is Speaker.USER
        and (place == 0 or dialogue[place - 1].role is not Speaker.USER)
    ]
    if not starts:
        return dialogue, []
    ends = [*starts[1:], len(dialogue)]
    turns = [dialogue[start:end] for start, end in zip(starts, ends, strict=True)]
    return dialogue[: starts[0]], turns


def _tokens(messages: Dialogue) -> int:
    return sum(estimate_tokens(message.text) for message in messages)


NO_SETS: Final = "none"
"""The word, in an argument or on a page, for the base judge in place of selected preferences."""
DRAWN: Final = "drawn"
"""The word for preferences of a set that are drawn at random."""
PAPER_DRAW: Final = 5
"""How many the paper's model ranking draws (seed 001, section 4.2.2)."""


@dataclass(frozen=True, slots=True)
class PairwiseSettings:
    """The rules of a distillation and of the test run that follows it (protocols A1)."""

    dev_size: int = DEFAULT_DEV_SIZE
    seed: int = DEFAULT_SEED
    sampling: SplitSampling = SplitSampling.DEFAULT
    pooling: Pooling = Pooling.AUTO
    verdict_rule: VerdictRule = VerdictRule.STRICT
    window: Window = Window.ALL
    aggregate_eligible: bool = False
    shuffled_control: bool = True
    prompt: JudgePrompt = JudgePrompt.PERSONAL
    distil_prompt: DistilPrompt = DistilPrompt.SENTENCES
    combine: Combine | None = None
    """None in a request alone: the embedded judge stacks, others take the selected preferences."""
    mode: SelectionMode = SelectionMode.DEFAULT
    difference_penalty: bool = False
    """Of the paper's mode: what a subset wins more in one order than in the other is taken off."""
    control_draws: int | None = None
    """How often the control's labels are drawn; None in a request alone: by the judge."""


class Level(LabelledEnum):
    """What is scored: one response, or a conversation as a whole (seed 003, appendix F)."""

    TURN = "TURN", gettext_noop("Single responses")
    SESSION = "SESSION", gettext_noop("Conversations as a whole")


class Need(StrEnum):
    """What a variant is shown beside the conversation and the task.

    MEMORY comes with the profile. NEAREST are the user's own turns, EXAMPLES and RUBRICS come from
    training users, never from those who are scored.
    """

    NOTHING = "NOTHING"
    MEMORY = "MEMORY"
    NEAREST = "NEAREST"
    EXAMPLES = "EXAMPLES"
    RUBRICS = "RUBRICS"

    @property
    def personal(self) -> bool:
        """Whether it shows something of the user; without it the no-memory prompt is asked."""
        return self in (Need.MEMORY, Need.NEAREST)

    @property
    def from_training(self) -> bool:
        """Whether it is taken from training users."""
        return self in (Need.EXAMPLES, Need.RUBRICS)


class Variant(LabelledEnum):
    """How a judge is asked about satisfaction; stored with a run."""

    CHECKLIST = "CHECKLIST", gettext_noop("Checklist with the user's memory, as in the paper")
    BOUNDARY = "BOUNDARY", gettext_noop("Boundaries 3/4 and 4/5, with the user's memory")
    TWO_STAGE = (
        "TWO_STAGE",
        gettext_noop("Satisfied or not, then the score, with the user's memory"),
    )
    TASK_GUARDED = "TASK_GUARDED", gettext_noop("Task completion, then the user's memory")
    NO_MEMORY = "NO_MEMORY", gettext_noop("Checklist without a memory")
    ZERO_SHOT = "ZERO_SHOT", gettext_noop("Plain question (zero-shot)")
    FEW_SHOT = "FEW_SHOT", gettext_noop("Ten examples from training users (few-shot)")
    RETRIEVAL = "RETRIEVAL", gettext_noop("The user's own most similar turns (retrieval)")
    TASK_RUBRIC = "TASK_RUBRIC", gettext_noop("Rubric for the task type")
    PROMETHEUS = (
        "PROMETHEUS",
        gettext_noop("Feedback by a rubric, then the score (Prometheus-style)"),
    )
    SPUR = "SPUR", gettext_noop("Rubrics induced from training users (SPUR-style)")

    @property
    def word(self) -> str:
        """As written after a judge's name in a command: two-stage."""
        return self.value.lower().replace("_", "-")


@dataclass(frozen=True, slots=True)
class VariantSpec:
    """One variant: its prompt at each level it has, what that is shown, how the reply is read."""

    prompts: Mapping[Level, str]
    need: Need = Need.NOTHING
    form: ReplyForm = field(default=PLAIN)


_TWO_BOUNDARIES: Final = ReplyForm(flags=(ScoreFlag("reaches_4", 4), ScoreFlag("reaches_5", 5)))
_SIDE_FIRST: Final = ReplyForm(flags=(ScoreFlag(SATISFIED, 4),))
_GUARDED: Final = ReplyForm(flags=(ScoreFlag("task_met", 4, only_caps=True),))
_FEEDBACK_FIRST: Final = ReplyForm(analysis_first=True)
_SIDE_ALONE: Final = ReplyForm(flags=(ScoreFlag(SATISFIED, 4),), binary=True)


def _turn(name: str) -> Mapping[Level, str]:
    return {Level.TURN: f"score_turn_{name}"}


SPECS: Final[Mapping[Variant, VariantSpec]] = {
    Variant.CHECKLIST: VariantSpec(
        {Level.TURN: "score_turn", Level.SESSION: "score_session"}, Need.MEMORY
    ),
    Variant.BOUNDARY: VariantSpec(_turn("boundary"), Need.MEMORY, _TWO_BOUNDARIES),
    Variant.TWO_STAGE: VariantSpec(_turn("two_stage"), Need.MEMORY, _SIDE_FIRST),
    Variant.TASK_GUARDED: VariantSpec(
        {Level.SESSION: "score_session_task_guarded"}, Need.MEMORY, _GUARDED
    ),
    Variant.NO_MEMORY: VariantSpec(
        {Level.TURN: "score_turn_no_memory", Level.SESSION: "score_session_no_memory"}
    ),
    Variant.ZERO_SHOT: VariantSpec(_turn("zero_shot")),
    Variant.FEW_SHOT: VariantSpec(_turn("few_shot"), Need.EXAMPLES),
    Variant.RETRIEVAL: VariantSpec(_turn("retrieval"), Need.NEAREST),
    Variant.TASK_RUBRIC: VariantSpec(_turn("task_rubric")),
    Variant.PROMETHEUS: VariantSpec(_turn("prometheus"), form=_FEEDBACK_FIRST),
    Variant.SPUR: VariantSpec(_turn("spur"), Need.RUBRICS, _SIDE_ALONE),
}


def variant_of(word: str) -> Variant:
    """The variant that an argument names.

    Raises:
        ValueError: there is none of that name.
    """
    return Variant(word.upper().replace("-", "_"))


def variants_at(level: Level) -> tuple[Variant, ...]:
    """The variants that can be asked at a level, in the order of the table."""
    return tuple(variant for variant, spec in SPECS.items() if level in spec.prompts)


WITHOUT_PROMPTS: Final = frozenset({Variant.CHECKLIST, Variant.NO_MEMORY})
"""What the lexical judge does in its own way, with a memory or without."""
LEARNED: Final = "learned"
"""The judge that is trained on a dataset's ratings: it scores satisfaction, nothing else."""


@dataclass(frozen=True, slots=True)
class SatisfactionSettings:
    """The rules of a satisfaction run (protocols A2).

    `variant` is the way of asking, `level` what is scored. `memories_of` names an earlier run whose
    newest memories, people's edits included, are judged with instead of building them again.
    `train` is the slug of the dataset whose raters teach examples and rubrics; "" for the other
    raters of the dataset that is judged.

    Raises:
        Refused: there is no such prompt.
    """

    calibration: Calibration = Calibration.CDF
    variant: Variant = Variant.CHECKLIST
    level: Level = Level.TURN
    memories_of: int | None = None
    train: str = ""

    def __post_init__(self) -> None:
        if self.level not in SPECS[self.variant].prompts:
            raise Refused(
                "run:variant-level", f"{self.variant.word} has no prompt for {self.level.lower()}s"
            )

    @property
    def with_memory(self) -> bool:
        """Whether user memories are built."""
        return SPECS[self.variant].need is Need.MEMORY


class GenerationContext(LabelledEnum):
    """What a model sees beside its system prompt.

    PREFIX is the conversation so far. MEMORY adds the turns of the user's other scenarios that are
    most like it, DIVERSE the same with the scenarios taking turns, COMPRESSED the stored memory of
    the user (`UserMemory`) that was written from the other scenarios.
    """

    PREFIX = "PREFIX", gettext_noop("the conversation so far")
    MEMORY = "MEMORY", gettext_noop("with the most similar turns from the user's other scenarios")
    DIVERSE = "DIVERSE", gettext_noop("with similar turns from each of the user's other scenarios")
    COMPRESSED = "COMPRESSED", gettext_noop("with the stored user memory")

    @property
    def word(self) -> str:
        """As an argument of a command."""
        return self.value.lower()

    @property
    def variant(self) -> str:
        """What tells its responses from others of the model: "" for those that any file holds."""
        return "" if self is GenerationContext.PREFIX else self.word

    @property
    def retrieves(self) -> bool:
        """Whether it shows turns of the user's other scenarios."""
        return self in (GenerationContext.MEMORY, GenerationContext.DIVERSE)


class AnsweredTurns(LabelledEnum):
    """Which turns of a conversation are answered."""

    ALL = "ALL", gettext_noop("every turn")
    OPEN = "OPEN", gettext_noop("turns without an original response")
    LAST = "LAST", gettext_noop("the last turn of each conversation")


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationSettings:
    """The rules of a generation, stored in its run's configuration.

    Attributes:
        context: what the model sees.
        turns: which turns it answers.
        samples: replies to each turn, 1 or more.
        temperature: 0-2; that of seed 003 by default.
        max_tokens: of each reply, its reasoning included.
        system: the system prompt in the place of each session's own; "" for none, None for its own.
    """

    context: GenerationContext = GenerationContext.PREFIX
    turns: AnsweredTurns = AnsweredTurns.ALL
    samples: int = 1
    temperature: float = 0.7
    max_tokens: int = 1024
    system: str | None = None
