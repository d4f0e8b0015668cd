"""Conversations of two or more voices, turn by turn: who is sent what next, and what ended them. Pure.

Each turn is the completion of the whole history so far, so it is stored and found again like any other
prompt: a killed run goes on inside a conversation. Greedy turns after equal histories, as all are before
anybody has answered, are sent once; sampled ones once per ``Dialogue.sample``, so that conversations are
independent. ``Dialogues`` has many conversations under way: ``hear`` takes the
turns that are stored, ``requests`` gives all prompts up to now, one request per voice and sampling, whose new
ones are the turns of a round.

What a voice writes is not believed. Text from where it goes on as somebody else (``User: …``, or a chat
template's own marks) is cut off and counted: nobody hears it, and it ends no conversation. Turn limit and
token budget hold for every conversation; what else ends one is its ``Rule``'s, which sees who said what.
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
"""Reasons that end a conversation beside its rule; else the reason why a voice wrote nothing."""

_OTHER_NAMES = ("user", "human", "customer", "assistant", "ai", "bot", "system", "chatbot")
"""Names by which models call a speaker, beside the voices' own names."""
_OWN_NAMES = {"candidate": ("assistant", "ai", "bot", "chatbot"), "simulator": ("user", "human", "customer")}
_MARKS = r"<\|[^|>\n]{1,40}\|>|<(?:start|end)_of_turn>|\[/?INST\]|<</?SYS>>|</?s>"
"""Signs that chat templates put between turns."""

Quote = Callable[[str], str]
"""Makes others' words data: the text that stands in their place."""


