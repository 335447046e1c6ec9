from __future__ import annotations

import asyncio

from judging.core.chat import ChatRequest, Reply
from judging.llm.stores import MemoryReplyStore

REQUEST = ChatRequest("http://127.0.0.1/v1", "m", ())


def test_a_reply_is_found_again_and_the_first_one_stands():
    async def run():
        store = MemoryReplyStore()
        await store.put(REQUEST, Reply("one", "first"))
        await store.put(REQUEST, Reply("one", "second"))
        return await store.get_many(["one", "two"])

    assert asyncio.run(run()) == {"one": Reply("one", "first")}
