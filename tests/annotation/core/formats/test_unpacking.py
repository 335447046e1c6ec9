from __future__ import annotations

import gzip
import io
import random
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.formats.unpacking import FREE_MEMBERS, LEAST_OF_MEMBER, Unpacked


def unpacked(data, size=io.DEFAULT_BUFFER_SIZE):
    return io.BufferedReader(Unpacked(io.BufferedReader(io.BytesIO(data))), size).read()


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=4), st.integers(1, 40), st.data())
def test_members_behind_one_another_are_one_file(members, size, data):
    fill = data.draw(st.lists(st.just(b"\0"), max_size=3))
    packed = b"".join([*map(gzip.compress, members), *fill])
    assert unpacked(packed, size) == b"".join(members)
    if not fill:
        with pytest.raises(EOFError):
            unpacked(packed[: -data.draw(st.integers(1, 8))], size)


def test_a_file_larger_than_any_buffer():
    text = random.Random(7).randbytes(200_000) + b"alike" * 200_000
    for size in (1, 65_536, 2_000_000):
        assert (
            unpacked(gzip.compress(text[-300_000:] if size == 1 else text), size)[-5:] == b"alike"
        )
    assert unpacked(gzip.compress(text)) == text


@pytest.mark.parametrize("tail", [b"x", b"no gzip at all", b"\0x"])
def test_what_follows_and_is_no_gzip_is_damage(tail):
    with pytest.raises((EOFError, zlib.error)):
        unpacked(gzip.compress(b"x") + tail)


def test_zeros_that_fill_up_are_no_data():
    assert unpacked(gzip.compress(b"x") + b"\0" * 100_000) == b"x"


def test_a_changed_byte_is_damage():
    packed = bytearray(gzip.compress(b"some text"))
    packed[-6] ^= 1
    with pytest.raises(zlib.error):
        unpacked(bytes(packed))


@pytest.mark.parametrize("member", [b"", b"x" * (LEAST_OF_MEMBER - 1)])
def test_many_members_that_are_all_but_empty_are_refused(member):
    piece = gzip.compress(member)
    assert unpacked(piece * FREE_MEMBERS) == member * FREE_MEMBERS
    with pytest.raises(OSError, match="parts that are all but empty"):
        unpacked(piece * FREE_MEMBERS * (LEAST_OF_MEMBER + 1))


def test_many_members_with_rows_are_read():
    row = b"x" * LEAST_OF_MEMBER
    assert len(unpacked(gzip.compress(row) * 3 * FREE_MEMBERS)) == 3 * FREE_MEMBERS * len(row)
