r"""Model text as safe HTML: Markdown, code and LaTeX in, an allow-list of elements out.

Raw HTML in the source is shown as text, pictures are named and never loaded, and the sanitiser
comes last, after the mathematics, because latex2mathml passes markup inside `\text{}` through
unescaped. Input is bounded: what is too long for a renderer is shown verbatim, never cut.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from html import escape
from typing import Any, Final

import nh3
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.dollarmath import dollarmath_plugin
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.token import STANDARD_TYPES

from annotation.core.refusals import gettext_noop

MAX_CHARACTERS: Final = 100_000
"""Longer text is shown verbatim: as a conversation's message it is a dump, not prose."""
MAX_CODE_CHARACTERS: Final = 5_000
MAX_CODE_TOTAL: Final = 20_000
"""Highlighting is quadratic on hostile code: a longer block, or what follows, is plain."""
MAX_FORMULA_CHARACTERS: Final = 1_000
MAX_FORMULA_DEPTH: Final = 20
MAX_FORMULAS: Final = 300
MAX_ELEMENTS: Final = 10_000
"""A browser's time grows with the square of the line breaks or code words of a paragraph."""
MAX_ADDRESS_CHARACTERS: Final = 200_000
"""Of all links and pictures together: one defined once may be named thousands of times."""


def _words(line: str) -> frozenset[str]:
    return frozenset(line.split())


LANGUAGES: Final = _words(
    "bash c c++ cpp c# csharp css diff go html java javascript js json kotlin latex lua "
    "matlab php powershell py python r ruby rust scala sh shell sql swift toml ts typescript "
    "xml yaml"
)
"""Fence names that are highlighted; any other code is shown plain. No language is ever guessed."""

FOLDS: Final = (
    ("tool-call", gettext_noop("Tool call")),
    ("tool-result", gettext_noop("Tool result")),
    ("tools", gettext_noop("Tools")),
)
"""Fence names whose block is folded, and the words in place of it."""

_HEADINGS_DOWN: Final = 2  # a response stands under the page's h1 and its own h2
_ALIGNED: Final = {
    "text-align:left": "",
    "text-align:center": "centre",
    "text-align:right": "right",
}
_MATH_ATTRIBUTES: Final = {
    "math": {"display"},
    "mo": {"stretchy", "fence", "form", "lspace", "rspace", "minsize", "maxsize", "movablelimits"},
    "mi": {"mathvariant"},
    "mspace": {"width", "height", "depth"},
    "mfrac": {"linethickness"},
    "mover": {"accent"},
    "munder": {"accentunder"},
    "mstyle": {"displaystyle", "scriptlevel", "mathcolor"},
    "mtable": {"columnalign"},
}
_MATH_TAGS: Final = frozenset(_MATH_ATTRIBUTES) | _words(
    "menclose mn mpadded mphantom mroot mrow msqrt msub msubsup msup mtd mtext mtr munderover"
)
_TEXT_TAGS: Final = _words(
    "a blockquote br code details div em h3 h4 h5 h6 hr li ol p pre s span strong summary table "
    "tbody td th thead tr ul"
)
_CLEANER: Final = nh3.Cleaner(
    tags=set(_TEXT_TAGS | _MATH_TAGS),
    attributes={"a": {"href", "title"}, "ol": {"start"}, **_MATH_ATTRIBUTES},
    allowed_classes={
        "code": {"math"},
        "details": {"tool"},
        "div": {"math", "table-wrap"},
        "pre": {"raw"},
        "span": {"image", *STANDARD_TYPES.values()},
        "td": {"centre", "right"},
        "th": {"centre", "right"},
    },
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel="noopener noreferrer nofollow",
    strip_comments=True,
)
_DOLLARS: Final = re.compile(r"\${2,}")
_DOUBLE_DOLLAR: Final = re.compile(
    rf"\$\$(?=[^$]*[\w\\])(?!\s)([^$]{{1,{MAX_FORMULA_CHARACTERS}}})(?<!\s)\$\$(?!\$)"
)
_CALL: Final = re.compile(r"[\w.\-]{1,60}(?=\()")
_LINE_BREAK: Final = re.compile(r"<br\s{0,3}/?>", re.IGNORECASE)


