"""What device models are made of: brands, series, suffixes; and which sort of device a name stands for."""

from __future__ import annotations

import re
from typing import Literal

Family = Literal[
    "phone",
    "laptop",
    "tablet",
    "headphones",
    "watch",
    "tv",
    "camera",
    "console",
    "router",
    "printer",
    "appliance",
]

CHINESE_BRANDS = {
    "小米": "XIAOMI", "红米": "REDMI", "华为": "HUAWEI", "荣耀": "HONOR", "苹果": "APPLE",
    "三星": "SAMSUNG", "联想": "LENOVO", "戴尔": "DELL", "惠普": "HP", "华硕": "ASUS", "宏碁": "ACER",
    "索尼": "SONY", "一加": "ONEPLUS", "魅族": "MEIZU", "中兴": "ZTE", "努比亚": "NUBIA",
    "真我": "REALME", "佳能": "CANON", "尼康": "NIKON", "海尔": "HAIER", "美的": "MIDEA",
    "格力": "GREE", "海信": "HISENSE", "创维": "SKYWORTH", "飞利浦": "PHILIPS", "罗技": "LOGITECH",
    "微软": "MICROSOFT", "松下": "PANASONIC", "戴森": "DYSON", "大疆": "DJI", "博世": "BOSCH",
    "石头": "ROBOROCK", "科沃斯": "ECOVACS", "小天鹅": "LITTLESWAN", "西门子": "SIEMENS",
    "爱普生": "EPSON",
}  # fmt: skip
LATIN_BRANDS = (
    "Xiaomi|Redmi|Huawei|Honor|Apple|Samsung|Lenovo|Dell|HP|Asus|Acer|Sony|OnePlus|Meizu|ZTE|Realme|vivo|OPPO"
    "|iQOO|Nokia|Motorola|Canon|Nikon|Epson|Brother|LG|TCL|Haier|Midea|Philips|Logitech|Microsoft|Panasonic"
    "|Dyson|DJI|Bosch|Siemens|Miele|Whirlpool|Netgear|TP-Link|Linksys|Anker|Jabra|Bose|JBL|Sennheiser|Fitbit"
    "|Garmin|GoPro|Razer|MSI|Toshiba|Hisense|Roborock|iRobot|Sonos|Beats|Google|Amazon|Nintendo"
)
# Series that name a device without their brand.
OWN_SERIES = (
    "iPhone|iPad|iMac|MacBook|Apple Watch|AirPods|Galaxy|XPS|ThinkPad|IdeaPad|ThinkBook|Inspiron|Latitude"
    "|Vostro|Surface|Kindle|PlayStation|Xbox|Xperia|ZenBook|VivoBook|EliteBook|ProBook|LaserJet|OfficeJet"
    "|DeskJet|EcoTank|Pixma|MatePad|MateBook|FreeBuds|QuietComfort|Roomba|Pixel|Redmi|Moto|拯救者|小新"
)
SERIES = (
    f"{OWN_SERIES}|Echo|Switch|Mate|Nova|Pura|Magic|Find|Reno|Note|Civi|Mix|ROG|Pavilion|Spectre|Envy|OMEN|EOS"
    "|Bravia|Watch|Buds|Tab|Series|Fold|Flip|Aspire|Predator|Legion|Yoga|Quest"
    "|畅享|麦芒|平板|手环|手表|耳机|笔记本|天选|灵耀|战"
)
SUFFIXES = (
    r"Pro Max|Pro\+|Pro|Max|Plus|Ultra|mini|SE|Air|Lite|FE|OLED|XL|GT|RS|Gen [0-9]{1,2}|5G|Slim"
    "|青春版|至尊版|标准版|典藏版|探索版"
)
WHOLE_NAMES = (
    "iPhone (?:SE|XS Max|XR|XS|X)|iPad (?:Pro|Air|mini)|MacBook (?:Pro|Air)|AirPods(?: (?:Pro|Max))?"
    "|Nintendo Switch(?: (?:OLED|Lite|2))?|Xbox Series [XS]|PS[345](?: Pro)?|Surface (?:Pro|Laptop|Go|Book)"
    "|Kindle Paperwhite|Echo Dot|Apple Watch(?: (?:SE|Ultra))?"
)
# Prefixes of what looks like a manufacturer's code and is another sort of code.
OTHER_CODES = (
    "ORD|ORDER|ERR|ERROR|COVID|UTF|ISO|USB|HTTP|HTTPS|CVE|RFC|SHA|RMA|INC|TKT|CASE|REF|PO|SO|WO|WPA|INV|PR|FAQ"
    "|TCP|IP|AES|RSA|BASE|GMT|UTC|PM|AM|ID|NO|TICKET|SN|API|GPT|IPV|HDMI|DDR|LTE|QR|TOP|CD|DVD|MP"
)

_FAMILY_WORDS: dict[Family, str] = {
    "watch": r"WATCH|FITBIT|GARMIN|手表|手环",
    "headphones": r"BUDS|AIRPODS|HEADPHONE|EARBUD|HEADSET|QUIETCOMFORT|\bW[HFI]-\d|BOSE|JABRA|耳机",
    "tablet": r"IPAD|\bTAB\b|TABLET|MATEPAD|KINDLE|平板",
    "laptop": (
        r"XPS|THINKPAD|THINKBOOK|IDEAPAD|MACBOOK|INSPIRON|LATITUDE|VOSTRO|SURFACE|ZENBOOK|VIVOBOOK|MATEBOOK"
        r"|ELITEBOOK|PROBOOK|PAVILION|LEGION|LAPTOP|NOTEBOOK|COMPUTER|笔记本|电脑|小新|拯救者"
    ),
    "console": r"PLAYSTATION|\bPS[345]\b|XBOX|SWITCH|CONSOLE|游戏机",
    "printer": r"LASERJET|OFFICEJET|DESKJET|ECOTANK|PIXMA|EPSON|PRINTER|打印机",
    "camera": r"\bEOS\b|NIKON|\bILCE-|GOPRO|CAMERA|相机|摄像头",
    "router": r"ROUTER|\bRT-|NETGEAR|LINKSYS|TP-LINK|路由器",
    "tv": r"\bTV\b|BRAVIA|电视",
    "appliance": (
        r"FRIDGE|WASHER|DISHWASHER|VACUUM|ROOMBA|DYSON|OVEN|冰箱|洗衣机|空调|烤箱|吸尘器|扫地机|热水器"
    ),
    "phone": (
        r"PHONE|GALAXY|PIXEL|REDMI|ONEPLUS|\bMATE\b|\bPURA\b|\bNOVA\b|\bRENO\b|VIVO|OPPO|IQOO|XIAOMI \d|HONOR"
        r"|XPERIA|MOTO|\bSM-[SGANF]\d|REALME|MEIZU|手机"
    ),
}


def family_of(words: str) -> Family | None:
    """The sort of device that a model or a sentence speaks of."""
    upper = words.upper()
    return next((name for name, pattern in _FAMILY_WORDS.items() if re.search(pattern, upper)), None)
