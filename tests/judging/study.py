"""A small labelled study, and a judge that is a few lines long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from asgiref.sync import sync_to_async

from annotation.core.choices import Verdict
from annotation.core.splits import Pooling
from annotation.models import (
    Comparison,
    PairwiseLabel,
    Response,
    Scenario,
    Session,
    Turn,
    User,
)
from annotation.models.data import text_hash
from judging.core.questions import (
    Call,
    LabelledPair,
    Outcome,
    PairAnswer,
    ShownPair,
)
from judging.core.rules import PairwiseSettings, SatisfactionSettings
from judging.models import InjectionCheck, JudgeRun, RunKind
from judging.services import runs
from judging.services.foreground import run_to_end
from judging.services.injection import TriedPair
from judging.services.judges import OpenJudge
from judging.services.kinds import plan, start
from judging.services.run_requests import RunRequest
from tests.factory import (
    make_comparison,
    make_dataset,
    make_rater,
    make_response,
    make_scenario,
    make_session,
    make_turn,
    next_number,
)

LONGER = "prefers longer"
SHORTER = "prefers shorter"


def make_study(*, scenarios: int = 1, comparisons: int = 6, name: str = "ann"):
    """A dataset with one rater who likes the longer response, which is A and B in turns."""
    dataset = make_dataset()
    rater = make_rater(dataset, name)
    pairs = []
    for number in range(scenarios):
        scenario = make_scenario(dataset, name=f"scenario {number}", position=number)
        pairs += [_pair(scenario, longer_first=place % 2 == 0) for place in range(comparisons)]
    Session.objects.bulk_create([pair.turn.session for pair in pairs])
    Turn.objects.bulk_create([pair.turn for pair in pairs])
    both = [one for pair in pairs for one in (pair.response_a, pair.response_b)]
    Response.objects.bulk_create(both)
    Comparison.objects.bulk_create(pairs)
    PairwiseLabel.objects.bulk_create(_label(pair, rater) for pair in pairs)
    return dataset, rater


def make_pair(
    scenario: Scenario, *, longer_first: bool = True, session: Session | None = None
) -> Comparison:
    turn = make_turn(session or make_session(scenario))
    first, second = _texts(longer_first=longer_first)
    return make_comparison(
        turn,
        response_a=make_response(turn, text=first),
        response_b=make_response(turn, text=second),
    )


def _texts(*, longer_first: bool) -> list[str]:
    texts = ["A long and thorough answer.", "Short."]
    return texts if longer_first else texts[::-1]


def _pair(scenario: Scenario, *, longer_first: bool) -> Comparison:
    """As `make_pair` makes it, with nothing saved yet."""
    number = next_number()
    session = Session(
        dataset=scenario.dataset, scenario=scenario, key=f"session-{number}", position=number
    )
    turn = Turn(session=session, position=0, user_message=f"Question {number}?")
    a, b = (
        Response(
            turn=turn,
            text=text,
            text_hash=text_hash(text),
            model=f"model-{next_number()}",
            position=place,
        )
        for place, text in enumerate(_texts(longer_first=longer_first))
    )
    return Comparison(turn=turn, response_a=a, response_b=b, key=f"pair-{number}", position=number)


def label_pair(comparison: Comparison, rater: User, verdict: str = "") -> None:
    _label(comparison, rater, verdict).save()


def _label(comparison: Comparison, rater: User, verdict: str = "") -> PairwiseLabel:
    a, b = comparison.response_a.text, comparison.response_b.text
    assert a is not None
    assert b is not None
    longer = "A" if len(a) > len(b) else "B"
    return PairwiseLabel(comparison=comparison, annotator=rater, verdict=verdict or longer)


class FakeJudge:
    """Distils whether the longer was chosen and judges by it; without a preference: the first.

    `wait` is how long each answer takes, `until` whether the answer to the question of a number
    (from 0) may come, `answer` may give another one. `asked` lists the questions in the order in
    which they came, `given_up` counts those whose answer was no longer waited for.
    """

    name = "fake"

    def __init__(
        self,
        *,
        wait: float = 0.0,
        until: Callable[[int], object] = lambda _number: True,
        answer: Callable[[ShownPair, str], PairAnswer | None] = lambda _pair, _preference: None,
        distilled: Callable[[tuple[LabelledPair, ...]], Outcome[str] | None] = lambda _pairs: None,
    ) -> None:
        self.wait, self.until = wait, until
        self.answer, self.distilled = answer, distilled
        self.asked: list[tuple[ShownPair, str]] = []
        self.at_once = self.most_at_once = self.given_up = 0

    async def distil(self, pairs, *, language):
        given = self.distilled(pairs)
        longer = sum(len(pair.chosen) > len(pair.rejected) for pair in pairs) * 2 >= len(pairs)
        return given or Outcome(LONGER if longer else SHORTER, call=Call(raw=language))

    async def judge_pair(self, pair, *, preference, language):
        number = len(self.asked)
        self.asked.append((pair, preference))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            if self.wait:
                await asyncio.sleep(self.wait)
            while not self.until(number):
                await asyncio.sleep(0.01)
            return self.answer(pair, preference) or self._judge(pair, preference)
        except asyncio.CancelledError:
            self.given_up += 1
            raise
        finally:
            self.at_once -= 1

    def _judge(self, pair, preference):
        lead = len(pair.first) - len(pair.second)
        if preference == SHORTER:
            lead = -lead
        first = lead > 0 or preference == ""
        return PairAnswer(
            Verdict.A if first else Verdict.B,
            log_odds=1.5 if first else -1.5,
            call=Call(raw="because"),
        )

    async def grade(self, question):
        return Outcome(min(10.0, float(len(question.response))), call=Call(raw="because"))

    async def build_memory(self, question):
        raise NotImplementedError

    async def score_turn(self, question):
        raise NotImplementedError


def opener_of(
    judge: FakeJudge,
    *,
    concurrency: int = 4,
    meanwhile: Callable[[], object] = lambda: None,
    settling: float = 0.0,
):
    """Opens a fake judge as the engine opens real ones; `meanwhile` happens before it answers.

    `settling` is how many seconds it takes to commit the replies behind some answers.
    """

    async def settle() -> None:
        await asyncio.sleep(settling)

    async def land() -> None:
        pass

    @asynccontextmanager
    async def opener(_run):
        await sync_to_async(meanwhile)()
        yield OpenJudge(judge, settle=settle, land=land, concurrency=concurrency)

    return opener


def dispatched(run: JudgeRun) -> runs.Dispatch:
    """Takes a run up, which somebody must be able to."""
    return going(runs.dispatch(run.pk))


def going(following: runs.Dispatch | None) -> runs.Dispatch:
    """What follows, where something must."""
    assert following is not None
    return following


def planned_distillation(*, settings: PairwiseSettings | None = None, **asked: Any) -> JudgeRun:
    # Scenarios of tests are small: without this they would all be one.
    settings = settings or PairwiseSettings(pooling=Pooling.SCENARIO)
    return _planned(RunKind.DISTIL, pairwise=settings, **asked)


def planned_test(**asked: Any) -> JudgeRun:
    return _planned(RunKind.TEST, **asked)


def planned_satisfaction(*, settings: SatisfactionSettings | None = None, **asked: Any) -> JudgeRun:
    return _planned(RunKind.SATISFACTION, satisfaction=settings or SatisfactionSettings(), **asked)


def planned_rejudging(distillation: JudgeRun, **asked: Any) -> JudgeRun:
    return _planned(RunKind.DISTIL, dataset=distillation.dataset, parent=distillation, **asked)


def _planned(kind: RunKind, **asked: Any) -> JudgeRun:
    (run,) = plan(RunRequest(kind=kind, **asked))
    return run


def start_distillation(*, again: bool = False, **asked: Any) -> JudgeRun:
    return start(planned_distillation(**asked), again=again)


def start_test_run(*, again: bool = False, **asked: Any) -> JudgeRun:
    return start(planned_test(**asked), again=again)


def start_satisfaction_run(**asked: Any) -> JudgeRun:
    return start(planned_satisfaction(**asked))


def start_rejudging(distillation: JudgeRun, **asked: Any) -> JudgeRun:
    return start(planned_rejudging(distillation, **asked))


def start_training(**asked: Any) -> JudgeRun:
    return start(_planned(RunKind.TRAIN, **asked))


def planned_check(judge: str, pairs: Sequence[TriedPair], **asked: Any) -> JudgeRun:
    asked.setdefault("dataset", make_dataset())
    return _planned(RunKind.CHECK, judge=judge, pairs=[pair.to_json() for pair in pairs], **asked)


def check_injections(judge: str, pairs: Sequence[TriedPair], **asked: Any) -> InjectionCheck:
    """The check of a finished run."""
    return run_to_end(start(planned_check(judge, pairs, **asked)).pk).injection_check
