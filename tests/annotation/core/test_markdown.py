from __future__ import annotations

import re
import time
from html import escape
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core import markdown
from annotation.core.markdown import to_html


def _words(line):
    return set(line.split())


ALLOWED_TAGS = _words(
    "a blockquote br code details div em h3 h4 h5 h6 hr li ol p pre s span strong summary table "
    "tbody td th thead tr ul math menclose mfrac mi mn mo mover mpadded mphantom mroot mrow "
    "mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover"
)
ALLOWED_ATTRIBUTES = _words(
    "class href title rel start display stretchy fence form lspace rspace minsize maxsize "
    "movablelimits mathvariant width height depth linethickness accent accentunder "
    "displaystyle scriptlevel mathcolor columnalign"
)


class Elements(HTMLParser):
    """Every element and attribute a browser would see."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_comment(self, data):
        self.tags.append(("!--", {}))

    def handle_decl(self, decl):
        self.tags.append(("!decl", {}))


def assert_inert(html: str) -> None:
    for tag, attributes in Elements(html).tags:
        assert tag in ALLOWED_TAGS, tag
        assert set(attributes) <= ALLOWED_ATTRIBUTES, attributes
        if tag == "a" and "href" in attributes:
            assert (attributes["href"] or "").startswith(("https://", "http://", "mailto:")), (
                attributes
            )


HOSTILE = [
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//evil.example/x.js></SCRIPT>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<img src=x onerror=alert(1)>",
    "<img src=`x` onerror=alert(1)//>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<svg><a xlink:href='javascript:alert(1)'><text>x</text></a></svg>",
    "<iframe src='javascript:alert(1)'></iframe>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<object data='javascript:alert(1)'></object>",
    "<embed src='data:text/html,<script>alert(1)</script>'>",
    "<base href='https://evil.example/'>",
    "<meta http-equiv=refresh content='0;url=https://evil.example'>",
    "<link rel=stylesheet href=https://evil.example/x.css>",
    "<style>body{display:none}</style>",
    "<form action=https://evil.example><input name=csrfmiddlewaretoken></form>",
    "<button formaction=javascript:alert(1)>x</button>",
    "<input autofocus onfocus=alert(1)>",
    "<details open ontoggle=alert(1)>x</details>",
    "<video><source onerror=alert(1)></video>",
    "<audio src=x onerror=alert(1)>",
    "<body onload=alert(1)>",
    "<marquee onstart=alert(1)>x</marquee>",
    "<div style='position:fixed;inset:0'>cover</div>",
    "<div hx-get='/sign-out' hx-trigger='load'>x</div>",
    "<div data-key='1' id=content class=bar>x</div>",
    "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mtext></math>",
    "<math href='javascript:alert(1)'>x</math>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<template><script>alert(1)</script></template>",
    "<!--><img src=x onerror=alert(1)>-->",
    "<!DOCTYPE html><script>alert(1)</script>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?xml-stylesheet href='javascript:alert(1)'?>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java&#x0A;script:alert(1))",
    "[x](\x01javascript:alert(1))",
    "[x](vbscript:msgbox(1))",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](file:///etc/passwd)",
    "[x](//evil.example/x)",
    "[x](/sign-out)",
    "[x](#content)",
    "<javascript:alert(1)>",
    "[x]: javascript:alert(1)\n\n[x]",
    '[x](https://a.example "\\" onmouseover=alert(1) x=\\"")',
    "![x](javascript:alert(1))",
    "![x](https://evil.example/pixel.gif)",
    '![x" onerror="alert(1)](y)',
    "![<img src=x onerror=alert(1)>](y)",
    "$\\text{<img src=x onerror=alert(1)>}$",
    "$$\\text{</mtext></math><script>alert(1)</script>}$$",
    "$\\href{javascript:alert(1)}{x}$",
    "$\\style{position:fixed}{x}$",
    "\\(<script>alert(1)</script>\\)",
    "\\[<svg onload=alert(1)>\\]",
    "$\\unknown{<img src=x onerror=alert(1)>$",
    "$\\frac{<script>alert(1)</script>$",
    "```html\n<script>alert(1)</script>\n```",
    '```"><script>alert(1)</script>\nx\n```',
    "```html onload=alert(1)\n</code></pre><script>alert(1)</script>\n```",
    "    </code></pre><script>alert(1)</script>",
    "`</code><script>alert(1)</script>`",
    "| <script>alert(1)</script> |\n|:-:|\n| <img src=x onerror=alert(1)> |",
    "<br onmouseover=alert(1)>",
    "<br/><br ><BR><script>alert(1)</script>",
    "\ud800<script>alert(1)</script>",
    "\x00<script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "a" * markdown.MAX_CHARACTERS + "<script>alert(1)</script>",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_text_is_inert(text):
    assert_inert(to_html(text))


def test_raw_html_is_shown_and_not_lost():
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in to_html("<script>alert(1)</script>")


@given(st.text(alphabet=st.characters(), max_size=200))
def test_any_text_is_inert(text):
    assert_inert(to_html(text))


@given(st.lists(st.sampled_from([*"<>[]()`*_$\\{}!|-#&;\n \"'=/a1:", "script", "\\text{"])))
def test_any_heap_of_markup_is_inert(parts):
    assert_inert(to_html("".join(parts)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("plain", "<p>plain</p>\n"),
        (
            "**bold** and *soft* and ~~gone~~",
            "<p><strong>bold</strong> and <em>soft</em> and <s>gone</s></p>\n",
        ),
        ("first line\nsecond line", "<p>first line<br>\nsecond line</p>\n"),
        ("# Title", "<h3>Title</h3>\n"),
        ("Title\n===", "<h3>Title</h3>\n"),
        ("###### Small", "<h6>Small</h6>\n"),
        ("3. c\n4. d", '<ol start="3">\n<li>c</li>\n<li>d</li>\n</ol>\n'),
        ("a<br>b<br/>c", "<p>a<br>\nb<br>\nc</p>\n"),
        ("costs $5 or $10", "<p>costs $5 or $10</p>\n"),
        ("f(x) \\(open", "<p>f(x) (open</p>\n"),
        ("empty \\(\\)", "<p>empty ()</p>\n"),
        ("```\na < b\n```", "<pre><code>a &lt; b\n</code></pre>\n"),
        ("```nolanguage\nx\n```", "<pre><code>x\n</code></pre>\n"),
        ("![a dog](dog.png)", '<p><span class="image">a dog (dog.png)</span></p>\n'),
        ("![](dog.png)", '<p><span class="image">dog.png</span></p>\n'),
        (
            "[site](https://a.example)",
            '<p><a href="https://a.example" rel="noopener noreferrer nofollow">site</a></p>\n',
        ),
        ("你好，**世界**。", "<p>你好，<strong>世界</strong>。</p>\n"),
    ],
)
def test_what_models_write_reads_as_meant(text, expected):
    assert to_html(text) == expected


def test_code_in_a_known_language_is_highlighted():
    assert '<span class="k">return</span>' in to_html("```python\nreturn 1\n```")


def test_code_too_long_to_highlight_is_shown_whole():
    code = "return 1\n" * 1_000
    html = to_html(f"```python\n{code}```")
    assert html == f"<pre><code>{code}</code></pre>\n"


def test_the_highlighter_has_a_budget_for_a_whole_text():
    block = "```python\n" + "return 1\n" * 500 + "```\n"
    html = to_html(block * 6)
    # Each block holds 4,500 of the 20,000 characters: four are highlighted, two are plain.
    assert html.count('<span class="k">') == 4 * 500


def test_tables_align_by_class():
    html = to_html("| a | b | c |\n|:--|:-:|--:|\n| 1 | 2 | 3 |")
    assert '<div class="table-wrap"><table>' in html
    assert '<th class="centre">b</th>' in html
    assert '<td class="right">3</td>' in html
    assert "<td>1</td>" in html


@pytest.mark.parametrize(
    "text",
    [
        "$x^2$",
        "\\(x^2\\)",
        "\\[x^2\\]",
        "$$x^2$$",
        "\\[\nx^2\n\\]",
        "so \\[x^2\\] holds",
        "\\[x^2\\].",
        "so $$x^2$$ holds",
        "| a |\n|---|\n| $$x^2$$ |",
    ],
)
def test_mathematics_is_typeset(text):
    html = to_html(text)
    assert "<msup>" in html
    assert "<mi>x</mi>" in html


@pytest.mark.parametrize(
    "text", ["$$x^2$$", "\\[x^2\\]", "\\[\nx\n= y^2\n\\]", "a\n\n\\[\nx^2\n\\]\n\nb"]
)
def test_displayed_mathematics_stands_alone(text):
    assert '<div class="math"><math display="block">' in to_html(text)


@pytest.mark.parametrize(
    "text",
    [
        "\\[x^2\\] and words after it",
        "    \\[x^2\\]",
        "\\[ never closed",
        "\\[" + "x" * markdown.MAX_FORMULA_CHARACTERS + "\\]",
        "> \\[x\n\nx\\]",
    ],
)
def test_what_is_no_displayed_formula_is_left_to_the_text(text):
    assert '<div class="math">' not in to_html(text)


def test_two_dollars_around_a_formula_leave_none_of_them():
    assert "$" not in to_html("so $$x^2$$ holds, and $$y$$.")


def test_double_dollars_may_stand_in_the_words_of_a_link():
    html = to_html("[$$–$$$ a head, $$x^2$$ more](https://e.org)")
    assert html.count("$") == 5
    assert "<a href" in html
    assert "<msup>" in html


@pytest.mark.parametrize(
    "text", ["Price: $$ or $$$", "Price: $$–$$$ a head", "from $$ to $$", "a $$x$ b", "a $$$x$$$"]
)
def test_dollars_that_stand_for_a_price_stay(text):
    assert to_html(text) == f"<p>{text}</p>\n"


def test_a_displayed_formula_ends_a_paragraph_only_where_it_may():
    html = to_html("words:\n\\[x\n= y\\]\nmore words\n\\[ x \\] go on")
    assert html.count('<div class="math">') == 1
    assert html.count("<p>") == 2


def test_formulas_and_line_breaks_may_stand_in_a_link():
    html = to_html("[a \\(x^2\\)<br>b](https://a.example)")
    assert re.fullmatch(r"<p><a [^>]+>a <math .+</math><br>\nb</a></p>\n", html)


@pytest.mark.parametrize(
    "formula",
    [
        "\\frac",
        "x_1_2",
        "\\left(",
        "{" * 30 + "x" + "}" * 30,
        "a" * (markdown.MAX_FORMULA_CHARACTERS + 1),
    ],
)
def test_a_formula_that_cannot_be_typeset_shows_its_source(formula):
    html = to_html(f"$${formula}$$")
    assert '<code class="math">' in html
    assert formula in html


def test_formulas_have_a_budget():
    html = to_html("$a$ " * (markdown.MAX_FORMULAS + 5))
    assert html.count("<math") == markdown.MAX_FORMULAS
    assert html.count('<code class="math">') == 5


def test_a_very_long_text_is_shown_verbatim():
    text = "*a* " * markdown.MAX_CHARACTERS
    assert to_html(text) == f'<pre class="raw">{text}</pre>'


@pytest.mark.parametrize("use", ["[x]", "![x]", "[![x]][x]", "[a][x]"])
@pytest.mark.parametrize(
    "definition", ["[x]: http://e.org/{}\n\n", "[x]: /u '{}'\n\n"], ids=["address", "title"]
)
def test_a_link_named_again_and_again_does_not_blow_up_the_page(definition, use):
    text = definition.format("a" * 40_000) + use * (50_000 // len(use))
    assert to_html(text) == f'<pre class="raw">{escape(text, quote=False)}</pre>'


@pytest.mark.parametrize("piece", ["a\n", "`a` ", "*a* ", "- a\n", "1. a\n\n", "![](a) ", "a<br>"])
def test_more_elements_than_a_browser_shows_at_once_are_shown_verbatim(piece):
    few, many = (piece * (markdown.MAX_ELEMENTS * share // 4) for share in (1, 5))
    assert not to_html(few).startswith('<pre class="raw">')
    assert to_html(many).startswith('<pre class="raw">')


def test_links_of_an_ordinary_list_of_references_stay_links():
    names = range(200)
    text = " ".join(f"[{name}]" for name in names) + "\n\n"
    text += "\n".join(f"[{name}]: https://example.org/{name}/{'a' * 100}" for name in names)
    assert to_html(text).count("<a href") == 200


@pytest.mark.parametrize(
    "text",
    [
        "[" * 25_000,
        "![" * 12_500,
        "*a" * 50_000,
        "> " * 50_000,
        "`a``" * 25_000,
        "|" * 100_000,
        "$x^2$ " * 16_000,
        ("$$" + "a" * 990) * 100,
        "```c\n" + "\n " * 2_400 + "\n```",
        "```ts\n" + "a." * 2_400 + "\n```",
    ],
    ids=range(10),
)
def test_a_pathological_text_is_rendered_in_bounded_time(text):
    start = time.thread_time()  # of this thread alone: a busy machine changes little
    to_html(text)
    # Half a second at worst where it was measured, and ten times that under coverage.
    assert time.thread_time() - start < 15


@pytest.mark.parametrize(
    ("fence", "content", "summary"),
    [
        ("tool-call", "clock({})", "Tool call: clock"),
        ("tool-call", "look it up", "Tool call"),
        ("tool-result clock", "noon", "Tool result: clock"),
        ("tool-result <b>", "noon", "Tool result: &lt;b&gt;"),
        ("tools", "[{}]", "Tools"),
    ],
)
def test_calls_of_tools_are_folded_under_their_name(fence, content, summary):
    html = to_html(f"Look:\n\n```{fence}\n{content}\n```\n\nDone.")
    assert html == (
        f'<p>Look:</p>\n<details class="tool"><summary>{summary}</summary>'
        f"<pre><code>{content}\n</code></pre></details>\n<p>Done.</p>\n"
    )


def test_the_words_of_a_fold_are_the_readers():
    html = to_html("```tool-call\nf(<b>)\n```", (("tool-call", "工具调用"),))
    assert "<summary>工具调用: f</summary><pre><code>f(&lt;b&gt;)" in html
    assert_inert(html)
    assert "<details" not in to_html("```python\nf()\n```")
