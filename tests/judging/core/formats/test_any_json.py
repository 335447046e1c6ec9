"""Whatever stands in a field, a row of any format is read, skipped or faulty; it never crashes."""

from __future__ import annotations

import json
from copy import deepcopy
from itertools import islice

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from annotation.core.formats.detect import open_records
from annotation.core.formats.reading import read_rows
from judging.core.formats.detect import ALL_FORMATS
from tests.paths import ROOT

FOLDER = ROOT / "tests" / "data" / "formats"
REMOVED = object()
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(width=32)
    | st.sampled_from(["", "x", "N/A", "a", "tie", "user", "[]", '{"a": 1}', 10**30, -100]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["role", "content", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def golden_rows(name):
    """The first rows of a golden file; none where it is no JSON."""
    [path] = FOLDER.glob(f"{name}.*")
    rows = [] if path.suffix in {".csv", ".txt"} else [*islice(read_rows(path), 4)]
    return [row.value for row in rows if isinstance(row.value, dict | list)]


ROWS = {name: golden_rows(name) for name in ALL_FORMATS}


def holders(value):
    """Every object and list in a value that holds something."""
    if isinstance(value, dict | list) and value:
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from holders(inner)


@pytest.mark.parametrize("name", [name for name, rows in ROWS.items() if rows])
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_row_is_read_skipped_or_faulty(tmp_path, name, data):
    rows = deepcopy(ROWS[name])
    for _change in range(data.draw(st.integers(1, 3))):
        places = [holder for row in rows for holder in holders(row)]
        holder = places[data.draw(st.integers(0, len(places) - 1))]
        key = data.draw(st.sampled_from([*holder] if isinstance(holder, dict) else [0, -1]))
        value = data.draw(JSON | st.just(REMOVED))
        if value is not REMOVED:
            holder[key] = value
        elif isinstance(holder, dict):
            del holder[key]
    path = tmp_path / "f"
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    _chosen, found = open_records(path, name, ALL_FORMATS)
    for row in found:
        assert bool(row.faults) is (row.record is None and not row.skipped)
