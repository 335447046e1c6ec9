"""One sentence for every error code: what happened and what to do.

Codes are raised where things go wrong; their texts stand here once and are translated at the edge.
`gettext_noop` only marks them for the translators: the core knows no Django.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from annotation.core.refusals import gettext_noop, register

ERROR_TEXTS: Final[dict[str, str]] = {
    "llm:unavailable": gettext_noop(
        "The endpoint could not be reached or failed; check that it runs, then retry what failed."
    ),
    "llm:timeout": gettext_noop(
        "The endpoint did not answer in time; raise its time-out or lower its calls at a time, "
        "then retry what failed."
    ),
    "llm:rate-limited": gettext_noop(
        "The endpoint asks for fewer calls; set its requests or tokens a minute, "
        "then retry what failed."
    ),
    "llm:malformed": gettext_noop(
        "The endpoint's answer is not a chat completion; check that the base URL ends where "
        "/chat/completions begins."
    ),
    "llm:refused-key": gettext_noop(
        "The endpoint refused the key; check the environment variable that the endpoint names."
    ),
    "llm:forbidden": gettext_noop(
        "The endpoint forbids this call to this key; ask whoever runs it."
    ),
    "llm:unknown-model": gettext_noop(
        "The endpoint knows no such model or address; check its base URL and model name."
    ),
    "llm:quota": gettext_noop("The account behind the key has no money left; top it up."),
    "llm:bad-request": gettext_noop(
        "The endpoint refused the request, often because the prompt is too long; check its "
        "context window and what it said."
    ),
    "llm:bad-endpoint": gettext_noop(
        "The endpoint's base URL cannot be used; give an http or https address without a password."
    ),
    "llm:key-variable": gettext_noop(
        "The endpoint names an environment variable that may not be sent; choose one that begins "
        "with LLM_, or list it in LLM_KEY_VARIABLES."
    ),
    "llm:no-logprobs": gettext_noop(
        "The endpoint returns no log-probabilities; choose another way to read verdicts."
    ),
    "llm:no-answer": gettext_noop(
        "The model's reply is empty; where it reasons, raise the most tokens a reply."
    ),
    "budget:spent": gettext_noop(
        "The run's budget has no room for another call; raise it, then retry what failed."
    ),
    "batch:faults": gettext_noop(
        "The file of replies has faults, and nothing of it was read; mend or leave out the lines."
    ),
    "batch:no-chat": gettext_noop(
        "Batch files hold chats alone; this judge asks no endpoint, or one that scores responses."
    ),
    "llm:not-stored": gettext_noop(
        "The reply is not stored; write the run's batch file and read its replies in."
    ),
    "budget:no-prices": gettext_noop(
        "The judge's calls have no price, so a budget cannot be kept; give its endpoint prices."
    ),
    "budget:negative": gettext_noop("A budget is an amount of money, 0 or more."),
    "verdict:unparseable": gettext_noop(
        "The reply states no verdict; read it, and try another model if it happens often."
    ),
    "recorded:call-failed": gettext_noop(
        "The source recorded a call that failed, not a reply; there is nothing to try again here."
    ),
    "score:unparseable": gettext_noop(
        "The reply holds no usable score; read it, and try another model if it happens often."
    ),
    "memory:unparseable": gettext_noop(
        "The reply is not a user memory; read it, and try another model or write the memory."
    ),
    "memory:no-history": gettext_noop(
        "This user rated nothing in other scenarios, so there is nothing to build a memory from."
    ),
    "memory:missing": gettext_noop(
        "The memory that this turn is scored with was not built; retry what failed."
    ),
    "memory:up-to-date": gettext_noop(
        "Nothing was rated since that a new version would be written from."
    ),
    "memory:not-editable": gettext_noop(
        "Somebody saved a newer version of this memory, or it was never built; look at it again."
    ),
    "run:failed": gettext_noop("The judge's run did not finish; its page says why."),
    "run:no-ratings": gettext_noop(
        "Nobody rated a response of this dataset whose text is available."
    ),
    "learned:too-few-ratings": gettext_noop(
        "There is too little to learn from: it takes ratings of four users, good and bad ones."
    ),
    "rubrics:unparseable": gettext_noop(
        "The reply is no list of sentences; read it, and try another model if it happens often."
    ),
    "rubrics:nothing-found": gettext_noop(
        "No reason could be drawn from the ratings that this should come from; see their errors."
    ),
    "rubrics:missing": gettext_noop(
        "The rubrics that this turn is judged by were not induced; retry what failed."
    ),
    "run:variant-level": gettext_noop(
        "This way of asking has no prompt for what is to be scored; choose another one."
    ),
    "run:no-training-users": gettext_noop(
        "Nobody else rated here, so there is nobody to take examples or rubrics from; name a "
        "dataset of training users, or choose another way of asking."
    ),
    "run:unknown-training": gettext_noop("There is no such dataset of training users."),
    "score:no-turn": gettext_noop(
        "The rating of this turn was taken back after the run was started."
    ),
    "run:superseded": gettext_noop(
        "This run was dispatched anew or cancelled meanwhile; what it had committed stays."
    ),
    "run:unknown": gettext_noop("There is no such run; choose one from the list."),
    "run:crashed": gettext_noop(
        "Something that nobody foresaw stopped the run; report what it says, then retry it."
    ),
    "run:endpoint-down": gettext_noop(
        "The endpoint failed call after call, so nobody asks it any more; put right what it says, "
        "then retry: whatever has no answer yet is asked."
    ),
    "run:no-labels": gettext_noop(
        "The annotator labelled no comparison here that has both texts and a winner."
    ),
    "run:not-distilled": gettext_noop(
        "There is no finished distillation to take preferences from; distil first."
    ),
    "run:not-finished": gettext_noop("The run is under way; wait for it, or cancel it."),
    "run:equal-under-way": gettext_noop(
        "An identical run is in progress. Wait for it, or stop it before you resume this one."
    ),
    "run:recorded": gettext_noop(
        "The verdicts of this run were recorded elsewhere; there is nothing to ask again."
    ),
    "judge:unknown": gettext_noop(
        "There is no judge of that name in use; name an endpoint that is, or lexical."
    ),
    "judge:no-prompts": gettext_noop(
        "The lexical judge compares in its own way; choose an endpoint to ask by another prompt."
    ),
    "judge:only-scores": gettext_noop(
        "This endpoint is a reward model: measure with it by scores, or choose another judge."
    ),
    "judge:no-scores": gettext_noop(
        "This endpoint is no reward model; choose one that scores responses, or another prompt."
    ),
    "run:no-references": gettext_noop(
        "No comparison to judge here has a reference answer; choose a prompt without one."
    ),
    "run:no-control": gettext_noop("There is no such control of this run; choose one below."),
    "run:prompt-without-sets": gettext_noop(
        "Only the prompt of the paper takes preferences; this one judges without any."
    ),
    "ablation:run-failed": gettext_noop(
        "A run of the ablation did not finish; its page says why. Retry it, then ask again."
    ),
    "selection:too-many-columns": gettext_noop(
        "There are more than 20 preferences to choose from, so not every subset is tried."
    ),
    "grade:missing": gettext_noop("A response of this comparison was not graded."),
    "selection:no-labels": gettext_noop(
        "No dev comparison has a label with a winner, so the base judge stands in."
    ),
    "selection:no-verdict": gettext_noop(
        "The judge gave no verdict on the dev comparisons, so the base judge stands in."
    ),
    "comparison:no-text": gettext_noop("A response's text is no longer available."),
    "preference:missing": gettext_noop(
        "The preference of this judgment was not distilled; retry what failed."
    ),
    "preference:no-pairs": gettext_noop(
        "The texts that this preference should be distilled from are not available."
    ),
    "preference:empty": gettext_noop(
        "The reply holds no preference; read it, and try another model if it happens often."
    ),
    "preference:blank": gettext_noop("Write a sentence; to leave a preference out, switch it off."),
    "preference:too-long": gettext_noop(
        "The text is too long for a prompt; say it in fewer words."
    ),
    "preference:unchanged": gettext_noop("Nothing was changed, so there is no new version."),
    "preference:not-editable": gettext_noop(
        "Somebody saved a newer version, or these preferences are nobody's to edit; look at it "
        "again."
    ),
    "preference:too-many": gettext_noop(
        "There are as many added texts in this scenario as may be; edit one of them."
    ),
    "preference:nothing-changed": gettext_noop(
        "Every preference is as it was judged last; there is nothing to judge again."
    ),
    "judge:changed": gettext_noop(
        "The judge's model, prompts or sampling changed since these preferences were judged, so "
        "old and new verdicts cannot stand side by side; learn the preferences anew."
    ),
    "prompt:broken": gettext_noop(
        "A prompt is missing or asks for other values than it is given; restore its file."
    ),
    "prompt:unknown": gettext_noop("There is no such prompt to edit."),
    "prompt:too-long": gettext_noop("The text is too long; 20,000 characters are allowed."),
    "prompt:places": gettext_noop(
        "These must stand once each, in this order, alone on a line between the tags of the "
        "released text."
    ),
    "prompt:tags": gettext_noop(
        "A tag is there that the released text does not have, or one is missing; the tags mark "
        "where values begin and end."
    ),
    "prompt:reasons": gettext_noop("These words must stay, for a reply names one of them."),
    "prompt:closing": gettext_noop(
        "The text must end with these lines, which say in which form to answer."
    ),
    "prompt:refused": gettext_noop("This text would break the judge; mend what is told below."),
    "prompt:outdated": gettext_noop(
        "Somebody published a newer version meanwhile. Look at it before you publish yours."
    ),
    "battles:invalid": gettext_noop("A row of this file is no battle of two models."),
    "injection:no-pairs": gettext_noop(
        "This dataset has no pair of responses that a check can use."
    ),
    "learned:cannot-stack": gettext_noop(
        "The learned evaluator cannot be stacked on this judge without seeing what it predicts."
    ),
    "learned:unreadable": gettext_noop("The stored evaluator cannot be read; train it again."),
    "matrix:invalid": gettext_noop("This file is not a matrix of verdicts."),
    "injection:unknown": gettext_noop("There is no such check."),
    "prompt:unchanged": gettext_noop("This is what is asked already, so nothing was published."),
}

_STATUSES: Final = dict.fromkeys(["run:unknown", "injection:unknown"], HTTPStatus.NOT_FOUND)

register(ERROR_TEXTS, statuses=_STATUSES)
