"""Where a model's reasoning ends in what it wrote, and its answer begins. Pure.

Servers and templates differ in how much of it they leave in the text: whole blocks in tags, a block whose
opening tag stands in the prompt, the channels of gpt-oss with their marks or without. What was cut off while
it reasoned holds no answer.
"""

from __future__ import annotations

import re

_NAMES = r"(?:think|thinking|thoughts?|reasoning|seed:think)"
_OPEN = re.compile(rf"\s*(?:<{_NAMES}>|\[THINK\]|◁think▷|<\|begin_of_thought\|>)", re.IGNORECASE)
_CLOSE = re.compile(rf"</{_NAMES}>|\[/THINK\]|◁/think▷|<\|end_of_thought\|>", re.IGNORECASE)
_CHANNEL = re.compile(r"\s*(?:<\|start\|>assistant)?<\|channel\|>|\s*(?:analysis|commentary)(?=[A-Z])")
_FINAL = re.compile(r"<\|channel\|>final.{0,40}?<\|message\|>|assistantfinal")
_ENDS = re.compile(r"<\|(?:return|end|start)\|>.*\Z", re.DOTALL)


def answer_begins(text: str) -> int | None:
    """Where the answer begins: index 0 without reasoning before it, None where the reasoning never ends.

    Reasoning is what comes first. Tags later in a text, or within a JSON object, are part of the answer.
    """
    if _CHANNEL.match(text):
        final = _FINAL.search(text)
        return final.end() if final else None
    begin = 0
    while True:
        opened = _OPEN.match(text, begin)
        if not opened and text[begin:].lstrip()[:1] in ("{", ""):
            return begin
        closed = _CLOSE.search(text, opened.end() if opened else begin)
        if not closed:
            return None if opened else begin
        begin = closed.end()


def without_reasoning(text: str) -> str:
    """The answer in what a model wrote: the text itself without reasoning, "" if that never ends."""
    begin = answer_begins(text)
    if begin is None:
        return ""
    answer = text[begin:]
    if not begin:
        return answer
    return (_ENDS.sub("", answer) if _CHANNEL.match(text) else answer).strip()
