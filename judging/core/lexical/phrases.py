"""The fixed vocabulary: what each pole of a feature is called, English and Chinese.

The first phrase of a language is the one written; all of them are understood. A feature with
one pole only has an opposite that nobody would ask for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from judging.core.lexical.features import Feature


@dataclass(frozen=True, slots=True)
class Pole:
    """One direction of a feature: +1 more of it, -1 less of it, and its names."""

    feature: Feature
    sign: int
    en: tuple[str, ...]
    zh: tuple[str, ...]


POLES: Final = (
    Pole(
        Feature.LENGTH,
        1,
        (
            "long, detailed answers",
            "detailed answers",
            "long answers",
            "thorough answers",
            "detail",
        ),
        ("详细的长回答", "详细的回答", "长回答", "详尽的回答", "详细"),
    ),
    Pole(
        Feature.LENGTH,
        -1,
        ("short answers", "brief answers", "concise answers", "brevity"),
        ("简短的回答", "简洁的回答", "短回答", "简短", "简洁"),
    ),
    Pole(
        Feature.STRUCTURE,
        1,
        (
            "answers organised with headings, lists and bold text",
            "structured answers",
            "well-structured answers",
            "structure",
        ),
        ("用标题、列表和加粗组织的回答", "结构化的回答", "结构清晰的回答"),
    ),
    Pole(
        Feature.STRUCTURE,
        -1,
        ("plain prose without headings or lists", "plain prose", "prose"),
        ("没有标题和列表的平实文字", "平实的文字", "散文式的回答"),
    ),
    Pole(
        Feature.LISTS,
        1,
        ("bullet points and lists", "bullet points", "lists", "bulleted lists", "numbered lists"),
        ("要点和列表", "列表", "要点", "分点的回答"),
    ),
    Pole(
        Feature.LISTS,
        -1,
        ("running text instead of lists", "answers without lists"),
        ("连贯的段落而不是列表", "不带列表的回答"),
    ),
    Pole(
        Feature.HEADINGS,
        1,
        ("answers divided by headings", "headings"),
        ("用标题分节的回答", "标题"),
    ),
    Pole(Feature.HEADINGS, -1, ("answers without headings",), ("不带标题的回答",)),
    Pole(
        Feature.BOLD,
        1,
        ("key words in bold", "bold text", "bold key words"),
        ("加粗的关键词", "加粗"),
    ),
    Pole(Feature.BOLD, -1, ("answers without bold text",), ("不加粗的回答",)),
    Pole(Feature.TABLES, 1, ("tables", "answers with tables"), ("表格", "带表格的回答")),
    Pole(Feature.TABLES, -1, ("answers without tables",), ("不带表格的回答",)),
    Pole(
        Feature.STEPS,
        1,
        ("step-by-step instructions", "numbered steps", "steps"),
        ("分步骤的说明", "步骤"),
    ),
    Pole(
        Feature.STEPS,
        -1,
        ("answers that do not go step by step", "answers without steps"),
        ("不分步骤的回答",),
    ),
    Pole(Feature.PARAGRAPHS, 1, ("short paragraphs",), ("短段落",)),
    Pole(Feature.PARAGRAPHS, -1, ("long paragraphs",), ("长段落",)),
    Pole(Feature.SENTENCE_LENGTH, 1, ("long sentences",), ("长句子", "长句")),
    Pole(Feature.SENTENCE_LENGTH, -1, ("short sentences",), ("短句子", "短句")),
    Pole(Feature.CODE, 1, ("answers with code", "code", "code blocks"), ("带代码的回答", "代码")),
    Pole(Feature.CODE, -1, ("answers without code",), ("不带代码的回答",)),
    Pole(
        Feature.EXAMPLES,
        1,
        ("concrete examples", "examples", "answers with examples"),
        ("具体的例子", "例子", "举例", "带例子的回答"),
    ),
    Pole(Feature.EXAMPLES, -1, ("answers without examples",), ("不举例的回答",)),
    Pole(
        Feature.NUMBERS,
        1,
        ("exact numbers", "numbers", "figures", "answers with numbers"),
        ("具体的数字", "数字", "数据"),
    ),
    Pole(Feature.NUMBERS, -1, ("answers without many numbers",), ("数字不多的回答",)),
    Pole(
        Feature.SOURCES,
        1,
        ("evidence and sources", "evidence", "sources", "links"),
        ("依据和来源", "依据", "来源", "证据"),
    ),
    Pole(Feature.SOURCES, -1, ("answers without sources",), ("不列来源的回答",)),
    Pole(
        Feature.REASONS,
        1,
        ("answers that give reasons", "reasons", "explanations"),
        ("说明理由的回答", "理由", "解释"),
    ),
    Pole(Feature.REASONS, -1, ("answers without explanations",), ("不作解释的回答",)),
    Pole(
        Feature.OPTIONS,
        1,
        ("several options to choose from", "several options", "alternatives"),
        ("可供选择的多个方案", "多个方案", "多种选择"),
    ),
    Pole(
        Feature.OPTIONS,
        -1,
        ("one clear recommendation", "answers without alternatives"),
        ("一个明确的建议",),
    ),
    Pole(
        Feature.CAUTIONS,
        1,
        ("warnings about risks and limits", "warnings"),
        ("对风险和限制的提醒", "风险提醒"),
    ),
    Pole(Feature.CAUTIONS, -1, ("answers without warnings",), ("没有提醒的回答",)),
    Pole(Feature.SUMMARY, 1, ("a summary", "summaries"), ("总结",)),
    Pole(Feature.SUMMARY, -1, ("answers without a summary",), ("没有总结的回答",)),
    Pole(
        Feature.DIRECTNESS,
        1,
        ("answers that start with the result", "direct answers", "answers without an introduction"),
        ("直接给出结果的回答", "直接的回答", "开门见山的回答"),
    ),
    Pole(
        Feature.DIRECTNESS,
        -1,
        ("answers that begin with an opening phrase", "an introduction"),
        ("有开场白的回答", "开场白"),
    ),
    Pole(
        Feature.QUESTIONS,
        1,
        ("questions back to the user", "questions back"),
        ("向用户反问", "反问"),
    ),
    Pole(Feature.QUESTIONS, -1, ("answers that ask nothing back",), ("不反问的回答",)),
    Pole(
        Feature.WARMTH,
        1,
        ("a warm, encouraging tone", "a warm tone", "a friendly tone", "friendly answers"),
        ("热情鼓励的语气", "友好的语气", "亲切的语气"),
    ),
    Pole(
        Feature.WARMTH,
        -1,
        ("a sober, matter-of-fact tone", "a sober tone", "a neutral tone"),
        ("冷静客观的语气", "平实的语气"),
    ),
    Pole(Feature.EMOJI, 1, ("emoji", "emojis", "answers with emoji"), ("表情符号", "表情")),
    Pole(Feature.EMOJI, -1, ("answers without emoji", "no emoji"), ("不带表情符号的回答",)),
    Pole(
        Feature.FORMALITY,
        1,
        ("formal language", "a formal tone", "formal answers"),
        ("正式的语言", "正式的语气"),
    ),
    Pole(
        Feature.FORMALITY,
        -1,
        ("casual, conversational language", "casual language", "a casual tone"),
        ("随意的口语", "口语化的语言"),
    ),
    Pole(
        Feature.HEDGES,
        1,
        ("careful wording that admits doubt", "careful wording"),
        ("承认不确定的谨慎措辞", "谨慎的措辞"),
    ),
    Pole(
        Feature.HEDGES,
        -1,
        ("confident wording without hedging", "confident wording"),
        ("不含糊的肯定措辞", "肯定的措辞"),
    ),
    Pole(Feature.VARIETY, 1, ("varied wording",), ("丰富的用词",)),
    Pole(Feature.VARIETY, -1, ("simple, recurring words",), ("简单重复的用词",)),
    Pole(
        Feature.CLOSENESS,
        1,
        ("answers that keep close to the request", "answers that stay on the request"),
        ("紧扣请求的回答", "切题的回答"),
    ),
    Pole(
        Feature.CLOSENESS,
        -1,
        ("answers that go beyond the words of the request",),
        ("超出请求字面的回答",),
    ),
    Pole(
        Feature.FIT,
        1,
        ("answers in exactly the form asked for", "answers that do exactly what was asked"),
        ("完全按要求形式的回答", "完全按要求的回答"),
    ),
    Pole(
        Feature.LANGUAGE,
        1,
        ("answers in the language of the request",),
        ("与请求语言一致的回答",),
    ),
    Pole(
        Feature.ECHO,
        -1,
        ("answers that do not copy the request",),
        ("不照抄请求的回答",),
    ),
    Pole(
        Feature.REPETITION,
        -1,
        ("answers without repetition", "no repetition"),
        ("不重复的回答",),
    ),
    Pole(
        Feature.REFUSAL,
        -1,
        ("answers without apologies or refusals", "no apologies"),
        ("不道歉也不推脱的回答",),
    ),
    Pole(
        Feature.COMPLETENESS,
        1,
        ("complete answers that do not break off", "complete answers"),
        ("完整不中断的回答", "完整的回答"),
    ),
)
