"""What a judge must know of the endpoint it asks; the rows are `ModelEndpoint`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final, cast
from urllib.parse import SplitResult, urlsplit

from annotation.core.conversations import Message
from annotation.core.refusals import Refused
from judging.core.chat import ChatRequest, JsonSchema, Sampling, checked_extra
from judging.core.manners import PLAIN, Manners, without_system
from judging.core.money import Prices, estimate_tokens
from judging.core.rules import LEARNED
from judging.core.satisfaction_baselines import NEAREST_NAMES, Baseline

KEY_PREFIX: Final = "LLM_"
FROM_SETTINGS: Final = "llm"
"""The name of the endpoint that settings describe."""

SITE_SECRETS: Final = frozenset({"SECRET_KEY", "DATABASE_URL", "CELERY_BROKER_URL"})
"""What opens the site itself: no list makes a key of it."""


def may_hold_key(variable: str, *, listed: Collection[str]) -> bool:
    """Whether an endpoint's key may be read from a variable; "" stands for no key at all."""
    if variable in SITE_SECRETS:
        return False
    return not variable or variable.startswith(KEY_PREFIX) or variable in listed


_HEADER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
_MOST_HEADERS: Final = 20
OWN_HEADERS: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "connection",
        "cookie",
        "expect",
        "forwarded",
        "host",
        "keep-alive",
        "origin",
        "referer",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "user-agent",
        "via",
    }
)
"""Headers of the connection itself, and of who calls."""
_OWN_STARTS: Final = ("content-", "proxy-", "sec-", "x-forwarded-")


def checked_headers(value: object) -> Mapping[str, str]:
    """Further headers of a request with the names of their variables, if they are usable.

    Raises:
        Refused: they are not.
    """
    pairs = value.items() if isinstance(value, Mapping) else None
    if pairs is None or len(pairs) > _MOST_HEADERS:
        raise Refused("llm:bad-headers", "extra headers must be an object of at most 20 names")
    for name, variable in pairs:
        lower = str(name).lower()
        is_own = lower in OWN_HEADERS or lower.startswith(_OWN_STARTS)
        if is_own or not _HEADER.fullmatch(str(name)):
            raise Refused("llm:bad-headers", f"the header {name!r} cannot be set")
        if not isinstance(variable, str) or not _NAMED.fullmatch(variable):
            message = f"the header {name!r} needs the name of an environment variable"
            raise Refused("llm:bad-headers", message)
    if len({str(name).lower() for name, _variable in pairs}) < len(pairs):
        raise Refused("llm:bad-headers", "a header stands there twice")
    return cast("Mapping[str, str]", value)


_NAMED: Final = re.compile(r"[A-Z][A-Z0-9_]*")
_KEY: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:AIza|AKIA|Bearer )[\w-]{8}"
    # Models and hosts begin so, too (xai-grok-4-fast), but have no word as long.
    r"|(?:sk|pk|rk|gsk|hf|xai|r8|nvapi|pplx|glpat|fw)[-_](?=[\w-]{0,200}\d)"
    r"(?:[\w-]{40}|[\w-]{0,40}[A-Za-z0-9]{16}))"
)
_RANDOM_WORD: Final = re.compile(  # a folder may be named by a hash, as in models/snapshots/HASH
    r"(?<![A-Za-z0-9/])(?=[0-9]*[A-Za-z])(?=(?:[A-Za-z]*[0-9]){2})[A-Za-z0-9]{24}"
)
_LONG_WORD: Final = 16
_FEWEST_DIGITS: Final = 2


def holds_key(text: str, *, named: bool = True) -> bool:
    """Whether a text has something in it that begins as the keys of providers do.

    Args:
        text: what was entered.
        named: False where nobody makes up a name, so that one long random word will do.
    """
    return bool(_KEY.search(text)) or (not named and bool(_RANDOM_WORD.search(text)))


def looks_like_key(variable: str) -> bool:
    """Whether what was entered as a variable's name is rather the key: as long, or as random."""
    words = re.split(r"[^A-Za-z0-9]+", variable)
    longest = max(words, key=len)
    is_random = len(longest) >= _LONG_WORD and sum(map(str.isdigit, longest)) >= _FEWEST_DIGITS
    is_long = len(variable) >= 2 * _LONG_WORD and not _NAMED.fullmatch(variable)
    return holds_key(variable) or is_random or is_long


