"""What errors mean, in the words of the providers, gateways and servers that say them."""

from __future__ import annotations

import pytest

from judging.core.causes import cause_of
from judging.core.problems import Problem, read_problem

FILTER, KEY, QUOTA = "llm:content-filter", "llm:refused-key", "llm:quota"
CONTEXT, MODEL, RATE = "llm:over-context", "llm:unknown-model", "llm:rate-limited"


def error(message, **more):
    return {"error": {"message": message, **more}}


@pytest.mark.parametrize(
    ("status", "body", "cause"),
    [
        # Azure, OpenRouter, DashScope, DeepSeek, Moonshot, Z.ai, Anthropic, OpenAI
        (400, error("The response was filtered", code="content_filter", param="prompt"), FILTER),
        (403, error("Your input was flagged", metadata={"reasons": ["violence"]}), FILTER),
        (400, error("Input data may contain inappropriate content."), FILTER),
        (400, error("Content Exists Risk"), FILTER),
        (400, error("The request was rejected because it was considered high risk"), FILTER),
        (400, error("系统检测到输入或生成内容可能包含不安全或敏感内容", code="1301"), FILTER),
        (400, error("Output blocked by content filtering policy", type="content filter"), FILTER),
        (400, error("Your request was rejected by our safety system"), FILTER),
        (400, error("litellm.ContentPolicyViolationError: no"), FILTER),
        # Gemini, Anthropic, one-api, LiteLLM, Moonshot, Z.ai
        (400, [error("API key not valid. Please pass a valid API key.")], KEY),
        (400, error("x", details=[{"reason": "API_KEY_INVALID"}]), KEY),
        (401, {"detail": "Unauthorized"}, ""),
        (403, {"message": "Unauthorized"}, KEY),
        (400, error("API key expired. Please renew the API key."), KEY),
        (400, error("Authentication Error, Invalid proxy server token passed"), KEY),
        (400, error("Invalid Authentication", type="invalid_authentication_error"), KEY),
        (400, error("令牌已过期或验证不正确"), KEY),
        (400, error("Authorization header is correct, but the token seems invalid"), KEY),
        (403, {"message": "The security token included in the request is invalid."}, KEY),
        # Z.ai, Moonshot, DashScope, Anthropic, OpenRouter, Fireworks, Together, one-api, LiteLLM
        (429, error("Insufficient balance or no resource package.", code="1113"), QUOTA),
        (429, error("余额", code="1113"), QUOTA),
        (429, error("no", type="exceeded_current_quota_error"), QUOTA),
        (400, error("make sure your account is in good standing", code="Arrearage"), QUOTA),
        (400, error("Your credit balance is too low to access the Anthropic API."), QUOTA),
        (402, error("This request requires more credits, or fewer max_tokens."), ""),
        (412, error("Account me is suspended, possibly due to the monthly spending limit"), QUOTA),
        (403, error("用户额度不足", code="insufficient_user_quota"), QUOTA),
        (401, error("该令牌额度已用尽"), QUOTA),
        (400, error("Budget has been exceeded! Current cost: 2", type="budget_exceeded"), QUOTA),
        (429, error("You exceeded your current quota", code="insufficient_quota"), QUOTA),
        (403, error("The free tier of the model has been exhausted."), QUOTA),
        (429, {"errors": [{"message": "used up your daily free allocation"}]}, QUOTA),
        # What says itself when it passes is haste, whatever it calls it: Gemini.
        (429, error("You exceeded your current quota. Please retry in 38s."), ""),
        (429, error("check your plan and billing details", status="RESOURCE_EXHAUSTED"), ""),
        (429, error("Credits are depleted", status="RESOURCE_EXHAUSTED"), QUOTA),
        (429, error("Rate limit reached for m on tokens per min. Add a payment method"), ""),
        (429, error("Request too large for m on tokens per min: Limit 6000"), CONTEXT),
        (422, {"error": "`inputs` must have less than 4095 tokens. Given: 5000"}, CONTEXT),
        # OpenAI, vLLM, llama.cpp, Anthropic, Gemini, Mistral, Moonshot, Fireworks, Z.ai, TGI
        (400, error("no", code="context_length_exceeded"), CONTEXT),
        (400, error("This model's maximum context length is 2048 tokens."), CONTEXT),
        (400, error("the request exceeds the available context size"), CONTEXT),
        (400, error("prompt is too long: 200251 tokens > 199999 maximum"), CONTEXT),
        (400, error("The input token count (9) exceeds the maximum number of tokens"), CONTEXT),
        (400, error("Prompt contains 40000 tokens, too large for model with 32768"), CONTEXT),
        (400, error("Your request exceeded model token limit: 8192"), CONTEXT),
        (400, error("Range of input length should be [1, 30720]"), CONTEXT),
        (400, error("no", code="1261"), CONTEXT),
        (400, error("`inputs` tokens + `max_new_tokens` must be <= 4097"), CONTEXT),
        (413, error("Payload"), ""),
        (400, error("inputs must have less than 4096 tokens. Given: 5000"), CONTEXT),
        (400, error("the prompt tokens exceed the maximum allowed"), CONTEXT),
        (403, error("Your API key has been disabled"), KEY),
        (400, error("Content violates usage guidelines"), FILTER),
        (500, error("input is too long"), CONTEXT),
        (400, error("Could not finish: max_tokens or model output limit was reached"), "llm:cut"),
        # OpenRouter, DeepSeek, Mistral, FastAPI, Gemini, one-api, Azure
        (400, error("gpt-9 is not a valid model ID"), MODEL),
        (400, error("No models loaded. Please load a model."), MODEL),
        (400, error("The model `m` has been decommissioned"), MODEL),
        (400, error('model "m" not found, try pulling it first'), MODEL),
        (400, error("Model Not Exist"), MODEL),
        (400, error("Invalid model: gpt-9"), MODEL),
        (422, {"detail": "The model gpt-9 does not exist for this key."}, MODEL),
        (400, error("models/gpt-9 is not found for API version v1"), MODEL),
        (503, error("no", code="model_not_found"), MODEL),
        (403, error("Rate limit exceeded"), RATE),
        # Nothing but the status tells, or a field of the request is named.
        (400, error("Unsupported parameter: 'max_tokens' is not supported with this model."), ""),
        (400, error("Input should be less than or equal to 5: body.top_logprobs"), ""),
        (400, error("This model only support stream mode"), ""),
        (400, error("This response_format type is unavailable now"), ""),
        (500, error("System role not supported at row 1, column 44"), ""),
        (400, error("max_tokens is too large: 8192. This model supports at most 4096"), ""),
        (404, error("Not here"), ""),
        (529, error("Overloaded, insufficient balance"), ""),
        (0, error("model is loading, please retry"), ""),
        (0, error("account in arrears"), QUOTA),
    ],
)
def test_words_tell_the_cause(status, body, cause):
    problem = read_problem(body)
    assert problem is not None
    assert cause_of(problem, status) == cause


def test_a_certain_cause_is_one_whatever_the_words_are():
    assert cause_of(Problem("API key not valid", cause="llm:refusal"), 400) == "llm:refusal"