def to_html(text: str, folds: tuple[tuple[str, str], ...] = FOLDS) -> str:
    """Render model text as HTML that is safe to place in a page as it stands.

    Headings start at h3. Line breaks of the source are kept. A formula that cannot be typeset is
    shown as its source. Text above `MAX_CHARACTERS`, and text of which a browser would make too
    much, come back as one verbatim block. Code blocks named in `folds`, calls of tools and what
    came of them, are folded; the words for them, in the reader's language, stand in their place.
    """
    # A lone surrogate has no UTF-8 form, and the sanitiser speaks nothing else.
    whole = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return _rendered(whole, folds)


@lru_cache(maxsize=256)
def _rendered(text: str, folds: tuple[tuple[str, str], ...]) -> str:
    parser, env = _parser(), {"formulas": 0, "code": 0, "folds": dict(folds)}
    tokens = parser.parse(text, env) if len(text) <= MAX_CHARACTERS else None
    if tokens is None or not _fits_a_page(tokens):
        return _CLEANER.clean(f'<pre class="raw">{escape(text)}</pre>')
    return _CLEANER.clean(parser.renderer.render(tokens, parser.options, env))


def _fits_a_page(tokens: Sequence[Token]) -> bool:
    """Whether a browser shows this as fast as a reader expects, and in no more memory."""
    elements = addresses = 0
    for token in (each for block in tokens for each in (block, *(block.children or ()))):
        elements += token.nesting >= 0 and token.type not in {"inline", "text"}
        addresses += sum(len(str(value)) for value in token.attrs.values())
    return elements <= MAX_ELEMENTS and addresses <= MAX_ADDRESS_CHARACTERS


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True, "maxNesting": 20})
    parser.enable(["table", "strikethrough"])
    dollarmath_plugin(parser, allow_labels=False, allow_space=False, allow_digits=False)
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("fence", "bracket_math", _bracket_block, interrupts)
    parser.inline.ruler.before("escape", "bracket_math", _bracket_inline)
    parser.inline.ruler.before("math_inline", "double_dollar_math", _double_dollar_inline)
    parser.inline.ruler.before("autolink", "line_break_tag", _line_break_tag)
    parser.core.ruler.push("fit_into_page", _fit_into_page)
    for name, rule in {
        "fence": _fence,
        "code_block": _fence,
        "image": _image,
        "math_inline": _math_inline,
        "math_inline_double": _math_inline_double,
        "math_block": _math_block,
        "table_open": lambda *_: '<div class="table-wrap"><table>\n',
        "table_close": lambda *_: "</table></div>\n",
    }.items():
        parser.add_render_rule(name, rule)
    return parser


def _fit_into_page(state: StateCore) -> None:
    """Move headings below the page's own, and turn the style of table cells into classes."""
    for token in state.tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(int(token.tag[1:]) + _HEADINGS_DOWN, 6)}"
        elif token.type in {"th_open", "td_open"}:
            name = _ALIGNED.get(str(token.attrs.pop("style", "")), "")
            if name:
                token.attrSet("class", name)


