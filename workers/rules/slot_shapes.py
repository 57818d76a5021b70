"""How people state a value that holds until it is stated anew."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from workers.rules.spans import has_han
from workers.rules.words import pattern

# The hundred commonest family names, without those that begin everyday words.
_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈"
    "姚卢姜崔钟谭陆汪范金石廖贾夏韦付邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔汤欧诸"
)
_NO_SURNAME = r"(?!程序|黄金|金[牌卡]|马[来上]|白金|方便|万|任何|余下|范围)"
_NAME = r"(?-i:([A-Z][\w'-]+(?: [A-Z][\w'-]+){0,3}))"
_HAN_NAME = r"([\u4e00-\u9fff·]{2,5}?|[A-Z][a-z]+)(?=[，。,！!\s]|$)"
_LANGUAGES = {
    "english": "en", "chinese": "zh", "mandarin": "zh", "spanish": "es", "french": "fr", "german": "de",
    "japanese": "ja", "korean": "ko", "portuguese": "pt", "italian": "it", "russian": "ru", "arabic": "ar",
    "中文": "zh", "汉语": "zh", "普通话": "zh", "英文": "en", "英语": "en", "日文": "ja", "日语": "ja",
    "韩语": "ko", "法语": "fr", "德语": "de", "西班牙语": "es", "俄语": "ru",
}  # fmt: skip
_LANGUAGE = f"({'|'.join(_LANGUAGES)})"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*(?! (?:street|road|avenue|st|rd))"
_LATER_WORDS = (
    r"(?:last|this|next) (?:week|month|year|spring|summer|fall|autumn|winter|night|\w+day)|yesterday|today"
    r"|tomorrow|recently|lately|already|as of|starting|effective|since|until|anymore|any more|right now"
    r"|currently|for now|at the moment|again|thanks?|thank you|ok(?:ay)?|right"
    r"|(?:an?|one|two|three|four|five|six|\d+) (?:\w+ ){0,2}?(?:days?|weeks?|months?|years?) ago"
    rf"|(?:on|in|from) (?:{_MONTH}|\w+day|(?:19|20)\d\d)|for (?:my |the |this )?(?:order|delivery|purchase)"
)
# An English value ends where the sentence goes on to something else.
_REST = (
    r"(?!not\b|n't)(.+?)(?=[.;!?]+(?:\s|$)"
    rf"|,? (?:and (?:my|I|the|please)|but|so|not|instead|please|because|now|{_LATER_WORDS})\b|$)"
)
_HAN_REST = (
    r"(?!不是)([^，。！？；,;!?]+?)(?=\s+[\u4e00-\u9fff]{1,5}(?:[:：]|是)"
    r"|\s*(?:上个?(?:周|星期|礼拜|月)|昨天|前天|今天|去年|最近|刚刚|谢谢|麻烦|辛苦)"
    r"|(?:那边|这边|附近|一带|[了吧啊哦哈啦呢的])*(?:[，。！？；,;!?~]|$))"
)
_CHANGED = r"(?:改成|改为|改到|换成|换到|变更为|变成|更新为|更正为|应该是|升级[到为成])了?"

_SOURCES: Mapping[str, Sequence[str]] = {
    "address": (
        rf"address (?:for|of) (?:my |the |this )?(?:order|purchase) #?[\w-]+(?: is| to|:)(?: now)? {_REST}",
        rf"address (?:is|was)(?:n't| not) .+?,? (?:but|it'?s|it is) {_REST}",
        (
            r"(?:my|our|the|new|shipping|delivery|home|mailing) address"
            rf"(?: is| has changed to| changed to| to|:)(?: now| actually)? {_REST}"
        ),
        rf"(?:change|update|correct|set) (?:my|the) (?:\w+ )?address (?:from .+? )?to {_REST}",
        (
            r"(?:I|we)(?:['’]ve| have)?(?: just| recently| also| now)* (?:moved|relocated)"
            rf"(?: from .+?)? (?:in)?to {_REST}"
        ),
        rf"(?:(?:I|we)(?:['’]m|['’]re| am| are)? ?|^)(?:now |currently )?liv(?:e|ing) (?:at|in|on) {_REST}",
        rf"地址不是[^，。；]+[，,]?\s?(?:而)?是{_HAN_REST}",
        rf"(?:地址|住址)(?:现在|已经|也)?(?:是|为|:|：|{_CHANGED})\s?{_HAN_REST}",
        rf"(?:我|^)(?:现在|目前|已经|如今|家|们)*住(?:在|到)?{_HAN_REST}",
        rf"搬(?:家)?[到至去]了?{_HAN_REST}",
    ),
    "delivery": (
        (
            r"(?:^|(?:please|kindly|just|then|instead|should be|must be|needs? to be"
            r"|want (?:it|this|you)(?: to be)?) "
            r"(?:to )?)(?:re)?(?:ship|send|deliver|forward|redirect|mail)(?:ped|ed)?"
            r" (?:[\w#-]+ ){0,5}?to (?:my (?:\w+ )?address(?: at|:)? )?" + _REST
        ),
        (
            r"(?<![不别勿])(?:^(?!.*了$)|请|麻烦|帮我|给我|改|直接|都|要|应该|订单号?\s?[A-Za-z0-9_-]+\s?)"
            r"(?:你们|您|把[^，。；]{1,10}|帮我|给我|帮忙|改)*(?:寄|送|快递|邮寄|配送|派送|发货?)(?:到|至|往)"
            + _HAN_REST
        ),
    ),
    "name": (
        rf"my (?:full |real )?name(?:'s| is)(?: actually| now)? {_NAME}",
        rf"(?:this is|I'm|I am) {_NAME} (?:speaking|here|calling)",
        (
            r"(?-i:(?:[Hh]i|[Hh]ello|[Hh]ey)?\W*[Tt]his is ([A-Z][a-z'’-]+(?: [A-Z][a-z'’-]+){1,2})"
            r"(?= (?:from|with|at|again)\b|[,.!]|$)(?<!Support)(?<!Service)(?<!Team))"
        ),
        rf"(?:please )?call me {_NAME}",
        rf"(?<![帮给为替让])我(?:的名字)?(?:是)?叫(?![了你他她人的过做一个下]|客服|什么){_HAN_NAME}",
        rf"(?:姓名|名字)(?:是|:|：|{_CHANGED})\s?{_HAN_NAME}",
        r"我姓([\u4e00-\u9fff])(?=[，。,！!\s]|$)",
        rf"(?:^|[，,])(?:我是|这里是|这边是)({_NO_SURNAME}[{_SURNAMES}][\u4e00-\u9fff]{{1,2}})(?=[，。,！!\s]|$)",
    ),
    "company": (
        rf"I work (?:for|at) {_REST}",
        rf"(?:my|our) company is(?: called)? {_REST}",
        r"我在([^，。；]{2,20}?(?:公司|集团|银行|医院|大学|学校|厂|局|院))(?:上班|工作|任职)",
        rf"我们公司(?:是|叫){_HAN_REST}",
    ),
    "plan": (
        (
            r"(?:on|have|to|use|using|got) (?:the|a) ((?-i:[A-Z])[\w+-]*(?: [\w+-]+){0,2}?)"
            r" (?:plan|subscription|tier|package|membership)"
        ),
        (
            r"(?:my|our|the) plan is(?: now| actually)?(?: the)?"
            r" ((?-i:[A-Z])[\w+-]*(?: (?-i:[A-Z])[\w+-]*){0,2})"
        ),
        rf"(?:套餐|会员)(?:是|{_CHANGED})\s?{_HAN_REST}",
        rf"(?:用的是|开通了|办理了|办了|{_CHANGED})\s?([\w\u4e00-\u9fff]{{1,12}}?(?:套餐|会员))",
        r"我是([\w\u4e00-\u9fff]{1,8}会员)",
    ),
    "language": (
        rf"(?:reply|answer|write|respond|speak|talk)(?: to me| with me)? in {_LANGUAGE}",
        rf"I only speak {_LANGUAGE}",
        rf"my (?:preferred |native |first )?language is {_LANGUAGE}",
        rf"(?:用|说|讲){_LANGUAGE}(?:回复|回答|沟通|交流|和我|跟我|服务)",
        rf"我只(?:会|懂)?(?:说|讲)?{_LANGUAGE}",
    ),
}
STATED = {
    attribute: [re.compile(rf"(?<![A-Za-z]){source}", re.IGNORECASE) for source in sources]
    for attribute, sources in _SOURCES.items()
}
ASKED = {name: pattern(f"asked_{name}") for name in ("phone", "email", "address", "name", "device_model")}
ASKING_FOR, CORRECTION, ALSO = map(pattern, ("asking_for", "correction", "also"))
OWN = {name: pattern(f"own_{name}") for name in ("phone", "email", "device")}
DELIVERY, APPOINTMENT, OWN_SCHEDULE, UNCONFIRMED = map(
    pattern, ("delivery", "appointment", "own_schedule", "unconfirmed")
)
BROUGHT = re.compile(r"\bdeliver|送货|配送|派送", re.IGNORECASE)
ANSWER_LEAD = re.compile(
    r"^\W*(?:(?:sure|yes|ok(?:ay)?|of course|actually|sorry|no|it'?s|it is|should be|that'?s"
    r"|my \w+ is|(?:please )?(?:change|update|correct) it to|at)\b[\s,:.!]*"
    r"|(?:好的?|嗯|可以|是的?|就是|应该是|不对|不是|改成|改为)[\s,，:：。!！、]*)+",
    re.IGNORECASE,
)
BARE_NAME = re.compile(
    rf"[A-Z][\w'-]+(?: [A-Z][\w'-]+){{0,3}}|[{_SURNAMES}][\u4e00-\u9fff]{{1,3}}"
    r"|[\u4e00-\u9fff]{2,5}·[\u4e00-\u9fff]{1,8}"
)
# In front of a value, within its clause: the value is denied, or the one of before.
DENIED = re.compile(
    r"(?:\b(?:not(?! forget)|isn['’]?t|wasn['’]?t|aren['’]?t|instead of|rather than|from|old|was|previous"
    r"|former|used to be|no longer|don['’]?t(?! forget)|never|stop)"
    r"|不是|不再是|不用|没有|而非|(?:从|由|把)(?!.*(?:换成|改成|改为|换到|改到|变成))|原来|以前|之前|旧)"
    r"\W*(?:[A-Za-z]+\W+|的|是|[\u4e00-\u9fff]{2}){0,2}$"
    r"|(?:别|不要|勿|不能)(?:再|给我|往)*[\u4e00-\u9fff]{0,3}$",
    re.IGNORECASE,
)
_VALUE = re.compile(rf"{_REST}", re.IGNORECASE)
_HAN_VALUE = re.compile(_HAN_REST)
SPEAKER = re.compile(r"(?:I|my|we|the)\b|我", re.IGNORECASE)
CLAUSE_END = re.compile(r".*[,，;；]", re.DOTALL)
# Behind a value: it was replaced by what follows ("the S21 with an S24", 把…换成…).
REPLACED = re.compile(
    r"^\W*(?:\w+\W+)?(?:with|by|to|换成|改成|改为|换了|变成)|^[，,]?\s?(?:坏了|卖了)[，,]", re.IGNORECASE
)
# With a number or one of these an address is one that a parcel finds; without, a town.
EXACT_PLACE = re.compile(r"\d|[路街号区巷弄栋幢室村镇]|小区|大厦|单元")
_STREET = (
    r"street|st|road|rd|avenue|ave|lane|ln|drive|dr|boulevard|blvd|way|square|sq|court|ct|place|pl|terrace"
)
# An address that says by itself that it is one.
CLEAR_PLACE = re.compile(
    rf"^(?:(?:apt|flat|unit|suite|room)\W*\w+\W+)?\d+[A-Za-z]?(?:[-/]\d+)? +[A-Z\d]|\b(?:{_STREET})\b"
    r"|[\u4e00-\u9fff].*(?:[路街巷弄村镇栋幢室]|小区|大厦|单元|\d号)",
    re.IGNORECASE,
)
# What makes the address beside an order's number the order's.
OF_ORDER = re.compile(
    r"\b(?:for|of) (?:my |the |this )?(?:order|purchase)\b"
    r"|订单(?:号|编号)?\s?[A-Za-z0-9_-]+\s?的?(?:收货|配送|送货|寄送|新)?地址",
    re.IGNORECASE,
)
_STATUS_WORDS = {
    "shipped": r"shipped|dispatched|发货|出库", "delivered": r"delivered|签收|送达",
    "canceled": r"cancell?ed|取消", "refunded": r"refunded|退款", "returned": r"returned|退货",
    "in transit": r"in.transit|运输|揽收", "out for delivery": r"out.for.delivery|派送",
    "processing": r"(?:being )?processed|processing|处理|配货", "delayed": r"delayed|延迟",
    "confirmed": r"confirmed|确认", "on hold": r"on.hold",
}  # fmt: skip
_STATED_STATUS = {
    status: re.compile(
        rf"(?<!not )(?<!n't )(?<!never )\b(?:has|have|was|is|been|got|now|status:?)"
        rf"(?: been| now| already| just)* (?:{words})\b"
        rf"|(?:已经?|正在|状态[是为:：]\s?)(?:被|成功|为您)?(?:{words})",
        re.IGNORECASE,
    )
    for status, words in _STATUS_WORDS.items()
}


def without_tail(value: str) -> str:
    """Without what is said behind it: "14 Oak Street since last week"."""
    match = (_HAN_VALUE if has_han(value) else _VALUE).match(value)
    return match[1] if match else value


def language_code(written: str) -> str:
    return _LANGUAGES[written.lower()]


def stated_status(sentence: str) -> str | None:
    """The one state that an order is said to be in."""
    found = [status for status, shape in _STATED_STATUS.items() if shape.search(sentence)]
    return found[0] if len(found) == 1 else None


def status_named(written: str) -> str:
    """已发货, SHIPPED and dispatched are one state; a word that is not known stays as it is."""
    known = (status for status, words in _STATUS_WORDS.items() if re.search(words, written, re.IGNORECASE))
    return next(known, written)