PROVIDERS: Final = (
    "api.openai.com",
    "api.anthropic.com",
    "generativelanguage.googleapis.com",
    "api.mistral.ai",
    "api.deepseek.com",
    "api.together.xyz",
    "api.fireworks.ai",
    "api.groq.com",
    "api.x.ai",
    "openrouter.ai",
    "router.huggingface.co",
    "dashscope.aliyuncs.com",
    "api.moonshot.cn",
    "open.bigmodel.cn",
    "api.siliconflow.cn",
)
KNOWN_HOSTS: Final = ("localhost", "127.0.0.1", "::1", *PROVIDERS)
"""This machine and providers, who have a key of theirs already: nobody can fetch it from them."""
ANY_HOST: Final = "*"


def split_address(address: str) -> SplitResult | None:
    """The parts of an http(s) address; None if its host cannot be one, as in `[localhost]`."""
    try:
        parts = urlsplit(address)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname)
        _ = parts.port  # raises for one beyond 65535
        if "[" in parts.netloc:  # later versions of Python refuse a name in brackets by themselves
            IPv6Address(parts.hostname or "")
    except ValueError:
        return None
    return parts if is_address else None


def may_be_asked(base_url: str, *, hosts: Collection[str], used: Collection[str] = ()) -> bool:
    """Whether an endpoint may be at an address.

    Args:
        base_url: its address.
        hosts: names, each with a port where only that one may be asked; `*` stands for any.
        used: addresses of endpoints that are there: host and port will do again, but by http only
            where they are used so.
    """
    parts = split_address(base_url)
    if parts is None:
        return False
    if not {ANY_HOST, parts.hostname, parts.netloc.lower()}.isdisjoint(hosts):
        return True
    there = filter(None, map(split_address, used))
    return any(
        each.netloc.lower() == parts.netloc.lower() and parts.scheme in {"https", each.scheme}
        for each in there
    )


def lays_key_open(base_url: str) -> bool:
    """Whether a provider would be sent a key that anybody on the way can read."""
    parts = split_address(base_url)
    return parts is not None and parts.scheme == "http" and parts.hostname in PROVIDERS