def _bracket_inline(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 - markdown-it's signature
    r"""`\( … \)` and `\[ … \]` within a line of text."""
    opened = state.src[state.pos : state.pos + 2]
    if opened not in {"\\(", "\\["}:
        return False
    start = state.pos + 2
    end = state.src.find("\\)" if opened == "\\(" else "\\]", start, start + MAX_FORMULA_CHARACTERS)
    if end <= start:
        return False
    if not silent:
        state.push("math_inline", "math", 0).content = state.src[start:end]
    state.pos = end + 2
    return True


def _double_dollar_inline(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    """`$$…$$` within a line of text; dollars that stand for a price, as in $$–$$$, stay."""
    dollars = _DOLLARS.match(state.src, state.pos)
    if dollars is None:
        return False
    found = _DOUBLE_DOLLAR.match(state.src, state.pos)
    if not silent and found is not None:
        state.push("math_inline_double", "math", 0).content = found[1]
    elif not silent:
        state.pending += dollars[0]
    state.pos = (found or dollars).end()
    return True


def _bracket_block(state: StateBlock, start_line: int, end_line: int, silent: bool) -> bool:  # noqa: FBT001
    r"""A paragraph of its own between `\[` and `\]`."""
    start = state.bMarks[start_line] + state.tShift[start_line]
    if state.sCount[start_line] - state.blkIndent >= 4 or not state.src.startswith("\\[", start):
        return False
    end = state.src.find("\\]", start, start + MAX_FORMULA_CHARACTERS)
    line = start_line
    while line < end_line and state.eMarks[line] < end:
        line += 1
    if end < 0 or line >= end_line or state.src[end + 2 : state.eMarks[line]].strip(" .,;。，；"):
        return False
    if not silent:
        token = state.push("math_block", "math", 0)
        token.content = state.src[start + 2 : end]
        token.map = [start_line, line + 1]
    state.line = line + 1
    return True


def _line_break_tag(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    """`<br>`, which models write into table cells: the one HTML tag that is honoured."""
    found = _LINE_BREAK.match(state.src, state.pos)
    if found is None:
        return False
    if not silent:
        state.push("hardbreak", "br", 0)
    state.pos = found.end()
    return True


def _fence(
    _self: RendererHTML, tokens: Sequence[Token], index: int, _options: OptionsDict, env: EnvType
) -> str:
    token = tokens[index]
    words = token.info.split(maxsplit=1)
    language = words[0].lower() if words else ""
    if language in env["folds"]:
        told = (env["folds"][language], _called(token, words[1:]))
        title = ": ".join(each for each in told if each)
        code = f"<pre><code>{escape(token.content)}</code></pre>"
        return f'<details class="tool"><summary>{escape(title)}</summary>{code}</details>\n'
    length = len(token.content)
    if language not in LANGUAGES or length > min(MAX_CODE_CHARACTERS, MAX_CODE_TOTAL - env["code"]):
        return f"<pre><code>{escape(token.content)}</code></pre>\n"
    env["code"] += length
    code = highlight(token.content, get_lexer_by_name(language), HtmlFormatter(nowrap=True))
    return f"<pre><code>{code}</code></pre>\n"


def _called(token: Token, named: Sequence[str]) -> str:
    """The name of the tool in a folded block: told by its fence, or before a call's bracket."""
    call = _CALL.match(token.content)
    return named[0] if named else call[0] if call else ""


def _image(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    token = tokens[index]
    name = self.renderInlineAsText(token.children or [], options, env)
    source = str(token.attrs["src"])
    return f'<span class="image">{escape(f"{name} ({source})" if name else source)}</span>'


def _math_inline(
    _self: RendererHTML, tokens: Sequence[Token], index: int, _options: OptionsDict, env: EnvType
) -> str:
    return _formula(tokens[index].content, "inline", env)


def _math_inline_double(
    _self: RendererHTML, tokens: Sequence[Token], index: int, _options: OptionsDict, env: EnvType
) -> str:
    return _formula(tokens[index].content, "block", env)


def _math_block(
    _self: RendererHTML, tokens: Sequence[Token], index: int, _options: OptionsDict, env: EnvType
) -> str:
    return f'<div class="math">{_formula(tokens[index].content, "block", env)}</div>\n'


def _formula(source: str, display: str, env: Any) -> str:
    env["formulas"] += 1
    if (
        env["formulas"] > MAX_FORMULAS
        or len(source) > MAX_FORMULA_CHARACTERS
        or _depth(source) > MAX_FORMULA_DEPTH
    ):
        return f'<code class="math">{escape(source)}</code>'
    try:
        return convert(source.strip(), display=display)
    except Exception:  # noqa: BLE001 - its twelve errors share no base, and bad TeX raises others too
        return f'<code class="math">{escape(source)}</code>'


def _depth(source: str) -> int:
    """How deep braces and environments nest; the converter recurses as deep."""
    depth = deepest = 0
    for opened in re.findall(r"\\begin|\\left|\{|\\end|\\right|\}", source):
        depth += 1 if opened in {"\\begin", "\\left", "{"} else -1
        deepest = max(deepest, depth)
    return deepest
