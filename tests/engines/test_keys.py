"""No spelling of a key leaves an engine, in any field of any API."""

from __future__ import annotations

import asyncio
import base64
import codecs
import json
import quopri
import random
import re
import unicodedata
from collections.abc import Callable
from string import ascii_lowercase
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tasks.engines.look_alikes import LOOKS_LIKE
from tasks.engines.protocols import Generation
from tasks.engines.secrets import SHORT_SECRET, Secrets, _letters, plain
from tasks.engines.served.anthropic_http import read_message
from tasks.engines.served.endings import STORED
from tasks.engines.served.failures import Failed, Unfit, Unreadable
from tasks.engines.served.google_http import read_content
from tasks.engines.served.openai_reply import read_reply, read_response
from tasks.engines.served.transport import Caller

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_/+="
KEYS = st.builds(
    lambda seed, n: "".join(random.Random(seed).choices(ALPHABET, k=n)),
    st.integers(0, 2**32),
    st.integers(SHORT_SECRET, 512),
)
"""Random keys: none contains words of an API."""
SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "twice": lambda key: f"{key} and {key}{key}",
    "in a sentence": lambda key: f"Your key {key}, is it?",
    "half of it": lambda key: key[: max(15, len(key) // 2)],
    "its middle": lambda key: key[1:],
    "JSON": lambda key: json.dumps(key),
    "hexadecimal": lambda key: key.encode().hex(),
    "capitals": lambda key: key.encode().hex().upper(),
    "Base64": lambda key: base64.b64encode(key.encode()).decode(),
    "Basic": lambda key: base64.b64encode(f"user:{key}".encode()).decode(),
    "address": lambda key: f"https://host/?key={quote(key, safe='')}&x=1",
    "reversed": lambda key: key[::-1],
    "far on": lambda key: "x " * 400 + key,
}


def signs(form: str, between: str = "") -> Callable[[str], str]:
    """Return the spelling that writes each sign in a form."""
    return lambda key: between.join(form.format(ord(sign)) for sign in key)


def base64_of(data: bytes) -> str:
    return base64.b64encode(data).decode()


CODED: dict[str, Callable[[str], str]] = {
    "every sign in percents": signs("%{:02X}"),
    "percents twice": signs("%25{:02x}"),
    "JSON escapes": signs("\\u{:04x}"),
    "JSON escapes twice": signs("\\\\u{:04x}"),
    "bytes in C": signs("\\x{:02x}"),
    "octal": signs("\\{:03o}"),
    "entities": signs("&#{};"),
    "hexadecimal entities": signs("&#x{:x};"),
    "percents in entities": signs("&#37;{:02X}"),
    "quoted-printable": signs("={:02X}"),
    "names of code points": signs("U+{:04X}", " "),
    "spaced": " ".join,
    "dotted": ".".join,
    "dashed": "-".join,
    "lines": "\n".join,
    "bold": lambda key: "".join(f"**{sign}**" for sign in key),
    "list": lambda key: json.dumps(list(key)),
    "chunks": lambda key: " ".join(key[i : i + 4] for i in range(0, len(key), 4)),
    "joiners": "\u200b".join,
    "full width": lambda key: "".join(chr(ord(sign) + 0xFEE0) for sign in key),
    "other case": str.swapcase,
    "ROT13": lambda key: codecs.encode(key, "rot13"),
    "Base32": lambda key: base64.b32encode(f"user:{key}".encode()).decode().lower(),
    "Base64 of addresses": lambda key: base64.urlsafe_b64encode(key.encode()).decode(),
    "Base64 in lines": lambda key: "\n".join(re.findall(".{1,19}", base64_of(key.encode()))),
    "Base64 of UTF-16": lambda key: base64_of(key.encode("utf-16-le")),
    "Base64 twice": lambda key: base64_of(base64_of(key.encode()).encode()),
    "Base64 of hexadecimal": lambda key: base64_of(key.encode().hex().encode()),
    "hexadecimal of Base64": lambda key: base64_of(key.encode()).encode().hex(),
    "Base85": lambda key: base64.b85encode(key.encode()).decode(),
    "bytes": lambda key: key.encode().hex(":"),
    "bytes with 0x": signs("0x{:02x}", ", "),
    "codes": lambda key: str(list(key.encode())),
    "bits": signs("{:08b}", " "),
    "bits without blanks": signs("{:08b}"),
    "octal dump": signs("{:03o}", " "),
    "percents of Unicode": signs("%u{:04x}"),
    "long escapes": signs("\\U{:08x}"),
    "entities without ends": signs("&#{}"),
    "wide bytes": lambda key: key.encode("utf-16-be").hex(" "),
}
"""Spellings that are undone before texts are compared with the key."""
CYRILLIC = str.maketrans("aceopxysijhABCEHKMOPTXYS", "асеорхуѕіјһАВСЕНКМОРТХУЅ")
GREEK = str.maketrans("oviuABEHIKMNOPTXYZ", "ονιυΑΒΕΗΙΚΜΝΟΡΤΧΥΖ")
SMALL_CAPITALS = str.maketrans("abcdefghijklmnopqrstuvwxyz", "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡxʏᴢ")


def letters(upper: int, lower: int, digits: int | None = None) -> Callable[[str], str]:
    """Return the spelling with the letters, and digits, of another alphabet that begins at these places."""

    def spelled(sign: str) -> str:
        for kind, start, base in (("isupper", upper, "A"), ("islower", lower, "a"), ("isdigit", digits, "0")):
            if getattr(sign, kind)() and start is not None:
                return chr(start + ord(sign) - ord(base))
        return sign

    return lambda key: "".join(map(spelled, key))


ALIKE: dict[str, Callable[[str], str]] = {
    "Cyrillic": lambda key: key.translate(CYRILLIC),
    "Greek": lambda key: key.translate(GREEK),
    "Cyrillic and Greek": lambda key: key.translate(CYRILLIC).translate(GREEK),
    "Cyrillic, spaced": lambda key: " ".join(key.translate(CYRILLIC)),
    "Cyrillic in percents": lambda key: quote(key.translate(CYRILLIC), safe=""),
    "Cyrillic in JSON": lambda key: json.dumps(key.translate(CYRILLIC)),
    "Cyrillic in entities": lambda key: "".join(f"&#{ord(sign)};" for sign in key.translate(CYRILLIC)),
    "Cyrillic in Base64": lambda key: base64_of(key.translate(CYRILLIC).encode()),
    "Cyrillic, reversed": lambda key: key.translate(CYRILLIC)[::-1],
    "Cyrillic, quoted-printable": lambda key: quopri.encodestring(key.translate(CYRILLIC).encode()).decode(),
    "Cyrillic bytes": lambda key: repr(key.translate(CYRILLIC).encode())[2:-1],
    "Cyrillic names": lambda key: key.translate(CYRILLIC).encode("ascii", "namereplace").decode(),
    "accents": lambda key: unicodedata.normalize("NFC", "".join(f"{sign}\u0302" for sign in key)),
    "strokes": lambda key: "".join(f"{sign}\u0338" for sign in key),
    "bold of mathematics": letters(0x1D400, 0x1D41A, 0x1D7CE),
    "bold of mathematics in JSON": lambda key: json.dumps(letters(0x1D400, 0x1D41A, 0x1D7CE)(key)),
    "monospace": letters(0x1D670, 0x1D68A, 0x1D7F6),
    "in circles": letters(0x24B6, 0x24D0),
    "in black circles": lambda key: letters(0x1F150, 0x1F150)(key.upper()),
    "in black squares": lambda key: letters(0x1F170, 0x1F170)(key.upper()),
    "flags": lambda key: letters(0x1F1E6, 0x1F1E6)(key.upper()),
    "tags": lambda key: "".join(chr(0xE0000 + ord(sign)) for sign in key),
    "selectors": lambda key: "x" + "".join(chr(0xE0100 + ord(sign) - 16) for sign in key),
    "Arabic digits": letters(65, 97, 0x0660),
    "digits of Devanagari": letters(65, 97, 0x0966),
    "small capitals": lambda key: key.lower().translate(SMALL_CAPITALS),
    "ones and zeros": lambda key: key.translate(str.maketrans("lIoO10", "1100lO")),
    "Atbash": lambda key: key.translate(_letters(ascii_lowercase[::-1])),
}
"""Spellings with other signs, seen or unseen, for letters and digits."""
CODED |= ALIKE


def reply(text: str) -> dict[str, Any]:
    """Return an answer of the OpenAI chat API with the text in every field."""
    token = {"token": text, "logprob": -1.0}
    content = [{**token, "top_logprobs": [token]}]
    choice = {"message": {"content": text}, "finish_reason": "stop", "logprobs": {"content": content}}
    usage = {"prompt_tokens": 1, "completion_tokens": 2, text: text}
    return {"choices": [choice], "usage": usage, text: text}


def message(text: str) -> dict[str, Any]:
    """Return an answer of the Messages API, its text in two blocks that are read as one."""
    half = len(text) // 2
    blocks = [{"type": "text", "text": each} for each in (text[:half], text[half:])]
    return {"content": blocks, "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 2}}


def content(text: str) -> dict[str, Any]:
    """Return an answer of the Gemini API with the text in two parts."""
    half = len(text) // 2
    parts = [{"text": each} for each in (text[:half], text[half:])]
    chosen = [{"token": text, "logProbability": -1.0}]
    logprobs = {"chosenCandidates": chosen, "topCandidates": [{"candidates": chosen}]}
    return {
        "candidates": [{"content": {"parts": parts}, "finishReason": "STOP", "logprobsResult": logprobs}],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 2},
    }


def response(text: str) -> dict[str, Any]:
    """Return an answer of the Responses API with the text in two parts."""
    half = len(text) // 2
    parts = [{"type": "output_text", "text": each} for each in (text[:half], text[half:])]
    return {
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens", text: text},
        "output": [{"type": "message", "phase": text, "content": parts}],
        "usage": {"input_tokens": 1, "output_tokens": 2, text: text},
    }


APIS: dict[str, tuple[Callable[[str], dict[str, Any]], Callable[[Any, Secrets], Generation]]] = {
    "openai": (reply, read_reply),
    "responses": (response, read_response),
    "anthropic": (message, read_message),
    "google": (content, read_content),
}


def caller(key: str) -> Caller:
    client: Any = None  # nothing is sent
    return Caller(client, "http://host/v1", Secrets(key), 1.0, 0, asyncio.Event())


def leaks(key: str, text: str) -> list[str]:
    """Return runs of 15 characters of any spelling that the text still contains."""
    raw = key.encode()
    spelled = [key, raw.hex(), raw.hex().upper(), quote(key, safe=""), key[::-1]]
    spelled += [base64.b64encode(b"\0" * n + raw).decode()[(0, 2, 3)[n] : -4] for n in range(3)]
    return [run for each in spelled for i in range(len(each) - 14) if (run := each[i : i + 15]) in text]


@pytest.mark.parametrize("api", APIS)
@settings(max_examples=30)
@given(key=KEYS, spelling=st.sampled_from(sorted(SPELLINGS)))
@example(key="sk-proj-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP", spelling="Basic")
def test_no_field_of_an_answer_contains_a_key(api: str, key: str, spelling: str) -> None:
    write, read = APIS[api]
    body = caller(key).read_object(json.dumps(write(SPELLINGS[spelling](key))).encode())
    generation = read(body, Secrets(key))
    assert generation.finish_reason in STORED
    for text in (repr(generation), json.dumps(body)):
        assert not leaks(key, text), "a part of the key is left"


@settings(max_examples=30)
@given(key=KEYS, spelling=st.sampled_from(sorted(SPELLINGS)), before=st.integers(0, 3000))
def test_no_error_contains_part_of_a_key_wherever_it_is_cut(key: str, spelling: str, before: int) -> None:
    echoed, own = "y" * before + " " + SPELLINGS[spelling](key), caller(key)
    errors = [
        own.refusal(500, httpx.Headers(), json.dumps({"error": {"message": echoed}}).encode()),
        own.refusal(500, httpx.Headers(), echoed.encode()),
        own.refusal(302, httpx.Headers({"location": f"http://else/{quote(echoed)}"}), b""),
    ]
    for coding in ("utf-8", "utf-16", "utf-32-be"):
        errors.append(own.refusal(500, httpx.Headers(), echoed.encode(coding)))
        for text in (echoed, f"<html>{echoed}", f"[{json.dumps(echoed)}]"):
            with pytest.raises(Unreadable) as caught:
                own.read_object(text.encode(coding))
            errors.append(caught.value)
    for error in errors:
        assert isinstance(error, Failed)
        assert not leaks(key, error.words.replace("\\x00", ""))


@pytest.mark.parametrize("spelling", CODED)
@settings(max_examples=2)
@given(key=KEYS)
@example(key="sk-proj-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOP")
@example(key="_/0123456789abcdefghijklmnopqrstuvwxyzABCDEF+=")
def test_encodings_are_undone_before_a_text_is_compared_with_the_key(key: str, spelling: str) -> None:
    text = f"前 {CODED[spelling](key)} 後"  # a letter of the key beside it may be hidden too
    secrets = Secrets(key)
    for hidden in (secrets.hide_in_answer(text), secrets.hide(text)):
        assert hidden.startswith("前 ")
        assert hidden.endswith(" 後")
        assert len(plain(hidden.replace("[key]", ""))) < 9, hidden
    body = caller(key).read_object(json.dumps(reply(text)).encode())
    assert secrets.are_in(json.dumps(reply(text)))
    assert not secrets.are_in(json.dumps(body))


def test_every_sign_that_looks_like_a_letter_counts_as_it() -> None:
    assert {plain(sign) for sign in LOOKS_LIKE} == set("23456789abcdefghjklmnopqrstuvwxyz")
    assert all(plain(sign) == plain(letter) for sign, letter in LOOKS_LIKE.items())
    assert plain("=-_/+ %&;前後") == "", "signs and letters without a like are no part of a key"


def test_answers_without_a_key_are_unchanged() -> None:
    text = "A long answer: sk-learn, 0123456789, https://example.org/a?b=c – and so on. " * 50
    assert Secrets("sk-proj-" + "a1B2c3D4" * 6).hide_in_answer(text) == text
    assert caller("k" * 20).read_object(b'{"a": [1, null, {"b": true}]}') == {"a": [1, None, {"b": True}]}


@pytest.mark.parametrize("value", ["Infinity", "700", "0.5", "NaN", "null", '"high"'])
@pytest.mark.parametrize("api", ["openai", "google"])
def test_alternatives_without_log_probabilities_are_dropped(api: str, value: str) -> None:
    write, read = APIS[api]
    generation = read(json.loads(json.dumps(write("yes")).replace("-1.0", value)), Secrets(None))
    assert (generation.text, generation.finish_reason, generation.tokens) == ("yes", "stop", ())


def test_log_probability_slightly_above_0_becomes_0() -> None:
    body = json.loads(json.dumps(reply("yes")).replace("-1.0", "0.0001"))
    assert read_reply(body, Secrets(None)).tokens[0].logprobs["yes"] == 0.0


def test_reply_without_choices_is_tried_again_unless_filtered() -> None:
    with pytest.raises(Unfit, match="although the prompt was not filtered") as caught:
        read_reply({"choices": []}, Secrets(None))
    assert caught.value.is_transient
    filtered = read_reply({"choices": [], "prompt_filter_results": [{"index": 0}]}, Secrets(None))
    assert filtered.finish_reason == "content_filter"


def test_text_beside_a_key_stays_in_an_answer() -> None:
    """Its last sign comes before the key, and its first sign after it."""
    key = "sk-0123456789abcdefXYZ"
    assert Secrets(key).hide_in_answer(f"Z{key}s") == "Z[key]s"
    assert Secrets(f"{key}=").hide_in_answer(f"{key} = 5") == "[key] = 5"


def test_a_long_run_of_the_key_is_found_once() -> None:
    """Not once for each of its pieces, or the time would grow with the square of its length."""
    key = "".join(random.Random(1).choices(ALPHABET, k=400))
    spans = list(Secrets(key)._spans(f"Before {key} after."))
    assert len(spans) == len(set(spans))
