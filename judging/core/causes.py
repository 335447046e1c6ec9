"""What the words of an endpoint mean: the error code that a problem stands for.

The wordings are those of the documentation of providers and gateways, and of public reports.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from judging.core.problems import Problem, wait_in

CONTENT_FILTER: Final = "llm:content-filter"
REFUSAL: Final = "llm:refusal"
TOOL_CALL: Final = "llm:tool-call"
OVER_CONTEXT: Final = "llm:over-context"
QUOTA: Final = "llm:quota"
REFUSED_KEY: Final = "llm:refused-key"
UNKNOWN_MODEL: Final = "llm:unknown-model"
RATE_LIMITED: Final = "llm:rate-limited"
CUT: Final = "llm:cut"

_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    CONTENT_FILTER: (
        "content_filter",
        "content filter",
        "contentfilter",
        "content management policy",
        "content policy",
        "content_policy",
        "contentpolicy",
        "content moderation",
        "moderation",
        "was flagged",
        "been flagged",
        "flagged for",
        "inappropriate content",
        "data_inspection",
        "datainspection",
        "data inspection",
        "safety system",
        "safety filter",
        "safety polic",
        "usage polic",
        "usage guidelines",
        "harmful",
        "responsibleaipolicy",
        "considered high risk",
        "content exists risk",
        "prohibited content",
        "prohibited_content",
        "sensitive content",
        "sensitive information",
        "sensitive words",
        "unsafe",
        "new_sensitive",
        "input_sensitive",
        "output_sensitive",
        "敏感",
        "不安全",
        "违规",
        "内容安全",
    ),
    QUOTA: (
        "insufficient_quota",
        "insufficient_user_quota",
        "insufficient quota",
        "insufficient balance",
        "insufficient_balance",
        "insufficient credit",
        "insufficient_credit",
        "insufficient funds",
        "balance is insufficient",
        "balance insufficient",
        "balance is too low",
        "balance too low",
        "credit limit exceeded",
        "more credits",
        "out of credits",
        "no credits",
        "credits are depleted",
        "credits have been",
        "included credits",
        "exceeded_current_quota",
        "plan and billing details",
        "account is suspended",
        "account suspended",
        "is suspended",
        "arrearage",
        "arrears",
        "overdue",
        "good standing",
        "billing_not_active",
        "billing hard limit",
        "billing_hard_limit",
        "account is not active",
        "budget has been exceeded",
        "budget_exceeded",
        "exceeded budget",
        "spending limit",
        "inactive subscription",
        "daily free allocation",
        "free tier of the model has been exhausted",
        "freetieronly",
        "setlimitexceeded",
        "please recharge",
        "payment required",
        "余额不足",
        "额度不足",
        "额度已用尽",
        "欠费",
        "充值",
    ),
    REFUSED_KEY: (
        "api key not valid",
        "api_key_invalid",
        "invalid_api_key",
        "invalid api key",
        "invalidapikey",
        "invalid x-api-key",
        "invalid api-key",
        "incorrect api key",
        "wrong api key",
        "api key has been disabled",
        "api key is disabled",
        "authorization failed",
        "access token is",
        "api key is malformed",
        "malformed api key",
        "token seems invalid",
        "security token included in the request",
        "api key is invalid",
        "api key provided is invalid",
        "api key expired",
        "api key has expired",
        "api key is expired",
        "expired_api_key",
        "api key not found",
        "api key is missing",
        "api key is required",
        "missing api key",
        "no api key",
        "provide an api key",
        "provide your api key",
        "key was reported as leaked",
        "no auth credentials",
        "authentication_error",
        "authentication error",
        "authenticationerror",
        "authentication fails",
        "authentication failed",
        "invalid authentication",
        "invalid_authentication",
        "unauthenticated",
        "unauthorized",
        "subscription key",
        "token expired",
        "token has expired",
        "token is expired",
        "proxy server token",
        "无效的令牌",
        "令牌已过期",
        "身份验证",
        "鉴权",
    ),
    OVER_CONTEXT: (
        "context_length",
        "context length",
        "context window",
        "contextwindow",
        "context size",
        "exceed_context",
        "maximum model length",
        "max_model_len",
        "model token limit",
        "prompt is too long",
        "prompt too long",
        "prompt exceeds",
        "input is too long",
        "input too long",
        "range of input length",
        "input token count",
        "input length",
        "inputs` tokens + `max_new_tokens",
        "inputs tokens + max_new_tokens",
        "`inputs` must have less than",
        "reduce the length of",
        "string_above_max_length",
        "request too large",
        "request_too_large",
        "too large for model",
        "too many tokens",
        "must have less than",
        "prompt tokens exceed",
        "max message tokens",
        "messages too long",
        "超长",
        "超过最大长度",
    ),
    CUT: (
        "max_tokens or model output limit was reached",
        "before finishing the message",
    ),
    UNKNOWN_MODEL: (
        "model_not_found",
        "model_not_available",
        "model not found",
        "model not exist",
        "model does not exist",
        "model_not_exist",
        "no such model",
        "unknown model",
        "unknown_model",
        "invalid model:",
        "invalid model name",
        "invalid_model",
        "not a valid model",
        "not found the model",
        "non-serverless model",
        "no models loaded",
        "model identifier is invalid",
        "model_decommissioned",
        "been decommissioned",
        "llm provider not provided",
        "could not find real modelid",
        "deploymentnotfound",
        "deployment for this resource does not exist",
        "模型不存在",
        "无可用渠道",
    ),
    RATE_LIMITED: (
        "rate limit",
        "rate_limit",
        "ratelimit",
        "throttling",
        "too many requests",
        "resource_exhausted",
    ),
}
"""What causes are told by, in small letters, most certain causes first."""
_CODES: Final[Mapping[str, str]] = {
    "1000": REFUSED_KEY,
    "1001": REFUSED_KEY,
    "1002": REFUSED_KEY,
    "1003": REFUSED_KEY,
    "1004": REFUSED_KEY,
    "1113": QUOTA,
    "1211": UNKNOWN_MODEL,
    "1261": OVER_CONTEXT,
    "1301": CONTENT_FILTER,
}
"""Codes of Z.ai (open.bigmodel.cn), which says some of them in Chinese alone."""
_TOO_MANY: Final = 429
_OF_HASTE: Final = (QUOTA, OVER_CONTEXT)
_CERTAIN: Final[Mapping[int, tuple[str, ...]]] = {
    401: (QUOTA,),
    402: (),
    408: (),
    413: (OVER_CONTEXT,),
    425: (),
    429: _OF_HASTE,
    504: (),
    524: (),
    529: (),
}
"""Causes that words may tell beside a status that says enough itself."""
_MODEL_GONE: Final = (
    ("model", "not exist"),
    ("models/", "is not found"),
    ("model '", "' not found"),
    ('model "', '" not found'),
    ("model `", "` not found"),
)


def cause_of(problem: Problem, status: int) -> str:
    """The code of what an error means, as far as its words tell; "" if they do not.

    Args:
        problem: what was said.
        status: of the answer; 0 if it failed within a success.
    """
    if problem.cause:
        return problem.cause
    words = problem.words
    possible = _CERTAIN.get(status, tuple(_WORDS))
    if status in (_TOO_MANY, 0) and _passes(problem, words):
        possible = (OVER_CONTEXT,)
    for kind in problem.kinds:
        if _CODES.get(kind) in possible:
            return _CODES[kind]
    for cause in possible:
        if any(phrase in words for phrase in _WORDS[cause]):
            return cause
    if UNKNOWN_MODEL in possible and any(
        first in words and second in words[words.index(first) :] for first, second in _MODEL_GONE
    ):
        return UNKNOWN_MODEL
    return ""


def _passes(problem: Problem, words: str) -> bool:
    """Whether it says itself that it passes: Gemini calls every pace a quota."""
    if "depleted" in words:
        return False
    return problem.wait is not None or "resource_exhausted" in words or wait_in(words) is not None