RESERVED_NAMES: Final = frozenset(
    {"lexical", LEARNED, *(baseline.lower() for baseline in Baseline), *NEAREST_NAMES}
)
"""An endpoint of such a name could never be asked: these judges and baselines come first."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible endpoint.

    `key_variable` NAMES the environment variable that holds the key ("" where none is needed);
    the key itself is read when a client opens and kept nowhere else. It begins with `LLM_` or is
    among `listed_variables`, so that no other secret can be sent. `requests_per_minute` and
    `tokens_per_minute` pace the calls; None leaves them to the endpoint. Without a system role the
    system's text goes to the head of the first user message. One that `has_scores` is no chat:
    its base URL is the address that scores a response (core.score_api). `headers` are further
    ones, each with the NAME of the variable that holds its value. `manners` are what its refusals
    taught of how it wants to be asked.

    Raises:
        Refused: the base URL is not plain http(s), or carries a user or password; the further
            fields of its sampling or its headers cannot be sent; a variable may not be sent
            anywhere.
    """

    name: str
    base_url: str
    model: str
    key_variable: str = ""
    sampling: Sampling = field(default_factory=Sampling)
    context_tokens: int = 8192
    timeout_seconds: float = 120.0
    concurrency: int = 16
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    has_logprobs: bool = False
    has_json_schema: bool = False
    has_system_role: bool = True
    has_scores: bool = False
    prices: Prices = field(default_factory=Prices)
    manners: Manners = PLAIN
    headers: Mapping[str, str] = field(default_factory=dict)
    listed_variables: Collection[str] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        checked_extra(self.sampling.extra)
        parts = split_address(self.base_url)
        if parts is None:
            message = "the base URL must start with http:// or https:// and a host"
            raise Refused("llm:bad-endpoint", message)
        if parts.username is not None or parts.password is not None:
            raise Refused(
                "llm:bad-endpoint", "the base URL must not carry a user name or a password"
            )
        checked_headers(self.headers)
        for variable in (self.key_variable, *self.headers.values()):
            if not may_hold_key(variable, listed=self.listed_variables):
                raise Refused(
                    "llm:key-variable",
                    f"{variable} cannot hold a key: its name must begin with LLM_ or be "
                    "listed in LLM_KEY_VARIABLES",
                )

    @property
    def is_local(self) -> bool:
        """Whether calls stay on this machine, and so never go through a proxy."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return host == "localhost" or ip_address(host).is_loopback
        except ValueError:  # a name, as 127.evil.example is
            return False

    def request(
        self,
        messages: tuple[Message, ...],
        *,
        max_tokens: int | None = None,
        schema: JsonSchema | None = None,
        top_logprobs: int = 0,
        sample: int = 0,
        attempt: int = 0,
        times_longer: int = 1,
    ) -> ChatRequest:
        """A request in this endpoint's manner; what it cannot do is left out.

        The reply may be so many times longer than the longest otherwise.
        """
        limit = self.sampling.max_tokens * times_longer
        return ChatRequest(
            base_url=self.base_url,
            model=self.model,
            messages=messages if self.has_system_role else without_system(messages),
            sampling=replace(
                self.sampling, max_tokens=limit if max_tokens is None else min(limit, max_tokens)
            ),
            schema=schema if self.has_json_schema else None,
            top_logprobs=top_logprobs if self.has_logprobs else 0,
            sample=sample,
            attempt=attempt,
        )

    def has_room(self, messages: tuple[Message, ...], times_longer: int) -> bool:
        """Whether the context has room for a reply so many times longer than the longest."""
        asked = sum(estimate_tokens(message.text) for message in messages)
        return asked + self.sampling.max_tokens * times_longer <= self.context_tokens


_LISTED: Final = ("max_model_len", "context_length", "context_window")
_OF_LLAMA: Final = ("n_ctx", "n_ctx_train")
_NO_CONTEXT: Final = 2**31
_SAID: Final = re.compile(
    r"(?:maximum context length(?: is|:)|available context size \(|n_ctx:?|model token limit:"
    r"|too large for model with|maximum number of tokens allowed \() ?(\d[\d,]*)",
    re.IGNORECASE,
)


def listed_context(listing: object, *, model: str) -> int | None:
    """The context in tokens that a list of models states of one; None where it states none.

    vLLM says `max_model_len`, gateways `context_length` or `context_window`; llama.cpp has `meta`
    with the context it serves (`n_ctx`) or, before it told that, the one of the training.

    Args:
        listing: the JSON of GET /models.
        model: by its id; a server that lists only one model, by a path, serves it by any name.
    """
    rows = listing.get("data") if isinstance(listing, Mapping) else None
    rows = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    named = [row for row in rows if row.get("id") == model] or (rows if len(rows) == 1 else [])
    for row in named[:1]:
        meta = row.get("meta")
        told = [row.get(name) for name in _LISTED]
        told += [meta.get(name) for name in _OF_LLAMA] if isinstance(meta, Mapping) else []
        return next((one for one in told if type(one) is int and _is_context(one)), None)
    return None


def _is_context(tokens: int) -> bool:
    """Whether so many tokens can be meant: 10**30 is what Hugging Face writes for "unknown"."""
    return 0 < tokens < _NO_CONTEXT


def context_in_error(detail: str) -> int | None:
    """The context in tokens that a refusal of a longer request names; None where it names none."""
    found = _SAID.search(detail)
    tokens = int(found[1].replace(",", "")) if found else 0
    return tokens if _is_context(tokens) else None


_WORD: Final = re.compile(r"[a-z]+")
_FAMILY_OF: Final = {
    name: family
    for names, family in (
        (("gpt", "chatgpt", "davinci", "openai"), "gpt"),
        (("claude", "anthropic"), "claude"),
        (("gemini", "palm", "bard", "gemma"), "gemini"),
        (("llama",), "llama"),
        (("qwen", "qwq"), "qwen"),
        (("deepseek",), "deepseek"),
        (("mistral", "mixtral", "ministral"), "mistral"),
        (("glm", "chatglm"), "glm"),
        (("moonshot", "kimi"), "moonshot"),
        (("grok",), "grok"),
        (("minimax", "abab"), "minimax"),
        (("falcon",), "falcon"),
        (("yi",), "yi"),
        (("phi",), "phi"),
        (("baichuan",), "baichuan"),
        (("internlm",), "internlm"),
        (("command",), "command"),
        (("vicuna",), "vicuna"),
        (("alpaca",), "alpaca"),
    )
    for name in names
}


@lru_cache(maxsize=1024)  # asked of both models of every comparison
def family_of(name: str) -> str:
    """Returns the family that the name of a model or judge states; "" for no name.

    Of several known words the last counts: alpaca_eval_gpt4 is a gpt. Without any, the provider in
    `provider/model`; else the model is a family of its own. Words that are not known say nothing:
    small-warm and small-cold need not be related.
    """
    lower = name.lower().strip()
    words = _WORD.findall(lower.rpartition("/")[2])
    known = [_FAMILY_OF[word] for word in words if word in _FAMILY_OF]
    if known:
        return known[-1]
    return lower.partition("/")[0] if lower.count("/") == 1 else lower
