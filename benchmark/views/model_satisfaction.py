"""Satisfaction by model: by people, by an evaluator, corrected; the answers behind it, files."""

from __future__ import annotations

from collections.abc import Iterator

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.core.charts import IntervalPlot, IntervalRow, interval_plot
from annotation.core.choices import Hallucination, Reason
from annotation.core.profiles import QUESTIONS
from annotation.templatetags.look import decimal, label
from annotation.views.access import csv_file, table_asked
from benchmark.core.corrected import MeanEstimate
from benchmark.core.model_satisfaction import (
    ModelDifference,
    QuestionAnswers,
    answer_name,
)
from benchmark.forms import asked
from benchmark.forms.models import ModelRowsForm, ModelsForm
from benchmark.queries.kept import Kept, fresh, kept
from benchmark.queries.model_satisfaction import (
    ModelsBoard,
    Voice,
    models_answers,
    models_page,
)
from benchmark.queries.model_satisfaction_rows import AnswerRow, answer_rows, questionnaire_rows
from benchmark.queries.model_tables import MODEL_TABLES
from benchmark.views.exports import require_sees_everyone
from benchmark.views.figures import FIGURES_ID
from benchmark.views.ranking import without_stale_choices


@require_safe
@login_required
@without_stale_choices
def model_satisfaction(request: HttpRequest) -> HttpResponse:
    """The page; to htmx the part below the filters, or (`part`) what a closed study shows first."""
    found = _asked(request)
    template = "benchmark/model_satisfaction.html"
    if request.headers.get("HX-Target") == FIGURES_ID:
        template = "benchmark/_model_satisfaction.html"
    elif request.headers.get("HX-Request") == "true":
        template = "benchmark/_satisfaction_result.html"
    return render(request, template, _context(found.page) | {"kept": found})


@require_safe
@login_required
def model_satisfaction_rows(request: HttpRequest) -> HttpResponse:
    """The answers behind a figure of one model, or who answered a question like that."""
    require_sees_everyone(request)
    form = asked(ModelRowsForm, request.GET)
    board, wanted = models_answers(form.question()), form.wanted()
    if board.dataset is None:
        raise Http404
    context = {"board": board, "wanted": wanted}
    number = request.GET.get("page", "")
    if answer := form.cleaned_data["answer"]:
        told, asked_of = questionnaire_rows(board, model=wanted.model, answer=answer, page=number)
        context |= {"answered": told, "page": asked_of, "question": told[0][0]}
        return render(request, "benchmark/model_satisfaction_rows.html", context)
    answers, page = answer_rows(board, wanted, page=number)
    rows = [_told(row) for row in answers]
    context |= {"rows": rows, "page": page, "shown_reason": _reason(wanted.show)}
    return render(request, "benchmark/model_satisfaction_rows.html", context)


@require_safe
@login_required
def model_satisfaction_csv(request: HttpRequest) -> HttpResponse:
    """A table of the page: models, scenarios, differences or questions."""
    require_sees_everyone(request)
    table = table_asked(request, MODEL_TABLES)
    board = fresh(models_page, asked(ModelsForm, request.GET).question())
    heard = board.run if board.voice is not Voice.PEOPLE else None
    said = {
        "dataset": board.dataset and board.dataset.slug,
        "judge": heard and heard.judge,
        "run": heard and heard.id,
        "voice": board.voice.value,
        "filter_scenario": board.scenario and board.scenario.name,
        "study": board.study and board.study.slug,
        "seed": None,  # nothing is drawn
    }
    return csv_file(f"satisfaction-by-model-{table}", MODEL_TABLES[table](board), said)


def _asked(request: HttpRequest) -> Kept[ModelsBoard]:
    require_sees_everyone(request)
    return kept(models_page, asked(ModelsForm, request.GET).question())


def _told(row: AnswerRow) -> dict[str, object]:
    """A row with its words as people read them."""
    made_up = row.answer.hallucination
    return {
        "answer": row.answer,
        "key": row.key,
        "opening": row.opening,
        "user": row.user,
        "reason": _reason(row.answer.reason),
        "made_up": label(Hallucination(made_up)) if made_up else "",
    }


def _reason(word: str) -> str:
    return dict(_reasons()).get(word, "")


def _reasons() -> Iterator[tuple[str, str]]:
    for each in Reason:
        yield each.value, _(each.label)


def _context(board: ModelsBoard) -> dict[str, object]:
    scenarios = list(dict.fromkeys(name for row in board.models for name in row.scenarios))
    order = {each.name: place for place, each in enumerate(board.scenarios)}
    scenarios.sort(key=lambda name: order.get(name, len(order)))
    return {
        "board": board,
        "figures_id": FIGURES_ID,
        "questions": [_question(each) for each in board.questionnaire],
        "voices": _voices(board),
        "plot": _plot(board),
        "reasons": [(word, name) for word, name in _reasons() if _given(board, word)],
        "scenario_names": scenarios if len(scenarios) > 1 else [],
        "scenario_rows": [
            (row.model, [(name, row.scenarios.get(name)) for name in scenarios])
            for row in board.models
        ],
        "pairs": list(zip(board.mean_differences, _low(board), strict=True)),
    }


def _question(asked: QuestionAnswers) -> dict[str, object]:
    """A question with each option's count and share; ours in our words."""
    ours = {each.summary: each.query for each in QUESTIONS}
    return {
        "question": asked.question,
        "query": gettext(ours.get(asked.question, asked.query)),
        "options": [gettext(option) for option in asked.options],
        "models": [
            (
                model,
                [
                    (answer_name(asked.question, option), n, n / total)
                    for option, n in zip(asked.options, counts, strict=True)
                ],
                total,
            )
            for model, counts, total in asked.models
        ],
    }


def _low(board: ModelsBoard) -> list[ModelDifference | None]:
    """The differences in dissatisfied answers, in the order and direction of those of means."""
    known = {frozenset((each.first, each.second)): each for each in board.low_differences}
    found = []
    for mean in board.mean_differences:
        each = known.get(frozenset((mean.first, mean.second)))
        found.append(each if each is None or each.first == mean.first else each.turned)
    return found


def _given(board: ModelsBoard, word: str) -> bool:
    return any(row.reasons.get(word) for row in board.models)


def _voices(board: ModelsBoard) -> list[tuple[Voice, str]]:
    names = {
        Voice.PEOPLE: _("People"),
        Voice.JUDGE: _("Evaluator"),
        Voice.CORRECTED: _("Corrected"),
    }
    return [(voice, names[voice]) for voice in Voice] if board.run else []


def _plot(board: ModelsBoard) -> IntervalPlot:
    """Mean score of each model with its interval, the best first."""
    means: list[tuple[str, MeanEstimate | None]] = [
        *((row.model, row.mean) for row in board.models),
        *((row.model, row.mean.corrected) for row in board.corrected),
    ]
    return interval_plot(
        [_plot_row(model, found) for model, found in means if found is not None],
        write=lambda value: decimal(value, 1),
    )


def _plot_row(model: str, found: MeanEstimate) -> IntervalRow:
    interval = found.interval
    text = decimal(found.value)
    if interval is not None:
        text = f"{text} ({decimal(interval.low)} … {decimal(interval.high)})"
    low, high = (interval.low, interval.high) if interval else (None, None)
    return IntervalRow(label=model, value=found.value, low=low, high=high, text=text)
