"""The message about a dish is read from a program like FmLAMA's, and sent with the direct matches apart."""

from __future__ import annotations

import ast

import pytest

from tasks.evaluations.fmlama.judge import FURTHER_INPUTS, JudgedDish, judge_prompts, read_marks, rubric
from tasks.loop.prompts import Completion
from tasks.papers.fmlama import message

PROGRAM = """
import json
with open(path) as files:
    instruction_prompt = "".join(files.readlines())
for country, data_list in dataset.items():
    for data in data_list:
        d = {}
        d['Dish'] = data['dish']
        d['Gold_ingredients'] = data['gold_ingredient']
        head = 'D: ' + d['Dish']
        gold = 'Known: ' + ', '.join(d['Gold_ingredients'])
        found = 'Guessed: ' + ', '.join(d['Predicted_ingredient'])
        final_promts = instruction_prompt + "\\n\\n### In {:\\n" + '\\n'.join([head, gold, found])
        dirct_match = list(set(d['Gold_ingredients']) & set(d['Predicted_ingredient']))
        difference = list(set(d['Predicted_ingredient']) - set(dirct_match))
        if len(dirct_match) > 0:
            more_prompt = 'At once ' + ', '.join(dirct_match) + '. Now: ' + ', '.join(difference)
        else:
            more_prompt = 'At once none. Now: ' + ', '.join(difference)
        final_promts = final_promts + '\\n\\n' + more_prompt
        try:
            completion = client.create(messages=[{"role": "user", "content": final_promts}])
        except Exception as e:
            pass
"""
RULES = "Return a Python dictionary: {'ingredient': ('Correct', 'Direct Match')}, or Maybe or Incorrect."


def test_message_is_a_template_of_the_programs_words() -> None:
    assert message.question(ast.parse(PROGRAM)) == (
        "### In {:\nD: {{ dish }}\nKnown: {{ reference }}\nGuessed: {{ predicted }}\n\n"
        "{% if matched %}At once {{ matched }}. Now: {{ remaining }}"
        "{% else %}At once none. Now: {{ remaining }}{% endif %}"
    )


@pytest.mark.parametrize("source", ["", "x = 1", "text = 'Dish: ' + d['Dish']", "f(1)(2).x[3] = 4"])
def test_other_programs_have_no_message(source: str) -> None:
    assert message.question(ast.parse(source)) is None


def test_direct_matches_are_named_and_given_and_tuples_are_read() -> None:
    text = message.question(ast.parse(PROGRAM))
    own = rubric().reworded(RULES, text, further=FURTHER_INPUTS)
    dish = JudgedDish("u", "poutine", "Canada", ("salt", "rice", "oil"), ("salt", "gravy", "tar"))
    (prompt,) = judge_prompts(own, [dish], "given")
    assert prompt.asked == ("gravy", "tar")
    sent = prompt.prompt.conversation[-1]["content"]
    assert 'Guessed: <data>["salt", "gravy", "tar"]</data>' in sent
    assert 'At once <data>["salt"]</data>. Now: <data>["gravy", "tar"]</data>' in sent
    reply = "```python\n{'gravy': ('Correct', 'Substitutability'),\n 'tar': ('Incorrect', 'Not used')}\n```"
    (marks,) = read_marks(own, [prompt], {prompt.prompt.id: Completion(reply, "stop", 1, 1)})
    assert [verdict.value for verdict in marks.verdicts] == [1.0, 1.0, 0.0]
    (alone,) = judge_prompts(own, [JudgedDish("u", "poutine", "Canada", ("oil",), ("tar",))], "given")
    assert "At once none. Now: <data>" in alone.prompt.conversation[-1]["content"]
