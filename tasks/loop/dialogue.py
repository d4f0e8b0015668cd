"""Conversations of two or more speakers, turn by turn: the next prompts, and why a conversation ended. Pure.

Each turn is the completion of the whole history so far, stored like any other prompt, so a killed run
continues inside a conversation. Greedy turns after equal histories, such as all first turns, are sent once;
sampled turns are sent once per ``Dialogue.sample``, so that conversations are independent. ``Dialogues``
holds many conversations: ``read`` adds the stored turns, and ``requests`` returns all prompts so far, one
request per speaker and sampling. The new ones among them are the turns of a round.

A speaker's text is untrusted. From the point where it continues as another speaker (``User: …``, or marks of
a chat template) it is cut off and counted: the others do not see it, and it ends no conversation. Turn limit
and token budget hold for every conversation; its ``Rule`` decides all other endings from the turns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import groupby

from tasks.engines.protocols import Message, Sampling
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.loop.replies import no_text
from tasks.loop.requests import CANDIDATE, Role

TURN_LIMIT, TOKEN_BUDGET = "turn limit", "token budget"
"""Reasons that end a conversation beside those of its rule and a missing text."""

_OTHER_NAMES = ("user", "human", "customer", "assistant", "ai", "bot", "system", "chatbot")
"""Names that models give to speakers, beside the voices' own names."""
_OWN_NAMES = {"candidate": ("assistant", "ai", "bot", "chatbot"), "simulator": ("user", "human", "customer")}
_MARKS = r"<\|[^|>\n]{1,40}\|>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>|</?s>"
"""Marks between turns in chat templates."""

Quote = Callable[[str], str]
"""Function that quotes another speaker's text as data."""


@dataclass(frozen=True)
class Voice:
    """A speaker in a conversation.

    Attributes:
        name: in transcripts; unique within a conversation.
        system: its system prompt.
        begin: the user message before its first turn if no other speaker has spoken.
        role, engine: the engine that writes its turns, as in ``Request``.
        lines: texts of a speaker without an engine, one per turn; the last one repeats.
        quote: quotes the other speakers' texts for it; None: unchanged.
    """

    name: str
    system: str = ""
    begin: str = ""
    sampling: Sampling = field(default_factory=Sampling)
    role: Role = "candidate"
    engine: str = CANDIDATE
    lines: tuple[str, ...] = ()
    quote: Quote | None = None


@dataclass(frozen=True)
class Turn:
    """One speaker's turn.

    Attributes:
        text: the text that the others see.
        written: the whole completion.
        tokens: of prompt and completion; 0 for lines.
        is_confused: whether the completion continued as another speaker, which was cut off.
        is_repeated: whether its words equal an earlier turn of this speaker, or the turn before.
    """

    speaker: str
    text: str
    written: str
    tokens: int = 0
    is_confused: bool = False
    is_repeated: bool = False

    @cached_property
    def plain(self) -> str:
        """The text's words, which are compared to find repetitions."""
        return _words_of(self.text)


Rule = Callable[[Sequence[Turn]], str | None]
"""Function of the turns so far that returns why the conversation ends; None if it goes on."""


@dataclass(frozen=True)
class Dialogue:
    """The definition of a conversation.

    Attributes:
        key: identifies it.
        voices: the speakers, who take turns in this order.
        rule: decides its end.
        max_turns: limit for all speakers together.
        max_tokens: limit for prompts and completions of all turns; None: no limit.
        sample: ``Prompt.sample`` of its sampled turns: conversations with different samples share no turn,
            not even the first. Greedy turns are shared by all conversations with equal histories.
    """

    key: Hashable
    voices: tuple[Voice, ...]
    rule: Rule
    max_turns: int
    max_tokens: int | None = None
    sample: str = ""


@dataclass
class Talk:
    """A conversation with its turns so far. ``ended_by`` is None as long as a turn is missing."""

    dialogue: Dialogue
    turns: list[Turn] = field(default_factory=list)
    ended_by: str | None = None

    @property
    def next_voice(self) -> Voice:
        """The next speaker."""
        voices = self.dialogue.voices
        return voices[len(self.turns) % len(voices)]

    @property
    def tokens(self) -> int:
        """Return the tokens of all turns."""
        return sum(turn.tokens for turn in self.turns)

    def add_turn(self, written: str, tokens: int, failure: str | None = None) -> None:
        """Add the next speaker's text and set ``ended_by`` if it ends the conversation.

        failure: why there is no text, which ends it.
        """
        voice, dialogue = self.next_voice, self.dialogue
        text, is_confused = own_words(written, voice, dialogue.voices)
        earlier = [turn for turn in self.turns[:-1] if turn.speaker == voice.name] + self.turns[-1:]
        plain = _words_of(text)
        is_repeated = bool(plain) and any(turn.plain == plain for turn in earlier)
        self.turns.append(Turn(voice.name, text, written, tokens, is_confused, is_repeated))
        if failure is None and not text and not voice.lines:
            failure = "empty answer"
        self.ended_by = failure or dialogue.rule(self.turns)
        if self.ended_by is None and len(self.turns) >= dialogue.max_turns:
            self.ended_by = TURN_LIMIT
        if self.ended_by is None and dialogue.max_tokens is not None and self.tokens >= dialogue.max_tokens:
            self.ended_by = TOKEN_BUDGET


Group = tuple[Role, str, Sampling]
"""Role, engine and sampling, which all prompts of a request share."""


