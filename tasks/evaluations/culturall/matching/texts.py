"""Texts of short answers in the forms in which they are compared, and an answer's one statement. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import cache, lru_cache
from itertools import takewhile

import regex  # type: ignore[import-untyped]

from tasks.evaluations.culturall.matching import locales
from tasks.evaluations.culturall.matching.locales import fold
from tasks.evaluations.culturall.matching.quantities import IS_UNSPACED, UNSPACED, with_digits

_HAN = regex.compile(r"\p{Han}")
_NEAR = 0.6
"""Share of common letters (``SequenceMatcher``) from which two words may be one."""
_MINUS = regex.compile(r"(?<!\w)[-−](?=\d)")
_JAMO = regex.compile(r"[\u1100-\u11ff]")
_ARTICLES = regex.compile(r"\b(?:a|an|the)\b")
_PLAIN_WORD = regex.compile(
    rf"[{UNSPACED}\p{{M}}]+|\d+(?:[.,:]\d+)*|(?:(?![{UNSPACED}])[\p{{L}}\p{{M}}])+\.?|[\p{{S}}%°#]"
)
# Traditional characters and their simplified forms, of answers and everyday words.
_SIMPLIFIED = str.maketrans(
    "號劏單間樓戶丟裡裏產幣療國會議麵涼過醬親條個們來時這對說樣學無點開關還錢貴賣買東車馬鳥魚門問聽聲電話語讀書寫請謝"
    "認識誰讓課長張歲歷曆週禮節歡樂藥葉萬億兩雙從後復術衛補裝製見覺觀計訊記設許證評試詩該調談論護變豐貓財貨責費資賓賽"
    "質購跡軍輕轉農運進遠適選郵鄉醫銀鐘鐵陽陰隊階際隨險雞離難雲靈靜頁頂項順預頭題顏類風飛飯飲館駕驗體髮發魯鹽黃齊齒龍"
    "龜壞夢夥夾奪媽孫寶實審寬將專尋導屬島師帶幫幹廠廣廳當徑愛慶應懷戲戰擇擔據換損搖敵數斷於暫業極構標機橋檢權歐殺氣決"
    "沒況淚淨減測湯溫滅準滿漢濟灣為烏煙熱燈爭爺牆獎獨獻現環畢畫異監盤眾確碼祿種稱積穩窮競筆範築簡籃糧級紅紙純細終組結"
    "給統經綠維網線練總績織繼續罰羅義習聖聯職腦臉臺興舊艙藝蘭處蟲衝",
    "号㓥单间楼户丢里里产币疗国会议面凉过酱亲条个们来时这对说样学无点开关还钱贵卖买东车马鸟鱼门问听声电话语读书写请谢"
    "认识谁让课长张岁历历周礼节欢乐药叶万亿两双从后复术卫补装制见觉观计讯记设许证评试诗该调谈论护变丰猫财货责费资宾赛"
    "质购迹军轻转农运进远适选邮乡医银钟铁阳阴队阶际随险鸡离难云灵静页顶项顺预头题颜类风飞饭饮馆驾验体发发鲁盐黄齐齿龙"
    "龟坏梦伙夹夺妈孙宝实审宽将专寻导属岛师带帮干厂广厅当径爱庆应怀戏战择担据换损摇敌数断于暂业极构标机桥检权欧杀气决"
    "没况泪净减测汤温灭准满汉济湾为乌烟热灯争爷墙奖独献现环毕画异监盘众确码禄种称积稳穷竞笔范筑简篮粮级红纸纯细终组结"
    "给统经绿维网线练总绩织继续罚罗义习圣联职脑脸台兴旧舱艺兰处虫冲",
)
# The end of a sentence: a mark of scripts with their own, or a point after a word of three letters or a sign.
_END = regex.compile(
    r"\n+|(?<=[。！？।។])\s*|(?<=[!?؟])\s+|(?<=\p{L}{3}\.|[)\]»”\"%*]\.)\s+(?=[^\p{Ll}\d\s])"
)
_COPULA = (
    r"\s*(?:[:：]|(?:is|are|هي|هو|es|là|ialah|adalah|је|je|হলো|হল|は|是|为|為|គឺ|៖|—|-)"
    r"(?!\p{L})\s*[:：]?)?"
)
_PICTURES = regex.compile(r"\p{Extended_Pictographic}|[\u200d\ufe0f]")
_MARKUP = regex.compile(r"\*\*|__|`")
_CALCULATION = regex.compile(r"^[\d\s.,+\-−–×xх*÷/:()%]+[=＝]\s*(?=\S)")
_EDGES = " \t\n\"'“”„«»‘’「」『』*_`:：,，、.。!！।។"


@lru_cache(maxsize=1 << 16)
def plain(text: str) -> str:
    """Return a text in the form for comparison: folded, single-spaced, without punctuation, symbols and
    English articles.
    """
    text = _MINUS.sub("minus", fold(text))
    characters = (" " if unicodedata.category(c)[0] in "PSZC" else c for c in text)
    return " ".join(_ARTICLES.sub(" ", "".join(characters)).split())


def as_written(text: str, language: str) -> str:
    """Return a text for plain equality: folded, without spaces and punctuation beside words."""
    same = regex.sub(r"(?<=\d)\s+(?=\d)", "&", _MINUS.sub("−", fold(text, language)))
    kept = "".join(c for c in same if unicodedata.category(c)[0] not in "PZC" or c in "%#/&:.,'")
    return str(regex.sub(r"(?<!\d)[:.,'/]|[:.,'/](?!\d)", "", kept))


def spaced(text: str, language: str) -> list[str]:
    """Return the words and numbers of a text; a run without spaces is one word. "." stays after a word."""
    folded = with_digits(text, language).translate(_SIMPLIFIED)
    return list(map(str, _PLAIN_WORD.findall(folded)))


def is_alike(one: str, other: str) -> bool:
    """Return whether two words differ only in their endings.

    Their lengths are similar, and they share at least three letters: all of the shorter word except its last
    letter, or its last two if it is long.
    """
    if one == other:
        return True
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    short, long = sorted((len(one), len(other)))
    return long - short <= 3 and shared >= max(3, short - (2 if short > 5 else 1))


def is_covered(text: str, known: frozenset[str], context: str) -> bool:
    """Return whether a text consists of known words and of a context's Chinese characters and runs of two
    or more others. Hangul is read by its letters, since endings change the last syllable of a stem.
    """
    run, near = (
        unicodedata.normalize("NFD", "".join(c for c in part if unicodedata.category(c)[0] in "LMN"))
        for part in (fold(text), context)
    )
    words, reached = _by_letters(known), {0}
    for start in range(len(run)):
        if start in reached:
            least = 4 if _JAMO.match(run[start]) else 2
            for end in range(start + 1, min(start + 48, len(run)) + 1):
                piece = run[start:end]
                if piece in words or (piece in near and (len(piece) >= least or _HAN.match(piece))):
                    reached.add(end)
    return len(run) in reached


@lru_cache(maxsize=64)
def _by_letters(known: frozenset[str]) -> frozenset[str]:
    return frozenset(unicodedata.normalize("NFD", word.replace(" ", "")) for word in known)


def is_near(one: str, other: str) -> bool:
    """Return whether two words may be forms or spellings of one word: most letters agree in order."""
    if is_alike(one, other) or min(len(one), len(other)) < 4:
        return is_alike(one, other)
    return SequenceMatcher(None, one, other, autojunk=False).ratio() >= _NEAR


@lru_cache(maxsize=1 << 14)
def _flat(text: str, language: str) -> str:
    """Return the words of a text separated by single spaces, with a space at either end."""
    apart = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in fold(text, language))
    return f" {' '.join(apart.split())} "


def has_phrase(text: str, phrase: str, language: str) -> bool:
    """Return whether a text contains a phrase: as whole words, or anywhere in scripts without spaces."""
    flat = _flat(text, language)
    if IS_UNSPACED.match(phrase):
        return phrase in flat.replace(" ", "")
    return f" {phrase} " in flat


def statement(answer: str, languages: Iterable[str]) -> str | None:
    """Return an answer's only sentence without markup and a mark such as "Answer:" before it; None if there
    are several sentences, or none.
    """
    text = _MARKUP.sub("", _PICTURES.sub("", locales.unmarked(answer)))
    sentences = [part for part in map(_stripped, _END.split(text)) if part]
    marks = [_pattern("marks", language) for language in languages]
    while len(sentences) > 1 and any(mark.fullmatch(_same_length(sentences[0])) for mark in marks):
        del sentences[0]
    if len(sentences) != 1:
        return None
    said = sentences[0]
    for mark in marks:
        found = mark.match(_same_length(said))
        if found and (after := _stripped(said[found.end() :])):
            said = after
            break
    return str(_CALCULATION.sub("", said))


def knows_nothing(answer: str, languages: Iterable[str]) -> bool:
    """Return whether an answer says only that its author does not know."""
    said = " ".join(regex.sub(r"[^\p{L}\p{M}]+", " ", _same_length(answer)).split())
    return any(_pattern("unknowns", language).fullmatch(said) for language in languages)


def _same_length(text: str) -> str:
    """Return the text folded, if that keeps the places of its characters; else in lower case."""
    folded = fold(text)
    return folded if len(folded) == len(text) else text.lower()


def _stripped(text: str) -> str:
    return text.strip(_EDGES)


@cache
def _pattern(kind: str, language: str) -> regex.Pattern[str]:
    """Return the pattern of a table of phrases, in a language and in English; whole words where there are
    spaces."""
    forms = locales.own_and_english(kind, "" if language == "sr" else language)
    forms |= frozenset(locales.listed(kind, "sr", "")) if language == "sr" else frozenset()
    spaced = [form for form in forms if not IS_UNSPACED.match(form)]
    together = [form for form in forms if form not in spaced]
    parts = [rf"(?<![\p{{L}}\p{{M}}])(?:{_any(spaced)})(?![\p{{L}}\p{{M}}])"] if spaced else []
    parts += [f"(?:{_any(together)})"] if together else []
    return regex.compile(rf"(?:{'|'.join(parts)}){_COPULA if kind == 'marks' else ''}")


def _any(forms: list[str]) -> str:
    return "|".join(
        regex.escape(form).replace(r"\ ", r"\s+") for form in sorted(forms, key=len, reverse=True)
    )