@dataclass(frozen=True)
class Voice:
    """Who speaks.

    Attributes:
        name: in transcripts; unique within a conversation.
        system: its instructions.
        begin: what it is sent in place of others' words where nobody has spoken yet.
        role, engine: who writes its turns, as in ``Request``.
        lines: it is no model and says these, one per turn, the last again and again.
        quote: how others' words reach it; None: as they are.
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
    """One voice's turn.

    Attributes:
        text: as others hear it.
        written: as it came back.
        tokens: of prompt and completion; 0 for lines.
        is_confused: it went on as somebody else, and that was cut off.
        is_repeated: the voice has said the same before, or somebody else has just now.
    """

    speaker: str
    text: str
    written: str
    tokens: int = 0
    is_confused: bool = False
    is_repeated: bool = False

    @cached_property
    def plain(self) -> str:
        """The words of the text alone, by which repetitions are found."""
        return _plain(self.text)


Rule = Callable[[Sequence[Turn]], str | None]
"""The turns so far -> what ends the conversation; None: nothing yet."""


@dataclass(frozen=True)
class Dialogue:
    """A conversation to be held.

    Attributes:
        key: identifies it.
        voices: in the order in which they speak, again and again.
        rule: of its end.
        max_turns: of all voices together.
        max_tokens: prompts and completions of all turns; None: no budget.
        sample: which sampled turns are its own (``Prompt.sample``): conversations of different samples share
            none, not even an opening. Greedy turns are shared by all with equal histories.
    """

    key: Hashable
    voices: tuple[Voice, ...]
    rule: Rule
    max_turns: int
    max_tokens: int | None = None
    sample: str = ""


@dataclass
class Talk:
    """A conversation under way. ``ended_by`` is None while it is, or where a voice has not answered."""

    dialogue: Dialogue
    turns: list[Turn] = field(default_factory=list)
    ended_by: str | None = None

    @property
    def next_voice(self) -> Voice:
        """Whose turn it is."""
        voices = self.dialogue.voices
        return voices[len(self.turns) % len(voices)]

    @property
    def tokens(self) -> int:
        """Return the tokens of all turns."""
        return sum(turn.tokens for turn in self.turns)

    def take(self, written: str, tokens: int, failure: str | None = None) -> None:
        """Add what the next voice wrote, and see whether that ends the conversation.

        failure: why there is no text, which ends it.
        """
        voice, dialogue = self.next_voice, self.dialogue
        text, is_confused = own_words(written, voice, dialogue.voices)
        earlier = [turn for turn in self.turns[:-1] if turn.speaker == voice.name] + self.turns[-1:]
        plain = _plain(text)
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
"""Whose prompts make one request."""


class Dialogues:
    """Many conversations under way, each as far as stored turns take it."""

    def __init__(self, dialogues: Iterable[Dialogue]) -> None:
        """Nobody has spoken but voices with lines.

        Raises:
            ValueError: a voice's name comes twice in a conversation, or a key twice.
        """
        self.talks: dict[Hashable, Talk] = {}
        self._sent: dict[Group, dict[str, Prompt]] = {}
        self._waiting: dict[Group, dict[str, list[Talk]]] = {}
        for dialogue in dialogues:
            names = [voice.name for voice in dialogue.voices]
            if len(set(names)) < len(names) or dialogue.key in self.talks:
                raise ValueError(f"conversation {dialogue.key!r}: voices {names}: each key and name once")
            self.talks[dialogue.key] = Talk(dialogue)
            self._proceed(self.talks[dialogue.key])

    def hear(self, stored: Callable[[Prompts], Mapping[str, Completion]]) -> None:
        """Take every turn that is stored, until none is that is waited for.

        stored: a request to what is stored of it; each completion is asked for once.
        """
        while heard := [
            (self._waiting[group].pop(unit), completion)
            for group in list(self._waiting)
            for unit, completion in stored(self._request(group, list(self._waiting[group]))).items()
        ]:
            self._waiting = {group: waiting for group, waiting in self._waiting.items() if waiting}
            for talks, completion in heard:
                for talk in talks:
                    tokens = completion.prompt_tokens + completion.completion_tokens
                    talk.take(completion.text, tokens, no_text(completion))
                    self._proceed(talk)

    def requests(self, batch: int = 32, topic: str = "") -> list[Prompts]:
        """Every prompt up to now, sent before or not: one request per voice and sampling."""
        return [self._request(group, list(self._sent[group]), batch, topic) for group in self._sent]

    def _proceed(self, talk: Talk) -> None:
        """Say all lines that come next; then wait for a completion, if the conversation goes on."""
        while talk.ended_by is None and (lines := talk.next_voice.lines):
            spoken = sum(turn.speaker == talk.next_voice.name for turn in talk.turns)
            talk.take(lines[min(spoken, len(lines) - 1)], 0)
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
    """Return a voice's messages: its own turns as the assistant's, all that others said in between as a
    user's.

    With more than two voices others' turns begin with their names.
    """
    messages: list[Message] = [{"role": "system", "content": voice.system}] if voice.system else []
    begun = False
    for is_own, turns_of in groupby(turns, lambda turn: turn.speaker == voice.name):
        if is_own and not begun:
            messages.append({"role": "user", "content": voice.begin})
        begun = True
        texts = [_as_heard(turn, voice, len(voices) > 2 and not is_own) for turn in turns_of]
        messages.append({"role": "assistant" if is_own else "user", "content": "\n\n".join(texts)})
    return messages if begun else [*messages, {"role": "user", "content": voice.begin}]


def own_words(written: str, voice: Voice, voices: Sequence[Voice]) -> tuple[str, bool]:
    """Return a voice's own words, and whether it went on as somebody else.

    Its own name before its words is taken off. The text ends where a line begins with another's name and a
    colon, or with a mark of a chat template.
    """
    own, forged = _patterns(voice.name, voice.role, tuple(v.name for v in voices if v.name != voice.name))
    text = own.sub("", written).strip()
    end = forged.search(text)
    return (text[: end.start()].strip(), True) if end else (text, False)


@lru_cache(maxsize=1 << 8)
def _patterns(name: str, role: Role, others: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns of a voice's own name before its words, and of where it goes on as somebody else."""
    own = (name, *_OWN_NAMES.get(role, ()))
    names = [*others, *(other for other in _OTHER_NAMES if other not in own)]
    return (
        re.compile(rf"\A\s*{_label(own)}", re.IGNORECASE),
        re.compile(rf"{_MARKS}|^[ \t]*{_label(names)}", re.IGNORECASE | re.MULTILINE),
    )


def transcript(turns: Iterable[Turn]) -> list[str]:
    """One text per turn, "Name: words"."""
    return [f"{turn.speaker.capitalize()}: {turn.text}" for turn in turns]


def _label(names: Iterable[str]) -> str:
    """A name before somebody's words, in any of the ways in which chats are written down."""
    return rf"[*_#>\[( \t]*(?:the )?(?:{'|'.join(map(re.escape, names))})(?:'s turn)?[*_\])]*\s*:[*_]*[ \t]*"


def _as_heard(turn: Turn, voice: Voice, is_named: bool) -> str:
    if turn.speaker == voice.name:
        return turn.text
    text = voice.quote(turn.text) if voice.quote else turn.text
    return f"{turn.speaker.capitalize()}: {text}" if is_named else text


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
