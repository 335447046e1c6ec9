"""The least that could be done: the same bodies over kept-alive connections, nothing stored.

python -m sensejudge_site.benches.judge.bare PORT CALLS CONCURRENCY prints its figures as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from typing import Final

_TEXT: Final = "The answer explains what was asked, with a reason, an example and a warning. " * 25


async def _connection(port: int, bodies: Iterator[bytes]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for body in bodies:
        writer.write(
            b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: "
            b"application/json\r\nContent-Length: " + str(len(body)).encode() + b"\r\n\r\n" + body
        )
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        json.loads(await reader.readexactly(length))
    writer.close()


async def _all(port: int, calls: int, concurrency: int) -> None:
    bodies = (
        json.dumps(
            {"model": "bare", "messages": [{"role": "user", "content": f"{number} {_TEXT}"}]}
        ).encode()
        for number in range(calls)
    )
    await asyncio.gather(*(_connection(port, bodies) for _ in range(concurrency)))


def main(port: int, calls: int, concurrency: int) -> dict[str, float]:
    """Sends everything once."""
    cpu, started = time.process_time(), time.perf_counter()
    asyncio.run(_all(port, calls, concurrency))
    seconds, spent = time.perf_counter() - started, time.process_time() - cpu
    return {"calls_per_s": calls / seconds, "cpu_ms_a_call": 1000 * spent / calls}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(*(int(word) for word in sys.argv[1:4]))))
