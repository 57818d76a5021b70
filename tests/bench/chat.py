"""Made-up after-sales chats in English and Chinese, the same for the same seed."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

EN = (
    ("user", "Hi, my {device} shows error {code} since the update to version {version}."),
    ("assistant", "Sorry to hear that. Please hold the power button for {number} seconds, then try again."),
    ("user", "I already did that twice. The order number is {order} and I paid ${number}.90 for it."),
    ("assistant", "Thank you. We will send a replacement for order {order} within {number} days."),
    ("user", "Please send it to {city}, I moved there last week. Mornings are better for me."),
    ("assistant", "Noted. The parcel goes to {city} with tracking number {tracking}."),
    ("user", "The parcel {tracking} says delivered but nothing has arrived in {city} so far."),
    ("assistant", "I opened a claim with the carrier and will write to you by mail in {number} days."),
)
ZH = (
    ("user", "你好，我的{device}升级到{version}版本以后一直报错{code}，重启也没有用。"),
    ("assistant", "非常抱歉给您带来不便。请长按电源键{number}秒后再试一次。"),
    ("user", "已经试过两次了。订单号是{order}，当时花了{number}99元。"),
    ("assistant", "好的，订单{order}我们会在{number}天内为您寄出换新的机器。"),
    ("user", "请寄到{place}，我上周刚搬家，最好上午送货。"),
    ("assistant", "已经记录，快递单号是{tracking}，预计{number}天送到{place}。"),
    ("user", "物流显示{tracking}已签收，可是我在{place}没有收到。"),
    ("assistant", "我们已经向快递公司提交申诉，{number}天内短信通知您结果。"),
)
DEVICES = ("Sony WH-1000XM5", "Dell XPS 13", "Pixel 9", "ThinkPad X1", "Redmi K70", "Mate 60 Pro")
CITIES = ("Berlin", "Austin", "Leeds", "Toronto", "Dublin", "Denver", "Lyon")
PLACES = ("上海", "成都", "广州", "西安", "武汉", "南京", "沈阳")


def turns(count: int, *, seed: int) -> list[dict[str, object]]:
    """Bodies of one session's turns, user and assistant by turns; every second seed speaks Chinese."""
    random = Random(seed)
    told = (EN, ZH)[seed % 2]
    return [_turn(told[place % len(told)], random=random) for place in range(count)]


def _turn(template: Sequence[str], *, random: Random) -> dict[str, object]:
    role, text = template
    filled = text.format(
        device=random.choice(DEVICES),
        code=f"E-{random.randrange(1000, 9999)}",
        version=f"{random.randrange(1, 9)}.{random.randrange(20)}",
        number=random.randrange(2, 9),
        order=f"#A-{random.randrange(10**5, 10**6)}",
        city=random.choice(CITIES),
        place=random.choice(PLACES),
        tracking=f"SF{random.randrange(10**11, 10**12)}",
    )
    return {"role": role, "content": filled}


def questions(count: int, *, seed: int) -> list[str]:
    random = Random(seed)
    asked = (
        "Which error code did the {device} show?",
        "What is the tracking number of the parcel to {city}?",
        "{place}的快递单号是多少？",
        "{device}报错以后客服怎么处理的？",
    )
    return [
        asked[place % len(asked)].format(
            device=random.choice(DEVICES), city=random.choice(CITIES), place=random.choice(PLACES)
        )
        for place in range(count)
    ]
