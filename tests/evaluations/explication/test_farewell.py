"""Farewells of a user: texts that end a conversation, and texts that only resemble one."""

from __future__ import annotations

import pytest

from tasks.evaluations.explication.materials import FAREWELL, RECOMMENDER, USER, Persona, end_of, load_task
from tasks.evaluations.explication.texts import LEAVE, is_farewell
from tasks.loop.dialogue import Turn
from tests.evaluations.explication.conftest import PERSONAS, study

STAYS = (
    "I take care of my two kids.",
    "I say bye to the children and then I cook for myself.",
    "I say goodbye to my husband at six. Then there is time.",
    "In the morning I take care of my mother, who is ninety.",
    "Thank you for asking. I have to say goodbye to the kids at seven.",
    "Thanks! By then I see you are in a hurry, so I will be short: no milk.",
    "My daughter calls from the door: bye, have a nice day!",
    "My daughter calls: 'Bye!'",
    'Thank you for asking. At seven she says "Goodbye!"',
    "Thanks. The guard at the gate wishes me a good day, every day.",
    "I used to see you people on television.",
    "The nurse takes care of that. Thank you.",
    "We bid farewell to winter with pancakes.",
    "It is a farewell party for a colleague.",
    "Goodbye parties are what we celebrate most.",
    "Since the divorce I said bye bye to sugar.",
    "Take care of the salt, please: my blood pressure is high.",
    "Bye-bye is what I said to bread, doctor's orders.",
    "Have a good day starts with tea, my mother says.",
    "Thanks, that is all I know about my health.",
    "Thank you!",
    "No, thank you.",
    "Okay.",
    "Well, good.",
    "See you at breakfast, says my son, and he never comes.",
    "Thank you. Before I say goodbye, what about nuts?",
    "Goodbye? I have had no recommendation yet.",
    "Thanks! Could you take care of the allergy too?",
    "I work nights, so good night is what I hear at breakfast.",
    f"I was told to write {LEAVE} in the end, but I still want an idea.",
    "",
    "…",
)
LEAVES = (
    "Goodbye!",
    "Bye.",
    "bye bye",
    "Good-bye!",
    "Okay, bye!",
    "Thanks, bye!",
    "Thank you so much for your help. Goodbye!",
    "That is all. Goodbye and thank you for your time!",
    "Well, then: take care!",
    "See you later!",
    "Thank you, have a nice day!",
    "Thanks again. I have to go now. See you soon!",
    "I will try that tomorrow, before the kids wake up. Thank you! Have a lovely day!",
    "Thanks for the idea, I take care of two kids and it fits. Bye!",
    "Thank you, it sounds right for my mother. All the best!",
    "Goodbye 👋",
    "**Goodbye!**",
    "Have a good one!",
    f"I have nothing to add. {LEAVE}",
    f"Nothing came of it.\n{LEAVE}.",
    LEAVE.upper(),
)


@pytest.mark.parametrize(
    ("text", "ends"), [*((text, False) for text in STAYS), *((text, True) for text in LEAVES)]
)
def test_farewell_is_distinguished_from_talk_of_leaving(text: str, ends: bool) -> None:
    assert is_farewell(text) == ends


@pytest.mark.parametrize("unit", ["bye ", "thank you so ", "so ", ". ", "Bye. ", "see you "])
def test_long_hostile_turn_is_not_a_farewell(unit: str) -> None:
    assert not is_farewell(unit * 5000 + "x")


@pytest.mark.parametrize("persona", PERSONAS.values(), ids=list(PERSONAS))
def test_no_text_of_a_persona_is_a_farewell(persona: Persona) -> None:
    texts = [fact.text for fact in persona.facts] + [persona.summary, *persona.notable_quotes]
    assert not [text for text in texts if is_farewell(text)]
    assert not [text for text in texts if is_farewell(f"Thanks for asking. {text}")]


def test_only_the_users_farewell_ends_a_conversation() -> None:
    task = load_task("breakfast")
    assert end_of(task, [Turn(USER, "Thanks, bye!", "")]) == FAREWELL
    assert end_of(task, [Turn(RECOMMENDER, "Thanks, bye!", "")]) is None
    assert end_of(task, [Turn(USER, "I take care of two kids.", "")]) is None
    *_, user = next(iter(study(repetitions=1).dialogues())).voices
    assert LEAVE in user.system
