"""What a command says of a table: which column is what, and what the values of a column mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from annotation.core.formats.headers import KEYS, VERDICT_OF
from annotation.core.formats.values import VALUED, Meaning, Means, plain, vocabulary_of
from annotation.core.refusals import Refused

_PART: Final = re.compile(r'(?:"[^"]*"|[^",])+')


def names_annotator(key: str) -> bool:
    """Whether a key is that of one annotator's verdicts."""
    return key.startswith(VERDICT_OF) and bool(key.removeprefix(VERDICT_OF).strip())


def read_columns(text: str) -> dict[str, str]:
    """The mapping that a command's `prompt=Question,text_a=Answer 1` means.

    A comma or a quote within a header stands in double quotes, as in CSV, around the header or
    around the whole part.

    Raises:
        Refused: A part names no key, or one that another part has named.
    """
    found: dict[str, str] = {}
    for part in _parts(text, "import:columns"):
        key, equals, header = (each.strip() for each in _unquoted(part).partition("="))
        if not equals or (key not in KEYS and not names_annotator(key)):
            known = f"{', '.join(KEYS)} or {VERDICT_OF}NAME"
            raise Refused("import:columns", f"expected KEY=HEADER with one of {known}, not {part}")
        if key in found:
            raise Refused("import:columns", f"{key} has two columns")
        found[key] = _unquoted(header)
    return found


def written_columns(columns: Mapping[str, str]) -> str:
    """Returns the text that `read_columns` reads as these columns."""
    return ",".join(
        f"{key}={header}" if re.fullmatch(r'[^",]+', header) else f'{key}="{_doubled(header)}"'
        for key, header in columns.items()
    )


def read_values(texts: Iterable[str]) -> dict[str, dict[str, Meaning]]:
    """The meanings that a command's `verdict:left=A,right=B` means, one such text a column.

    A value with a comma, a quote or an equals sign stands in double quotes; nothing before the
    equals sign speaks of empty cells.

    Raises:
        Refused: A text names no key, a part no meaning that its column can have, or a value twice.
    """
    found: dict[str, dict[str, Meaning]] = {}
    for text in texts:
        key, colon, rest = (each.strip() for each in text.partition(":"))
        if not colon or key not in VALUED:
            known = ", ".join(VALUED)
            raise Refused(
                "import:values", f"expected KEY:VALUE=MEANING with one of {known}: {text}"
            )
        chosen = found.setdefault(key, {})
        for part in _parts(rest, "import:values"):
            value, equals, word = part.rpartition("=")
            meaning = word.strip().upper().replace("_", "-")
            allowed = meanings_of(key)
            if not equals or meaning not in allowed:
                known = ", ".join(allowed)
                message = f"expected VALUE=MEANING with one of {known}, not {part.strip()}"
                raise Refused("import:values", message)
            named = plain(_unquoted(value))
            if chosen.setdefault(named, Meaning(meaning)) != meaning:
                raise Refused("import:values", f"{named!r} of {key} has two meanings")
    return found


def meanings_of(key: str) -> list[str]:
    """Returns the meanings that values under a key can have, of pairs and of ratings."""
    both = [vocabulary_of(key, pairs=pairs) for pairs in (True, False)]
    found = [meaning.value for each in both if each for meaning in each.meanings]
    return list(dict.fromkeys(found))


def written_values(means: Means) -> list[str]:
    """Returns the texts that `read_values` reads as these meanings."""
    return [
        f"{key}:" + ",".join(f"{_quoted(value)}={meaning}" for value, meaning in chosen.items())
        for key, chosen in means.items()
        if chosen
    ]


def _parts(text: str, code: str) -> list[str]:
    """Returns the parts between commas that stand in no quotes."""
    if text.count('"') % 2:
        raise Refused(code, 'a double quote (") is not closed')
    return _PART.findall(text)


def _quoted(text: str) -> str:
    return f'"{_doubled(text)}"' if re.search(r'[",=]', text) else text


def _doubled(header: str) -> str:
    return header.replace('"', '""')


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"')
    return text
