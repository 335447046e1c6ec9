"""Counts the steps that a backtracking matcher takes: work measured without a clock.

The standard library's matcher counts nothing, so `count_steps` runs the pattern that
`re` parsed on a machine of its own: the same order of alternatives, the same backtracking,
one step for each character compared or given back and for each place where a match could start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from re import _compiler, _constants, _parser  # type: ignore[attr-defined]
from typing import Any, Final, Literal

Use = Literal["match", "fullmatch", "search"]

_SINGLE: Final = {"LITERAL", "NOT_LITERAL", "ANY", "IN", "CATEGORY"}
_REPEATS: Final = {"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"}
_MOST_COPIES: Final = 200


class TooManyStepsError(Exception):
    """The budget of steps is spent."""


class _Machine:
    """A pattern as instructions; `run` matches them at one place of a text."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.tree = _parser.parse(pattern.pattern, pattern.flags)
        self.flags = pattern.flags
        self.code = self._program(self.tree)
        self.steps = 0
        self.budget = 0

    # Compilation: each node appends instructions; an operand that is a place is an index.

    def _one(self, node: Any, suffix: str = "") -> re.Pattern[str]:
        """The matcher of a single node, or of a run of it."""
        parsed = _parser.SubPattern(self.tree.state, [node])
        if suffix:
            lowest = 0
            op = _constants.POSSESSIVE_REPEAT
            parsed = _parser.SubPattern(
                self.tree.state, [(op, (lowest, _constants.MAXREPEAT, parsed))]
            )
        return _compiler.compile(parsed, self.flags)  # type: ignore[no-any-return]

    def _program(self, nodes: Any) -> list[tuple[Any, ...]]:
        code: list[tuple[Any, ...]] = []
        self._emit(nodes, code)
        code.append(("end",))
        return code

    def _emit(self, nodes: Any, code: list[tuple[Any, ...]]) -> None:  # noqa: C901 - a node a line
        for op, value in nodes:
            name = str(op)
            if name in _SINGLE:
                code.append(("one", self._one((op, value))))
            elif name == "AT":
                code.append(("at", self._one((op, value))))
            elif name == "SUBPATTERN":
                group, added, removed, inner = value
                flags, self.flags = self.flags, (self.flags | added) & ~removed
                code.append(("open", group))
                self._emit(inner, code)
                self.flags = flags
                code.append(("close", group))
            elif name == "GROUPREF":
                code.append(("again", value))
            elif name == "ATOMIC_GROUP":
                code.append(("atomic", self._program(value)))
            elif name in {"ASSERT", "ASSERT_NOT"}:
                direction, inner = value
                width = inner.getwidth()[0] if direction < 0 else 0
                code.append(("look", self._program(inner), width, name == "ASSERT"))
            elif name == "BRANCH":
                self._branch(value[1], code)
            elif name in _REPEATS:
                low, high, inner = value
                self._repeat(name, low, high, inner, code)
            else:
                raise NotImplementedError(name)

    def _branch(self, branches: Any, code: list[tuple[Any, ...]]) -> None:
        jumps = []
        for branch in branches[:-1]:
            split = len(code)
            code.append(())
            self._emit(branch, code)
            jumps.append(len(code))
            code.append(())
            code[split] = ("split", split + 1, len(code))
        self._emit(branches[-1], code)
        for jump in jumps:
            code[jump] = ("jump", len(code))

    def _repeat(
        self, name: str, low: int, high: int, inner: Any, code: list[tuple[Any, ...]]
    ) -> None:
        if len(inner) == 1 and str(inner[0][0]) in _SINGLE:
            code.append(("run", self._one(inner[0], "*+"), int(low), high, name))
            return
        if name == "POSSESSIVE_REPEAT":
            body: list[tuple[Any, ...]] = []
            self._repeat("MAX_REPEAT", low, high, inner, body)
            body.append(("end",))
            code.append(("atomic", body))
            return
        endless = high is _constants.MAXREPEAT
        assert low + (0 if endless else high - low) <= _MOST_COPIES, "a repeat of very many copies"
        for _ in range(low):
            self._emit(inner, code)
        if endless:
            split = len(code)
            code.extend([(), ("mark", split)])
            self._emit(inner, code)
            code.append(("again-unless-empty", split))
            places = split + 1, len(code)
            code[split] = ("split", *(places if name == "MAX_REPEAT" else places[::-1]))
            return
        splits = []
        for _ in range(high - low):
            splits.append(len(code))
            code.append(())
            self._emit(inner, code)
        for split in splits:
            places = split + 1, len(code)
            code[split] = ("split", *(places if name == "MAX_REPEAT" else places[::-1]))

    # Running.

    def _count(self, steps: int = 1) -> None:
        self.steps += steps
        if self.steps > self.budget:
            raise TooManyStepsError

    def run(  # noqa: C901, PLR0912, PLR0915 - one machine, one loop
        self,
        code: list[tuple[Any, ...]],
        text: str,
        at: int,
        groups: dict[Any, Any],
        *,
        whole: bool,
    ) -> tuple[int, dict[Any, Any]] | None:
        """Where a match that starts at `at` ends, with its groups."""
        waiting: list[tuple[int, int, dict[Any, Any], int, int]] = [(0, at, groups, -1, 0)]
        while waiting:
            place, at, groups, lowest, step = waiting.pop()
            if lowest >= 0:  # a run gives one character back, or takes one more
                self._count()
                if at != lowest:
                    waiting.append((place, at + step, groups, lowest, step))
            while True:
                instruction = code[place]
                kind = instruction[0]
                place += 1
                if kind == "one":
                    self._count()
                    if not instruction[1].match(text, at):
                        break
                    at += 1
                elif kind == "run":
                    _, runner, low, high, name = instruction
                    furthest = len(text) if high is _constants.MAXREPEAT else at + high
                    stop = runner.match(text, at, min(furthest, len(text))).end()
                    if stop - at < low:
                        self._count(stop - at + 1)
                        break
                    if name == "MIN_REPEAT":
                        self._count(low + 1)
                        if stop > at + low:
                            waiting.append((place, at + low + 1, groups, stop, 1))
                        at += low
                    else:
                        self._count(stop - at + 1)
                        if name == "MAX_REPEAT" and stop > at + low:
                            waiting.append((place, stop - 1, groups, at + low, -1))
                        at = stop
                elif kind == "split":
                    self._count()
                    waiting.append((instruction[2], at, groups, -1, 0))
                    place = instruction[1]
                elif kind == "jump":
                    place = instruction[1]
                elif kind == "at":
                    self._count()
                    if not instruction[1].match(text, at):
                        break
                elif kind in {"open", "mark"}:
                    groups = {**groups, (kind, instruction[1]): at}
                elif kind == "close":
                    began = groups["open", instruction[1]]
                    groups = {**groups, instruction[1]: text[began:at]}
                elif kind == "again-unless-empty":
                    if groups["mark", instruction[1]] != at:
                        place = instruction[1]
                elif kind == "again":
                    self._count()
                    if not text.startswith(groups.get(instruction[1], "\0\0"), at):
                        break
                    at += len(groups[instruction[1]])
                elif kind == "atomic":
                    found = self.run(instruction[1], text, at, groups, whole=False)
                    if found is None:
                        break
                    at, groups = found
                elif kind == "look":
                    _, inner, width, wanted = instruction
                    self._count()
                    seen = at >= width and self.run(inner, text, at - width, groups, whole=False)
                    if bool(seen) != wanted:
                        break
                elif whole and at != len(text):
                    break
                else:
                    return at, groups
        return None

    @property
    def first(self) -> re.Pattern[str] | None:
        """What a match must begin with, if that is one node: other places cost one step each."""
        nodes, outer = self.tree, self.flags
        try:
            while nodes and str(nodes[0][0]) == "SUBPATTERN":
                _group, added, removed, nodes = nodes[0][1]
                self.flags = (self.flags | added) & ~removed
            return self._one(nodes[0]) if nodes and str(nodes[0][0]) in _SINGLE else None
        finally:
            self.flags = outer

    def spans(self, text: str, use: Use) -> Iterator[tuple[int, int]]:
        """The matches of the whole text in order; of `search`, as `finditer` has them."""
        if use != "search":
            if found := self.run(self.code, text, 0, {}, whole=use == "fullmatch"):
                yield 0, found[0]
            return
        at, first = 0, self.first
        while at <= len(text):
            if first is not None:
                start = first.search(text, at)
                self._count((start.start() if start else len(text)) - at + 1)
                if start is None:
                    return
                at = start.start()
            self._count()
            found = self.run(self.code, text, at, {}, whole=False)
            if found is None:
                at += 1
                continue
            yield at, found[0]
            at = found[0] + (found[0] == at)