class Dialogues:
    """Many conversations, each with its stored turns."""

    def __init__(self, dialogues: Iterable[Dialogue]) -> None:
        """Begin all conversations; only speakers with lines have spoken.

        Raises:
            ValueError: a key occurs twice, or a speaker's name twice in a conversation.
        """
        self.talks: dict[Hashable, Talk] = {}
        self._sent: dict[Group, dict[str, Prompt]] = {}
        self._waiting: dict[Group, dict[str, list[Talk]]] = {}
        for dialogue in dialogues:
            names = [voice.name for voice in dialogue.voices]
            if len(set(names)) < len(names) or dialogue.key in self.talks:
                raise ValueError(f"conversation {dialogue.key!r}: voices {names}: each key and name once")
            self.talks[dialogue.key] = Talk(dialogue)
            self._advance(self.talks[dialogue.key])

    def read(self, stored: Callable[[Prompts], Mapping[str, Completion]]) -> None:
        """Add all stored turns, until the next turn of every conversation is missing.

        stored: returns a request's stored completions; each completion is read once.
        """
        while turns := [
            (self._waiting[group].pop(unit), completion)
            for group in list(self._waiting)
            for unit, completion in stored(self._request(group, list(self._waiting[group]))).items()
        ]:
            self._waiting = {group: waiting for group, waiting in self._waiting.items() if waiting}
            for talks, completion in turns:
                for talk in talks:
                    tokens = completion.prompt_tokens + completion.completion_tokens
                    talk.add_turn(completion.text, tokens, no_text(completion))
                    self._advance(talk)

    def requests(self, batch: int = 32, topic: str = "") -> list[Prompts]:
        """Return all prompts so far, answered or not: one request per speaker and sampling."""
        return [self._request(group, list(self._sent[group]), batch, topic) for group in self._sent]

    def _advance(self, talk: Talk) -> None:
        """Add the lines that come next, then the next prompt unless the conversation has ended."""
        while talk.ended_by is None and (lines := talk.next_voice.lines):
            spoken = sum(turn.speaker == talk.next_voice.name for turn in talk.turns)
            talk.add_turn(lines[min(spoken, len(lines) - 1)], 0)
        if talk.ended_by is None:
            voice, dialogue = talk.next_voice, talk.dialogue
            sample = dialogue.sample if voice.sampling.temperature > 0 else ""
            prompt = Prompt(history(voice, talk.turns, dialogue.voices), sample=sample)
            group = (voice.role, voice.engine, voice.sampling)
            self._sent.setdefault(group, {}).setdefault(prompt.id, prompt)
            self._waiting.setdefault(group, {}).setdefault(prompt.id, []).append(talk)

    def _request(self, group: Group, units: Sequence[str], batch: int = 32, topic: str = "") -> Prompts:
        role, engine, sampling = group
        return Prompts(
            role=role,
            engine=engine,
            topic=topic,
            label=f"{role}, seed {sampling.seed}",
            batch=batch,
            prompts=[self._sent[group][unit] for unit in units],
            sampling=sampling,
        )


def history(voice: Voice, turns: Sequence[Turn], voices: Sequence[Voice]) -> list[Message]:
    """Return the history as messages for one speaker: its turns as the assistant's, the others' as the
    user's.

    With more than two speakers, the others' turns begin with their names.
    """
    messages: list[Message] = [{"role": "system", "content": voice.system}] if voice.system else []
    begun = False
    for is_own, group in groupby(turns, lambda turn: turn.speaker == voice.name):
        if is_own and not begun:
            messages.append({"role": "user", "content": voice.begin})
        begun = True
        texts = [_text_for(voice, turn, len(voices) > 2 and not is_own) for turn in group]
        messages.append({"role": "assistant" if is_own else "user", "content": "\n\n".join(texts)})
    return messages if begun else [*messages, {"role": "user", "content": voice.begin}]


def own_words(written: str, voice: Voice, voices: Sequence[Voice]) -> tuple[str, bool]:
    """Return a speaker's own words, and whether the text continues as another speaker.

    The speaker's own name before the words is removed. The text is cut where a line begins with another name
    and a colon, or with a mark of a chat template.
    """
    own, forged = _patterns(voice.name, voice.role, tuple(v.name for v in voices if v.name != voice.name))
    text = own.sub("", written).strip()
    end = forged.search(text)
    return (text[: end.start()].strip(), True) if end else (text, False)


@lru_cache(maxsize=1 << 8)
def _patterns(name: str, role: Role, others: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of a speaker's own name before its words, and of another speaker's turn."""
    own = (name, *_OWN_NAMES.get(role, ()))
    names = [*others, *(other for other in _OTHER_NAMES if other not in own)]
    return (
        re.compile(rf"\A\s*{_label(own)}", re.IGNORECASE),
        re.compile(rf"{_MARKS}|^[ \t]*{_label(names)}", re.IGNORECASE | re.MULTILINE),
    )


def transcript(turns: Iterable[Turn]) -> list[str]:
    """Return a text per turn: "Name: words"."""
    return [f"{turn.speaker.capitalize()}: {turn.text}" for turn in turns]


def _label(names: Iterable[str]) -> str:
    """Return a pattern of a name before a turn, in any notation of chats."""
    return rf"[*_#>\[( \t]*(?:the )?(?:{'|'.join(map(re.escape, names))})(?:'s turn)?[*_\])]*\s*:[*_]*[ \t]*"


def _text_for(voice: Voice, turn: Turn, is_named: bool) -> str:
    """Return the text of a turn as a speaker sees it."""
    if turn.speaker == voice.name:
        return turn.text
    text = voice.quote(turn.text) if voice.quote else turn.text
    return f"{turn.speaker.capitalize()}: {text}" if is_named else text


def _words_of(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
