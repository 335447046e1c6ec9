"""Raw dialogues of which every stage of a construction drops some, and two models."""

from __future__ import annotations

from tests.factory import (
    make_dataset,
    make_endpoint,
    make_response,
    make_scenario,
    make_session,
    make_turn,
)
from tests.fake_llm import FakeLlm

RIVER = "Write a short story about a river that forgets its way to the sea and asks the rain."
REQUESTS = {
    "copied": RIVER,
    "copy": RIVER.upper(),
    "short": "Why?",
    "mail": "Write to john.smith@corp.com that the invoice of last month is still unpaid.",
    "simple": "Say hello to my mother in a simple sentence, please, and nothing else at all.",
    "train": "A train leaves at 9 and drives 120 km at 60 km/h. When does it arrive at its end?",
    "weak": "Write a poem on how the weak model happens to win against the strong one today.",
    "alike": "Write anything at all, as long as both of the models write exactly the same text.",
    "silent": "Write something that the weak model refuses to answer for whatever reason it has.",
}
"""By the key of a dialogue its last request."""


def answer(model: str, prompt: str) -> str:
    """What the two models say: the strong one more, but where the request names the weak one."""
    said = prompt.rpartition("[User]")[2] or prompt
    if "exactly the same" in said:
        return "The same."
    wins = "weak" if "weak model happens" in said else "strong"
    if "refuses" in said and model == "weak-1":
        return ""
    return "A long answer with many words. " * 9 if model.startswith(wins) else "Short."


def make_raw(requests=REQUESTS, *, slug="raw"):
    """A dataset; the train's dialogue has an earlier turn with a reply."""
    scenario = make_scenario(make_dataset(slug=slug, name="Raw", licence="MIT"), name="chat")
    for place, (key, request) in enumerate(requests.items()):
        session = make_session(scenario, key=key, position=place, system_prompt="")
        if key == "train":
            first = make_turn(session, user_message="Hello, I have a question.", position=0)
            make_response(first, text="Go ahead.", model="old", original=True)
        last = make_turn(session, user_message=request, position=1)
        make_response(last, text="What was said then.", model="old", original=True)
    return scenario.dataset


class TwoModels(FakeLlm):
    """A judge that prefers the longer answer, and a strong and a weak model."""

    def __init__(self, **options):
        super().__init__(**options)
        self.reply = answer


def make_models(server):
    """Endpoints `judge`, `strong` and `weak`."""
    for name in ("judge", "strong", "weak"):
        make_endpoint(
            name=name, base_url=server.base_url, model=f"{name}-1", concurrency=4, timeout_seconds=9
        )
