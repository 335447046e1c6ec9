"""The annotator profile of the turn-level paper (seed 003, section 3): its questions and tags.

All but the age is a choice or a set of tags. They are stored in English whatever the language of
the page; RecLLMSim's files hold the same ones in Chinese, and either is understood.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

YOUNGEST: Final = 10
OLDEST: Final = 120


@dataclass(frozen=True, slots=True)
class ProfileField:
    """One question of the profile: its field, and its options as stored and as in RecLLMSim."""

    name: str
    options: Mapping[str, str]
    many: bool = True


CHOICES: Final = (
    ProfileField("gender", {"Female": "女", "Male": "男", "Other": "其他"}, many=False),
    ProfileField(
        "background",
        {
            "Information science and technology": "信息科学与技术",
            "Engineering and applied sciences": "工程与应用科学",
            "Natural sciences": "自然科学",
            "Medicine and health sciences": "医学与健康科学",
            "Humanities and arts": "人文与艺术",
            "Social and behavioural sciences": "社会科学与行为科学",
            "Applied management and innovation": "应用管理与创新领域",
            "Interdisciplinary and emerging fields": "交叉与前沿学科",
            "Other": "其他",
        },
        many=False,
    ),
    ProfileField(
        "occupation",
        {
            "Student": "学生",
            "Teacher": "教师",
            "Engineer": "工程师",
            "Artist": "艺术工作者",
            "Independent media": "自媒体工作者",
            "Armed forces": "军人",
            "Other": "其他",
        },
        many=False,
    ),
    ProfileField(
        "personality",
        {
            "Optimistic": "乐观",
            "Pessimistic": "悲观",
            "Friendly": "友善",
            "Careful": "细致",
            "Easy-going": "随性",
            "Independent": "独立",
            "Patient": "耐心",
            "Introverted": "内向",
            "Extroverted": "外向",
            "Humorous": "幽默",
            "Ambitious": "上进",
            "Calm": "冷静",
            "Determined": "坚定",
            "Confident": "自信",
        },
    ),
    ProfileField(
        "daily_interests",
        {
            "Music": "听音乐",
            "Games": "玩游戏",
            "Sport": "运动",
            "Television": "看电视",
            "Online shopping": "网购",
            "Photography": "摄影",
            "Reading": "阅读",
            "Keeping pets": "养宠物",
            "Baking and cooking": "烘焙/烹饪",
            "Painting": "绘画",
            "Board games": "下棋",
            "Handicrafts": "手工艺制作",
            "Playing an instrument": "演奏乐器",
            "Writing": "写作",
        },
    ),
    ProfileField(
        "travel_habits",
        {
            "Nature": "自然风光",
            "Food trips": "美食之旅",
            "Outdoor activities": "户外活动",
            "Quiet places": "喜欢宁静",
            "Historic sites": "参观历史遗迹",
            "Museums": "参观博物馆",
            "Cultural trips": "文化旅行",
            "Family trips": "家庭旅行",
            "Exhibitions": "看展",
            "Road trips": "自驾游",
            "Travel abroad": "国际旅行",
            "Luxury hotels": "豪华住宿",
            "Frequent business trips": "经常出差",
            "Visiting relatives": "探亲",
        },
    ),
    ProfileField(
        "dining_preferences",
        {
            "Barbecue": "烧烤",
            "Chinese food": "中式美食",
            "Street food": "街头小吃",
            "Balanced diet": "均衡饮食",
            "Healthy food": "健康饮食",
            "Fast food": "快餐",
            "Take-away": "外卖",
            "Seafood": "海鲜",
            "Bakery": "烘焙",
            "Trying new things": "尝鲜",
            "Japanese food": "日式美食",
            "Italian food": "意大利菜",
            "Vegetarian food": "素食",
        },
    ),
    ProfileField(
        "spending_habits",
        {
            "Experience matters": "注重消费体验",
            "Entertainment": "娱乐支出",
            "Thrift": "节俭",
            "Travel": "用于旅行",
            "Quality over quantity": "质量大于数量",
            "Saving for the future": "为未来储蓄",
            "Technology": "科技产品",
            "Fashion": "时尚支出",
            "Art": "购买艺术品",
            "Books": "购买书籍",
            "Donations": "捐款",
            "Expensive tastes": "高消费",
            "Shares": "股票",
        },
    ),
    ProfileField(
        "other_aspects",
        {
            "Lives in a dormitory": "住在宿舍",
            "Lives with family": "家庭生活",
            "Lives alone": "独自生活",
            "Rents a home": "租房",
            "Owns a home": "有房产",
            "Has a small pet": "养小动物",
            "Takes part in music": "喜欢参与音乐活动",
            "Takes part in sport": "喜欢参与体育活动",
            "Takes part in volunteering": "喜欢参与志愿活动",
            "Takes part in academic life": "喜欢参与学术活动",
            "Organises community activities": "组织社区活动",
            "Has many acquaintances": "社交广泛",
            "Runs social media channels": "经营自媒体",
            "Life is stressful": "生活压力大",
        },
    ),
)
"""Every question but the age, in the order of the page; gender is English in RecLLMSim too."""


def stored_word(field: ProfileField, value: str) -> str:
    """The word under which an option is stored; what is none of the options stays as it is."""
    return next((word for word, source in field.options.items() if value == source), value)


@dataclass(frozen=True, slots=True)
class Question:
    """One question about a whole session: its name in files, its words, its answers in order."""

    summary: str
    query: str
    options: tuple[str, ...]


QUESTIONS: Final = (
    Question(
        "Memorization",
        "Did the assistant forget what was said earlier in the conversation?",
        ("No", "Yes"),
    ),
    Question(
        "Detail",
        "How detailed were the individual suggestions overall?",
        ("Detailed", "Fair", "Brief"),
    ),
    Question(
        "Availability",
        "How useful were the replies for such a task in real life?",
        ("Very useful", "Some help", "Not usable"),
    ),
    Question(
        "Diversity",
        "How varied were the assistant's suggestions over the whole conversation?",
        ("Varied", "Fair", "Monotonous"),
    ),
)


def is_complete(answers: Mapping[str, str]) -> bool:
    """Whether every question, and nothing else, has one of its answers."""
    return set(answers) == {question.summary for question in QUESTIONS} and all(
        answers[question.summary] in question.options for question in QUESTIONS
    )


def to_records(answers: Mapping[str, str]) -> list[dict[str, str]]:
    """Answers by question as they are stored."""
    return [
        {"query": each.query, "summary": each.summary, "option": answers[each.summary]}
        for each in QUESTIONS
    ]


def from_records(records: Iterable[Mapping[str, object]]) -> dict[str, str]:
    """Stored answers by question; what is none of these questions' answers is left out."""
    options = {question.summary: question.options for question in QUESTIONS}
    told = [(str(each.get("summary")), str(each.get("option"))) for each in records]
    return {summary: option for summary, option in told if option in options.get(summary, ())}
