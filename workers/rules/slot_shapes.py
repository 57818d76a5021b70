"""How people state a value that holds until it is stated anew: their name, address, plan, language, company."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_NAME = r"(?-i:([A-Z][\w'-]+(?: [A-Z][\w'-]+){0,3}))"
_HAN_NAME = r"([\u4e00-\u9fff·]{2,5}?|[A-Z][a-z]+)(?=[，。,！!\s]|$)"
_LANGUAGES = {
    "english": "en", "chinese": "zh", "mandarin": "zh", "spanish": "es", "french": "fr", "german": "de",
    "japanese": "ja", "korean": "ko", "portuguese": "pt", "italian": "it", "russian": "ru", "arabic": "ar",
    "中文": "zh", "汉语": "zh", "普通话": "zh", "英文": "en", "英语": "en", "日文": "ja", "日语": "ja",
    "韩语": "ko", "法语": "fr", "德语": "de", "西班牙语": "es", "俄语": "ru",
}  # fmt: skip
_LANGUAGE = f"({'|'.join(_LANGUAGES)})"
# An English value ends where the sentence goes on to something else.
_REST = r"(?!not\b|n't)(.+?)(?=[.;!?]+(?:\s|$)|,? (?:and (?:my|I|the|please)|but|so|not|instead|please|because|since|now)\b|$)"
_HAN_REST = r"(?!不是)([^，。！？；,;!?]+?)(?=吧?[，。！？；,;!?]|了?吧?$)"
_CHANGED = r"(?:改成|改为|改到|换成|换到|变更为|变成|更新为|更正为|应该是|升级[到为成])了?"

_SOURCES: Mapping[str, Sequence[str]] = {
    "address": (
        rf"address (?:is|was)(?:n't| not) .+?,? (?:but|it'?s|it is) {_REST}",
        rf"(?:my|our|the|new|shipping|delivery|home|mailing) address(?: is| has changed to| changed to| to|:)(?: now| actually)? {_REST}",
        rf"(?:change|update|correct|set) (?:my|the) (?:\w+ )?address (?:from .+? )?to {_REST}",
        rf"I(?:'ve| have)?(?: just| recently| also)* moved (?:in)?to {_REST}",
        rf"I(?:'m| am)?(?: now| currently)? liv(?:e|ing) (?:at|in|on) {_REST}",
        rf"地址不是[^，。；]+[，,]?\s?(?:而)?是{_HAN_REST}",
        rf"(?:地址|住址)(?:现在|已经|也)?(?:是|为|:|：|{_CHANGED})\s?{_HAN_REST}",
        rf"我(?:现在|已经|家|们)*住(?:在|到)?{_HAN_REST}",
        rf"搬(?:家)?[到至去]了?{_HAN_REST}",
    ),
    "name": (
        rf"my (?:full |real )?name(?:'s| is)(?: actually| now)? {_NAME}",
        rf"(?:this is|I'm|I am) {_NAME} (?:speaking|here|calling)",
        rf"(?:please )?call me {_NAME}",
        rf"我(?:的名字)?(?:叫|是)?叫(?!了|你|他|她|人|客服|的|过|什么|做){_HAN_NAME}",
        rf"(?:姓名|名字)(?:是|:|：|{_CHANGED})\s?{_HAN_NAME}",
        r"我姓([\u4e00-\u9fff])(?=[，。,！!\s]|$)",
    ),
    "company": (
        rf"I work (?:for|at) {_REST}",
        rf"(?:my|our) company is(?: called)? {_REST}",
        r"我在([^，。；]{2,20}?(?:公司|集团|银行|医院|大学|学校|厂|局|院))(?:上班|工作|任职)",
        rf"我们公司(?:是|叫){_HAN_REST}",
    ),
    "plan": (
        r"(?:on|have|to|use|using|got) (?:the|a) ((?-i:[A-Z])[\w+-]*(?: [\w+-]+){0,2}?) (?:plan|subscription|tier|package|membership)",
        r"(?:my|our|the) plan is(?: now| actually)?(?: the)? ((?-i:[A-Z])[\w+-]*(?: (?-i:[A-Z])[\w+-]*){0,2})",
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
ASKED = {
    attribute: re.compile(source, re.IGNORECASE)
    for attribute, source in {
        "phone": r"\b(?:phone|mobile|contact) number\b|\bnumber to (?:call|reach)|手机号|电话|联系方式",
        "email": r"\be-?mail\b|邮箱",
        "address": r"\baddress\b(?<!email address)|地址",
        "name": r"\byour (?:full )?name\b|\bwho am I\b|姓名|怎么称呼|贵姓|名字",
        "device_model": r"\b(?:which|what) (?:\w+ )?(?:model|device|phone|laptop)\b|\bmodel (?:number|name)\b|型号|什么手机|哪款",
    }.items()
}
ASKING = re.compile(
    r"[?？]|\b(?:provide|tell me|share|confirm|give me|let me know)\b|提供|告诉|留一?下|发一?下|报一?下|说一?下|确认|贵姓|称呼",
    re.IGNORECASE,
)
ANSWER_LEAD = re.compile(
    r"^\W*(?:(?:sure|yes|ok(?:ay)?|of course|actually|sorry|no|it'?s|it is|should be|that'?s|my \w+ is|好的?|嗯|可以|是的?|就是|应该是|不对|不是|改成|改为)[\s,，:：.。!！、]*)+",
    re.IGNORECASE,
)
CORRECTION = re.compile(
    r"\b(?:actually|correction|I meant|my mistake|sorry|wrong|instead of|rather than|no longer|not any ?more|chang(?:ed?|ing)"
    r"|updated?|replaced|switched|upgraded|swapped|moved|new (?:phone|number|address|e-?mail|laptop|device))\b|\bnot\b.+\bbut\b|,\s*not\b"
    r"|其实|更正|说错|写错|填错|弄错|不是.+是|不对|应该是|改[成为到用]|换[成了到]|变更为|搬|新(?:的)?(?:地址|号码|手机|电话|邮箱)|现在用",
    re.IGNORECASE,
)
# In front of a value: the value is denied, or the one of before.
DENIED = re.compile(
    r"(?:\b(?:not|isn'?t|wasn'?t|aren'?t|instead of|rather than|from|old|was|previous|former|used to be|no longer|don'?t have)"
    r"|不是|不再是|不用|没有|而非|从|由|把|原来|以前|之前|旧)\W*(?:[A-Za-z]+\W+|的|是|[\u4e00-\u9fff]{2}){0,2}$",
    re.IGNORECASE,
)
# Replaced by what follows: "the S21 with an S24", 把…换成….
REPLACED = re.compile(
    r"^\W*(?:\w+\W+)?(?:with|by|to|换成|改成|改为|换了|变成)|^[，,]?\s?(?:坏了|卖了)[，,]", re.IGNORECASE
)
SOMEONE_ELSE = re.compile(
    r"\bmy (?:wife|husband|mother|father|mom|dad|son|daughter|friend|brother|sister|boss|colleague|partner|neighbou?r)\b"
    r"|\b(?:his|her|their|your)\b|我?(?:老婆|老公|妈妈?|爸爸?|父亲|母亲|儿子|女儿|朋友|同事|哥哥?|姐姐?|弟弟?|妹妹?|室友|邻居)(?!的?[吗么])",
    re.IGNORECASE,
)
OWN_PHONE = re.compile(
    r"\bmy (?:\w+ )?(?:phone|number|mobile|cell)\b|\b(?:call|reach|text|contact) me\b|\bcontact number\b|\bphone number\b"
    r"|我的?(?:新|现在的?)?(?:手机|电话|号码|联系方式)|手机号|联系我|打我|电话(?:是|改|换|:|：)|联系电话|换(?:了)?(?:个)?(?:新)?号",
    re.IGNORECASE,
)
OWN_EMAIL = re.compile(r"\bmy (?:\w+ )?e-?mail\b|\be-?mail me\b|\be-?mail(?: address)? (?:is|to)\b|邮箱|邮件发", re.IGNORECASE)
OWN_DEVICE = re.compile(
    r"\bmy (?:new |current |old )?(?:phone|laptop|tablet|headphones|earbuds|watch|tv|camera|router|printer|console|device|model|computer|one)(?:'s| is)\b"
    r"|\bthe model(?: number)? is\b|\bI(?:'m| am)?(?: now| currently)? us(?:e|ing) (?:a|an|the|my)\b|\b(?:it|that)(?:'s| is)(?: actually)? (?:a|an|the)\b"
    r"|\b(?:replaced|switched|upgraded|changed|swapped)\b.{0,60}\b(?:to|with|for|by)\b"
    r"|我(?:现在)?(?:用|使用)的(?:手机|电脑|耳机|平板|机器)?是|我的(?:手机|电脑|耳机|平板|手表|相机|机器|设备|笔记本|电视|打印机|路由器)(?:型号)?是|型号(?:是|为|:|：)"
    r"|换(?:成|了|到)|改成|改为|不是.+是|应该是|现在用",
    re.IGNORECASE,
)
ALSO = re.compile(r"\b(?:also|another|second|too|as well|both)\b|还有|另(?:外|一)|也(?:有|用)|两[台部个]|第二", re.IGNORECASE)
BARE_NAME = re.compile(r"[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,3}|[\u4e00-\u9fff·]{2,5}")
MORE_EXACT = re.compile(r"\d|[路街号区巷弄栋幢室村镇]|小区|大厦|单元")
DELIVERY = re.compile(r"\bdeliver\w*|\barriv\w*|\bship(?:ping|ment)?\b|配送|送达|送货|到货|送到|派送|送过", re.IGNORECASE)
APPOINTMENT = re.compile(r"\bappointment\b|\btechnician\b|\bvisit\b|\binstallation\b|上门|预约|安装师傅|工程师", re.IGNORECASE)
_STATUS_WORDS = {
    "shipped": r"shipped|发货|出库", "delivered": r"delivered|签收|送达", "canceled": r"cancell?ed|取消",
    "refunded": r"refunded|退款", "returned": r"returned|退货", "in transit": r"in transit|运输|揽收",
    "out for delivery": r"out for delivery|派送", "processing": r"(?:being )?processed|processing|处理|配货",
    "delayed": r"delayed|延迟", "confirmed": r"confirmed|确认", "on hold": r"on hold",
}  # fmt: skip
STATUSES = {
    status: re.compile(
        rf"\b(?:has|have|was|is|been|got|now|status:?)(?: been| now| already| just)* (?:{words})\b"
        rf"|(?:已经?|正在|状态[是为:：]\s?)(?:被|成功|为您)?(?:{words})",
        re.IGNORECASE,
    )
    for status, words in _STATUS_WORDS.items()
}


def language_code(written: str) -> str:
    return _LANGUAGES[written.lower()]
