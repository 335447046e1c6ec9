"""The broker of files: no message is seen before it is whole, none is lost."""

from __future__ import annotations

import threading
from queue import Empty

import pytest
from kombu import Connection

from sensejudge_site import file_broker

PRODUCERS, EACH = 4, 50


@pytest.fixture
def connect(tmp_path):
    file_broker.install()
    for name in ("queue", "control"):
        (tmp_path / name).mkdir()
    options = {
        "data_folder_in": str(tmp_path / "queue"),
        "data_folder_out": str(tmp_path / "queue"),
        "control_folder": str(tmp_path / "control"),
    }
    return lambda: Connection("filesystem://localhost", transport_options=options)


def test_the_scheme_means_this_transport(connect):
    with connect() as connection:
        assert isinstance(connection.transport, file_broker.FileTransport)


def test_a_reader_among_writers_gets_every_message_whole(connect):
    def produce(first):
        with connect() as connection:
            channel = connection.channel()
            for number in range(first, first + EACH):
                channel._put("work", {"number": number})

    writers = [threading.Thread(target=produce, args=(n * EACH,)) for n in range(PRODUCERS)]
    seen = set()
    with connect() as connection:
        channel = connection.channel()
        for writer in writers:
            writer.start()
        while len(seen) < PRODUCERS * EACH:
            try:
                seen.add(channel._get("work")["number"])
            except Empty:
                if not any(writer.is_alive() for writer in writers) and not channel._size("work"):
                    break
    assert seen == set(range(PRODUCERS * EACH))


def test_messages_of_one_writer_keep_their_order(connect):
    with connect() as connection:
        channel = connection.channel()
        for number in range(20):
            channel._put("work", number)
        assert [channel._get("work") for _ in range(20)] == list(range(20))


def test_an_unfinished_message_is_nobodys(connect, tmp_path):
    (tmp_path / "queue" / "1_x.unfinished").write_text("{")
    with connect() as connection:
        assert connection.channel()._size("work") == 0
