"""The words that the embedded judge counts, English and Chinese side by side.

English entries are matched as whole lower-case words or word sequences, Chinese entries as
substrings. Apostrophes in English entries are straight; the reader straightens curly ones first.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Cue(StrEnum):
    """A family of words and phrases with one meaning for the reader of a response."""

    EXAMPLE = "example"
    SOURCE = "source"
    REASON = "reason"
    HEDGE = "hedge"
    REFUSAL = "refusal"
    WARM = "warm"
    FORMAL = "formal"
    INFORMAL = "informal"
    STEP = "step"
    OPTION = "option"
    CAUTION = "caution"
    SUMMARY = "summary"
    ANSWER = "answer"


@dataclass(frozen=True, slots=True)
class Words:
    """The entries of one cue; every occurrence of an entry counts one."""

    en: tuple[str, ...]
    zh: tuple[str, ...]


def _entries(text: str) -> tuple[str, ...]:
    return tuple(text.split("|"))


def _words(*, en: str, zh: str) -> Words:
    """English entries stand between commas, Chinese ones between spaces."""
    return Words(en=tuple(en.split(", ")), zh=tuple(zh.split()))


CUES: Final[dict[Cue, Words]] = {
    Cue.EXAMPLE: _words(
        en="for example, for instance, e g, such as, example, examples, imagine",
        zh="例如 比如 譬如 举例 举个例子 示例 例子 比方说 假设",
    ),
    Cue.SOURCE: _words(
        en=(
            "according to, study, studies, research, researchers, survey, report, data, "
            "statistics, evidence, source, sources, percent, published, measured, on average, "
            "figures"
        ),
        zh="根据 研究 调查 数据 统计 报告 来源 证据 资料 文献 百分 平均 实测 显示",
    ),
    Cue.REASON: _words(
        en=(
            "because, since, therefore, so that, the reason, reason, due to, as a result, "
            "this means, which means, why"
        ),
        zh="因为 由于 所以 因此 原因 这意味着 之所以 从而 为什么",
    ),
    Cue.HEDGE: _words(
        en=(
            "maybe, perhaps, possibly, probably, might, could be, may be, seems, i think, "
            "i believe, it depends, not sure, generally, usually, roughly"
        ),
        zh="可能 也许 或许 大概 似乎 我觉得 我认为 不确定 视情况 一般来说 通常 大约",
    ),
    Cue.REFUSAL: _words(
        en=(
            "i'm sorry, i am sorry, sorry, i apologize, apologies, i cannot, i can't, "
            "i am unable, i'm unable, as an ai, as a language model, i do not have access, "
            "i don't have access, cannot help"
        ),
        zh=(
            "抱歉 对不起 我无法 作为一个ai 作为ai 作为人工智能 作为一个人工智能 语言模型 "
            "不能提供 无法提供 不便"
        ),
    ),
    Cue.WARM: _words(
        en=(
            "hope this helps, hope that helps, feel free, happy to, glad to, good luck, "
            "let me know, you've got this, you got this, don't worry, no worries, enjoy, "
            "have fun, congratulations, thank you, thanks, great question, i understand, "
            "that sounds, welcome, cheers, lovely, wonderful, awesome, together, my friend, "
            "sure, of course, absolutely, hello"
        ),
        zh=(
            "希望对你有 希望对您有 希望这 祝你 祝您 加油 别担心 不用担心 欢迎 很高兴 太棒 "
            "恭喜 谢谢 感谢 我理解 能理解 随时 放心 一起 亲爱 当然可以 好的 没问题 你好"
        ),
    ),
    Cue.FORMAL: _words(
        en=(
            "therefore, furthermore, moreover, consequently, thus, hence, regarding, however, "
            "nevertheless, accordingly, in addition, with respect to, shall, respectively, "
            "subsequently, it is recommended, it is advisable, whereas, please note, "
            "in accordance"
        ),
        zh="因此 此外 综上 鉴于 您 从而 然而 予以 以及 相应 并非 兹 敬请 谨此 据此",
    ),
    Cue.INFORMAL: _words(
        en=(
            "hey, hi, okay, ok, yeah, yep, gonna, wanna, gotta, kinda, cool, stuff, guys, folks, "
            "super, totally, pretty much, a bunch, lots of, i'm, you're, it's, that's, let's, "
            "don't, can't, won't, you'll, we'll, i'd, i've, you've, there's, isn't, doesn't, "
            "what's, here's"
        ),
        zh="哈 呀 啦 嘛 哦 呢 吧 哟 咱 超级 挺 搞定 小伙伴 嗨 嘿 啊 没事 蛮",
    ),
    Cue.STEP: _words(
        en=(
            "step, steps, first, firstly, second, secondly, third, thirdly, next, then, finally, "
            "lastly"
        ),
        zh="步骤 第一步 第二步 第三步 首先 其次 再次 接着 然后 最后 第一 第二 第三",
    ),
    Cue.OPTION: _words(
        en=(
            "alternatively, another option, another, option, options, or you, instead, either, "
            "alternative, alternatives, various, also"
        ),
        zh="或者 另外 另一 选项 可选 备选 还可以 也可以 其他 多种 方案",
    ),
    Cue.CAUTION: _words(
        en=(
            "note that, please note, be careful, careful, warning, caution, avoid, keep in mind, "
            "risk, risks, limitation, limitations, caveat, beware, make sure, remember"
        ),
        zh="注意 小心 避免 风险 警告 谨慎 切记 务必 局限 防止",
    ),
    Cue.SUMMARY: _words(
        en=(
            "in summary, in conclusion, to sum up, overall, in short, to summarize, tl dr, takeaway"
        ),
        zh="总之 综上 总结 总的来说 总而言之 概括 简而言之",
    ),
    Cue.ANSWER: _words(
        en=(
            "answer, result, in short, tl dr, short answer, yes, no, solution, conclusion, "
            "bottom line"
        ),
        zh="答案 结论 结果 简而言之 一句话 简单来说 直接说",
    ),
}
"""The counted words. Short function words stand here only where they carry a tone."""

OPENERS: Final = _words(
    en=(
        "sure, of course, certainly, absolutely, great question, good question, thank you for, "
        "thanks for, i'd be happy, i would be happy, i'm happy, happy to, hello, hi, hey, okay, "
        "ok, here is, here are, here's, as an ai, i'm sorry, i am sorry, sorry, dear, welcome, "
        "that's a great, what a great, you asked, your question, to answer your question, "
        "this is a, let's, let me"
    ),
    zh=(
        "当然 好的 没问题 很高兴 您好 你好 嗨 嘿 感谢 谢谢 非常抱歉 抱歉 对不起 作为 以下是 "
        "下面是 这是一个 关于你 关于您 针对你 针对您 你问 您问 哈喽 让我 这个问题 很好的问题 好问题"
    ),
)
"""How a response begins when its first sentence says nothing yet."""

STOPWORDS: Final = frozenset(
    _entries(
        "a|about|after|all|also|an|and|any|are|as|at|be|been|but|by|can|could|did|do|does|"
        "for|from|get|give|had|has|have|he|her|here|his|how|i|if|in|into|is|it|its|just|like|"
        "make|me|more|most|my|new|no|not|now|of|on|one|only|or|other|our|out|over|please|she|"
        "should|so|some|such|tell|than|that|the|their|them|then|there|these|they|this|to|up|"
        "us|use|used|using|want|was|we|were|what|when|where|which|who|why|will|with|would|"
        "you|your|write|need|help|following"
    )
)
"""English words that say nothing about the subject of a request."""

BRIEF: Final = _words(
    en=(
        "brief, briefly, concise, concisely, in one sentence, in a sentence, short answer, "
        "in a few words, one line"
    ),
    zh="简短 简要 简单说 简洁 一句话 概括 精简",
)
DETAILED: Final = _words(
    en=(
        "detail, details, detailed, in depth, thorough, thoroughly, comprehensive, elaborate, essay"
    ),
    zh="详细 详尽 具体 深入 全面 展开 细致",
)
LISTED: Final = _words(
    en="list, bullet, bullets, bullet points, enumerate, steps, step by step, ideas, tips",
    zh="列出 列举 清单 列表 步骤 几个 哪些 要点",
)
TABLED: Final = _words(
    en="table, spreadsheet, columns",
    zh="表格 列表格 做个表",
)
CODED: Final = _words(
    en="code, function, script, python, javascript, sql, regex, html",
    zh="代码 函数 程序 脚本 编程 实现",
)
EXEMPLIFIED: Final = _words(
    en="example, examples, for instance",
    zh="例子 举例 示例",
)
TRANSLATED: Final = _words(
    en=(
        "translate, translation, in english, in chinese, in french, in spanish, in german, "
        "in japanese, into english, into chinese, into french, into spanish, into german, "
        "second language, to french, to spanish"
    ),
    zh="翻译 译成 用英文 用英语 用中文 英文版 中文版 用日语 用法语",
)
