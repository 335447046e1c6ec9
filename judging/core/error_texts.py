"""One sentence for every error code: what happened and what to do.

Codes are raised where things go wrong; their texts stand here once and are translated at the edge.
`gettext_noop` only marks them for the translators: the core knows no Django.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Final

from annotation.core.refusals import gettext_noop, register

ERROR_TEXTS: Final[dict[str, str]] = {
    "llm:unavailable": gettext_noop(
        "The endpoint could not be reached or failed. Check that it is running, then retry."
    ),
    "llm:timeout": gettext_noop(
        "The endpoint did not answer in time. Raise its timeout or lower its max concurrent "
        "calls, then retry."
    ),
    "llm:rate-limited": gettext_noop(
        "The endpoint is rate-limited. Set its requests or tokens per minute, then retry."
    ),
    "llm:malformed": gettext_noop(
        "The endpoint's reply is not a chat completion. Check that the base URL ends just before "
        "/chat/completions."
    ),
    "llm:too-long": gettext_noop(
        "The endpoint's answer is larger than any reply of the allowed length. Check that its base "
        "URL is that of an OpenAI-compatible API."
    ),
    "llm:no-api": gettext_noop(
        "A web page or a redirect answers at this address, not an OpenAI-compatible API. Correct "
        "the endpoint's base URL (it often ends in /v1), then retry."
    ),
    "llm:refused-key": gettext_noop(
        "The endpoint rejected the API key. Check the environment variable set for this endpoint."
    ),
    "llm:forbidden": gettext_noop(
        "The API key is not allowed to make this call. Ask the endpoint's provider."
    ),
    "llm:unknown-model": gettext_noop(
        "The endpoint does not know this model or address. Check its base URL and model name."
    ),
    "llm:quota": gettext_noop(
        "The account behind the API key has no credit left. Top it up, then retry."
    ),
    "llm:bad-request": gettext_noop(
        "The endpoint rejected the request. See what it said; the endpoint's extra request fields "
        "can add or leave out a field."
    ),
    "llm:over-context": gettext_noop(
        "The request is longer than the model's context. Lower the endpoint's context window "
        "(LLM_CONTEXT_TOKENS), so that conversations are shortened, then retry."
    ),
    "llm:content-filter": gettext_noop(
        "The endpoint's content filter stopped the request or its reply. Retry, or use an endpoint "
        "with another filter for these texts."
    ),
    "llm:refusal": gettext_noop(
        "The model refused to answer. Read why; if this happens often, try another model."
    ),
    "llm:tool-call": gettext_noop(
        "The model called a tool instead of answering. Turn tools off at the endpoint, or try "
        "another model."
    ),
    "llm:bad-headers": gettext_noop(
        "The endpoint's extra headers are not valid. Use names of headers with names of "
        "environment variables."
    ),
    "llm:bad-endpoint": gettext_noop(
        "The endpoint's base URL is not valid. Use an http or https address without a password."
    ),
    "llm:no-key": gettext_noop(
        "The endpoint's API key variable is not set on this server. Set it where the server and "
        "its workers start, restart them, then test again."
    ),
    "llm:under-test": gettext_noop(
        "This endpoint is being tested. Wait a few seconds, then reload the page."
    ),
    "llm:key-variable": gettext_noop(
        "The endpoint's key variable is not allowed. Choose one that begins with LLM_, or add it "
        "to LLM_KEY_VARIABLES."
    ),
    "llm:no-logprobs": gettext_noop(
        "The endpoint returns no log-probabilities. Choose another way to read verdicts."
    ),
    "llm:context": gettext_noop(
        "The longest request does not fit into the model's context. Lower the endpoint's context "
        "window (LLM_CONTEXT_TOKENS), so that conversations are shortened. If the server accepts "
        "more now, test the endpoint again under Runs → Model endpoints."
    ),
    "llm:cut": gettext_noop(
        "The reply was cut at the longest reply allowed. Raise the endpoint's max output tokens "
        "and retry; for generated responses, start a run with a longer reply."
    ),
    "llm:no-answer": gettext_noop(
        "The model's reply is empty. If the model reasons first, raise its max output tokens."
    ),
    "answer:not-storable": gettext_noop(
        "The database refused to store this answer. Report it with the server's log, then retry."
    ),
    "budget:spent": gettext_noop(
        "The run's budget does not cover another call. Raise it, then retry."
    ),
    "batch:faults": gettext_noop(
        "The reply file has errors. Nothing was read. Correct or remove those lines."
    ),
    "batch:no-chat": gettext_noop(
        "Batch files only hold chat requests. This judge calls no endpoint, or its endpoint "
        "scores responses."
    ),
    "llm:not-stored": gettext_noop(
        "The reply has not been read yet. Write the run's batch file, then read its replies."
    ),
    "budget:no-prices": gettext_noop(
        "The judge's calls have no price, so a budget cannot be applied. Set prices for its "
        "endpoint."
    ),
    "budget:negative": gettext_noop("Enter a budget of 0 or more."),
    "verdict:unparseable": gettext_noop(
        "The reply contains no verdict. Read it; if this happens often, try another model."
    ),
    "verdict:echo": gettext_noop(
        "The reply repeats the answer format without a decision. Read it; if this happens often, "
        "try another model."
    ),
    "recorded:call-failed": gettext_noop(
        "The source recorded a failed call instead of a reply, so it cannot be retried here."
    ),
    "score:unparseable": gettext_noop(
        "The reply contains no usable score. Read it; if this happens often, try another model."
    ),
    "score:echo": gettext_noop(
        "The reply repeats the answer format, or its analysis is empty. Read it; if this happens "
        "often, try another model."
    ),
    "memory:unparseable": gettext_noop(
        "The reply is not a user memory. Read it, then try another model or write the memory "
        "yourself."
    ),
    "memory:echo": gettext_noop(
        "The reply repeats the answer format and says nothing about this user. Read it, then try "
        "another model or write the memory yourself."
    ),
    "memory:no-history": gettext_noop(
        "This user has no ratings in other scenarios, so a memory cannot be built."
    ),
    "memory:missing": gettext_noop(
        "The memory needed to score this turn was not built. Retry the failed calls."
    ),
    "memory:up-to-date": gettext_noop("There are no new ratings, so no new version was written."),
    "memory:not-editable": gettext_noop(
        "Someone has saved a newer version of this memory, or it was never built. Open it again."
    ),
    "run:model-changed": gettext_noop(
        "The endpoint's model was changed after this run began. Change it back and retry, or "
        "start a new run."
    ),
    "generate:no-endpoint": gettext_noop(
        "Only a model endpoint can generate responses. Choose one, or add one under Runs → Model "
        "endpoints."
    ),
    "generate:no-turns": gettext_noop(
        "There is nothing to answer: no turn with a user message matches this choice."
    ),
    "generate:no-history": gettext_noop(
        "This context shows a user's conversations in other scenarios, and there are none here. "
        "Use the conversation so far, or import data that names its users."
    ),
    "generate:no-memory": gettext_noop(
        "No user memory is stored for this scenario. Start a satisfaction run that builds "
        "memories, then generate again."
    ),
    "generate:no-previous": gettext_noop(
        "The model's own reply to the turn before is missing. Retry the failed calls."
    ),
    "run:failed": gettext_noop("The judge's run did not finish. See its page for the reason."),
    "run:no-ratings": gettext_noop("This dataset has no rated responses with available text."),
    "learned:too-few-ratings": gettext_noop(
        "There are too few ratings to learn from. Training needs both good and bad ratings from "
        "four users."
    ),
    "sort:unparseable": gettext_noop(
        "The judge's reply names no known quality, category or subcategory. Its text is kept."
    ),
    "sort:echo": gettext_noop(
        "The judge's reply repeats the answer format without filling it in. Try a stronger model."
    ),
    "rubrics:unparseable": gettext_noop(
        "The reply is not a list of sentences. Read it; if this happens often, try another model."
    ),
    "rubrics:echo": gettext_noop(
        "The reply repeats the answer format and names no reason. Read it; if this happens "
        "often, try another model."
    ),
    "rubrics:nothing-found": gettext_noop(
        "No reasons could be extracted from the ratings. See their errors."
    ),
    "rubrics:missing": gettext_noop(
        "The rubrics needed to judge this turn were not written. Retry the failed calls."
    ),
    "run:variant-level": gettext_noop(
        "This method has no prompt for what you want to score. Choose another method."
    ),
    "run:reference-calibration": gettext_noop(
        "A run over everything rated has no reference scores to calibrate by. Choose another "
        "calibration."
    ),
    "run:no-training-users": gettext_noop(
        "There are no other users here to take examples or rubrics from. Choose a dataset of "
        "training users or another method."
    ),
    "run:unknown-training": gettext_noop("The dataset of training users was not found."),
    "score:not-asked": gettext_noop(
        "The turn was rated after the judge's run began. Score the dataset again with this judge."
    ),
    "score:no-turn": gettext_noop("The rating of this turn was withdrawn after the run started."),
    "run:superseded": gettext_noop(
        "This run has been restarted or cancelled. Results saved so far are kept."
    ),
    "run:unknown": gettext_noop("The run was not found. Choose one from the list."),
    "run:crashed": gettext_noop(
        "An unexpected error stopped the run. Report the details, then retry."
    ),
    "run:endpoint-down": gettext_noop(
        "The run stopped after repeated endpoint failures. Fix the reported error, then retry; "
        "only unanswered calls are repeated."
    ),
    "run:no-labels": gettext_noop(
        "This annotator has not labelled any comparison with both texts and a winner."
    ),
    "run:no-targets": gettext_noop(
        "There is nothing to judge among these targets. Choose others, remove a filter, or plan "
        "comparisons on the dataset's page first."
    ),
    "run:no-stack": gettext_noop(
        "The paper's mode applies the subsets that it selects. Choose the selected preferences."
    ),
    "run:targets": gettext_noop("Choose what to judge from the list."),
    "run:no-history": gettext_noop(
        "The dataset with this annotator's ratings was deleted. Start a new run."
    ),
    "run:which-sets": gettext_noop(
        "Several judges selected or distilled preferences here. Choose whose to use."
    ),
    "run:writer-not-read": gettext_noop(
        "The lexical judge only reads preferences and memories that it wrote itself. Choose "
        "another judge, or have the lexical judge write them."
    ),
    "run:not-distilled": gettext_noop(
        "There are no preferences to use yet. Distil preferences first."
    ),
    "run:not-finished": gettext_noop(
        "The run is in progress. Wait for it to finish, or cancel it."
    ),
    "run:equal-under-way": gettext_noop(
        "An identical run is in progress. Wait for it, or stop it before you resume this one."
    ),
    "run:recorded": gettext_noop(
        "The verdicts of this run were recorded elsewhere, so they cannot be repeated."
    ),
    "judge:unknown": gettext_noop(
        "No enabled judge has that name. Use an enabled endpoint, or lexical."
    ),
    "judge:no-prompts": gettext_noop(
        "The lexical judge does not use prompts. Choose an endpoint to compare with another prompt."
    ),
    "judge:only-scores": gettext_noop(
        "This endpoint is a reward model. Measure it by scores, or choose another judge."
    ),
    "judge:no-scores": gettext_noop(
        "This endpoint is not a reward model. Choose one that scores responses, or another prompt."
    ),
    "run:no-references": gettext_noop(
        "None of these comparisons has a reference answer. Choose a prompt without one."
    ),
    "run:no-control": gettext_noop("This run has no such control. Choose one below."),
    "run:prompt-without-sets": gettext_noop(
        "Only the paper's prompt uses preferences. This prompt judges without them."
    ),
    "ablation:run-failed": gettext_noop(
        "A run of the ablation did not finish. See its page for the reason, retry it, then start "
        "the ablation again."
    ),
    "selection:too-many-columns": gettext_noop(
        "With more than 20 preferences, not every subset can be tried."
    ),
    "judge:no-letters": gettext_noop(
        "The lexical judge returns no log-probabilities. Choose an endpoint, or another way to "
        "read verdicts."
    ),
    "run:no-letters": gettext_noop(
        "Grades are not read by letter probabilities. Choose a prompt that compares, or another "
        "way to read verdicts."
    ),
    "vote:by-log-odds": gettext_noop(
        "This judge is read by letter probabilities, so both presentation orders give one verdict. "
        "Other ways to count votes do not apply."
    ),
    "grade:missing": gettext_noop("A response of this comparison was not graded."),
    "selection:no-labels": gettext_noop(
        "No labelled dev comparison has a winner, so the base judge is used."
    ),
    "selection:no-verdict": gettext_noop(
        "The judge gave no verdict on the dev comparisons, so the base judge is used."
    ),
    "comparison:no-text": gettext_noop("A response's text is no longer available."),
    "preference:missing": gettext_noop(
        "The preference for this judgment was not distilled. Retry the failed calls."
    ),
    "preference:no-pairs": gettext_noop(
        "The texts needed to distil this preference are not available."
    ),
    "preference:empty": gettext_noop(
        "The reply contains no preference. Read it; if this happens often, try another model."
    ),
    "preference:echo": gettext_noop(
        "The reply repeats its task and describes no preference. Read it; if this happens often, "
        "try another model."
    ),
    "preference:loop": gettext_noop(
        "The reply repeats itself and describes no preference. Read it; if this happens often, try "
        "another model."
    ),
    "preference:blank": gettext_noop("Enter a sentence. To leave a preference out, disable it."),
    "preference:too-long": gettext_noop("The text is too long for a prompt. Shorten it."),
    "preference:unchanged": gettext_noop("There are no changes, so no new version was saved."),
    "preference:not-editable": gettext_noop(
        "Someone has saved a newer version, or these preferences cannot be edited. Open them again."
    ),
    "preference:too-many": gettext_noop(
        "This scenario has reached the limit of added preferences. Edit one of them instead."
    ),
    "preference:nothing-changed": gettext_noop(
        "No preferences have changed since they were last judged."
    ),
    "judge:changed": gettext_noop(
        "The judge's model, prompts or sampling have changed since these preferences were "
        "judged, so old and new verdicts cannot be combined. Learn the preferences again."
    ),
    "prompt:broken": gettext_noop(
        "A prompt file is missing, or its values do not match. Restore the file."
    ),
    "prompt:unknown": gettext_noop("This prompt cannot be edited."),
    "prompt:too-long": gettext_noop("The text is too long. The limit is 20,000 characters."),
    "prompt:places": gettext_noop(
        "Each of these must appear once, in this order, on a line of its own, between the tags "
        "of the released text."
    ),
    "prompt:tags": gettext_noop(
        "There is a tag that the released text does not have, or a tag is missing. Tags mark "
        "where values begin and end."
    ),
    "prompt:reasons": gettext_noop("Keep these words: a reply must name one of them."),
    "prompt:closing": gettext_noop(
        "The text must end with these lines, which set the form of the reply."
    ),
    "prompt:refused": gettext_noop("This text would break the judge. Fix the errors below."),
    "prompt:outdated": gettext_noop(
        "Someone published a newer version in the meantime. Review it before you publish yours."
    ),
    "battles:invalid": gettext_noop("A row of this file is not a battle between two models."),
    "injection:list-changed": gettext_noop(
        "The reply is not a rephrased list with as many items, so the list could not be "
        "repeated. Use another endpoint to rephrase it."
    ),
    "injection:no-lists": gettext_noop(
        "No response of this dataset contains a list of at least three items. Choose another "
        "dataset."
    ),
    "injection:no-pairs": gettext_noop(
        "This dataset has no pair of responses that a check can use."
    ),
    "learned:cannot-stack": gettext_noop(
        "The learned evaluator cannot be stacked on this judge, because the judge has seen the "
        "ratings to predict."
    ),
    "learned:tested-teachers": gettext_noop(
        "Some users rated in the training and in the test dataset. The learned evaluator can only "
        "be stacked on a judge for users who did not teach it."
    ),
    "learned:unreadable": gettext_noop("The stored evaluator cannot be read. Train it again."),
    "matrix:invalid": gettext_noop("This file is not a matrix of verdicts."),
    "injection:unknown": gettext_noop("The check was not found."),
    "prompt:unchanged": gettext_noop("This text is already in use, so nothing was published."),
}

_STATUSES: Final = dict.fromkeys(["run:unknown", "injection:unknown"], HTTPStatus.NOT_FOUND)

register(ERROR_TEXTS, statuses=_STATUSES)


_CAUSE: Final = re.compile(r"(?:^|: )(llm:[a-z-]+)")


def cause_in(detail: str) -> str:
    """The code of the failure that a stopped run's detail quotes; "" where it quotes none."""
    found = _CAUSE.search(detail)
    return found[1] if found else ""