_machine = cache(_Machine)


def count_steps(pattern: re.Pattern[str], text: str, use: Use, *, budget: int) -> int:
    """The steps that all matches in a text take.

    Raises:
        TooManyStepsError: they are more than the budget.
    """
    machine = _machine(pattern)
    machine.steps, machine.budget = 0, budget
    for _span in machine.spans(text, use):
        pass
    return machine.steps


def spans(pattern: re.Pattern[str], text: str, use: Use) -> list[tuple[int, int]]:
    """Where the matches lie, for comparison with those of `re`."""
    machine = _machine(pattern)
    machine.steps, machine.budget = 0, 10_000_000
    return list(machine.spans(text, use))


def hostile(pattern: re.Pattern[str], length: int) -> list[str]:
    """Texts that a backtracking matcher finds hard, of the pattern's own parts.

    For each repeat without a limit: what stands before it, then what it or another such repeat
    takes, over and over; and all of it over and over. Empty if every repeat has a limit: such a
    pattern takes a limited number of steps at each place.
    """
    places: list[tuple[str, list[str]]] = []
    whole = _sample(_parser.parse(pattern.pattern, pattern.flags), "", places)
    if not places:
        return []
    befores = list(dict.fromkeys(["", *(before for before, _ in places)]))
    befores = befores[:: 1 + len(befores) // _MOST_BEFORE]
    pumps = dict.fromkeys([pump for _, taken in places for pump in taken][:_MOST_PUMPS])
    texts = {whole: None} if whole else {}
    texts |= dict.fromkeys(before for before in befores if before)
    found = dict.fromkeys((text * length)[:length] for text in texts)
    for before in befores:
        for pump in [*pumps, " ", "a"]:
            found[(before + pump * length)[:length]] = None
            found[(before + pump * length)[: length - 1] + "\0"] = None
            found[((before + pump * 3) * length)[:length]] = None
    return list(found)


_MOST_BEFORE: Final = 8
_MOST_PUMPS: Final = 30


def _sample(  # noqa: C901 - one case for each kind of node
    nodes: Any, before: str, places: list[tuple[str, list[str]]]
) -> str:
    """A text that the nodes match, after `before`; notes the repeats without a limit."""
    start = len(before)
    for op, value in nodes:
        name = str(op)
        if name in _SINGLE:
            before += _character((op, value))
        elif name == "BRANCH":
            samples = [_sample(branch, before, places) for branch in value[1]]
            before += samples[0]
        elif name == "SUBPATTERN":
            before += _sample(value[3], before, places)
        elif name == "ATOMIC_GROUP":
            before += _sample(value, before, places)
        elif name in {"ASSERT", "ASSERT_NOT"}:
            _sample(value[1], before, places)
        elif name in _REPEATS:
            low, high, inner = value
            if high is _constants.MAXREPEAT:
                places.append((before, _ways(inner)))
            before += _sample(inner, before, places) * max(1, low)
    return before[start:]


def _ways(nodes: Any) -> list[str]:
    """A text for each branch that the nodes begin with."""
    while len(nodes) == 1 and str(nodes[0][0]) == "SUBPATTERN":
        nodes = nodes[0][1][3]
    if len(nodes) == 1 and str(nodes[0][0]) == "BRANCH":
        return [_sample(branch, "", []) for branch in nodes[0][1][1]]
    return [_sample(nodes, "", [])]


@cache
def _alphabet() -> str:
    usual = " aA1_-\n\"'.,:*`#|/@+$[]{}()，。：决"
    return usual + "".join(map(chr, range(0x3000))) + "".join(map(chr, range(0x3000, 0x20000)))


def _character(node: Any) -> str:
    """A character that the node takes."""
    tree = _parser.SubPattern(_parser.parse("").state, [node])
    found = _compiler.compile(tree, re.DOTALL).search(_alphabet())
    return found.group() if found else ""
