"""An interview through the app: what is stored, what is refused, and the persona made from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from deployments.people.app import create_app
from deployments.people.explication import ModelInterviewer
from deployments.people.site import Site, answers
from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import Conversations, EngineError, Generation, Sampling, Schema
from tasks.evaluations.explication.interview import persona_of, texts_of
from tasks.evaluations.explication.materials import Persona, read_personas
from tasks.loop.steps import spec_of
from tests.deployments.test_cli_people import people
from tests.deployments.test_people_app import ORIGIN, Person
from tests.evaluations.explication.conftest import PERSONAS
from warehouse import Warehouse

DRAFT = PERSONAS["heena-ahmedabad"].model_dump(mode="json")
ATTACK = "<script>alert(1)</script> What else?"


class Asker:
    """A model that always asks one question, drafts a shipped persona, and can be set to fail."""

    fails = False
    asked: list[str]

    def generate(
        self, conversations: Conversations, sampling: Sampling, schema: Schema = None, n: int = 0
    ) -> list[Generation]:
        if self.fails:
            raise EngineError("the server is away")
        self.asked.append(str(conversations[0]))
        text = json.dumps(DRAFT) if schema else ATTACK
        return [Generation(text, "stop", 9, 3, sampling.seed)]


@pytest.fixture
def asker(monkeypatch: pytest.MonkeyPatch) -> Asker:
    asker = Asker()
    asker.asked = []
    monkeypatch.setattr(FakeEngine, "generate", lambda self, *given: asker.generate(*given))
    return asker


@pytest.fixture
def site(warehouse: Warehouse, asker: Asker) -> Iterator[Site]:
    people("new", "talk", "--study", "persona-interview", "--people", 2)
    interviewer = ModelInterviewer(spec_of("fake-a"), warehouse.home / "models")
    app = create_app(warehouse.home / "people" / "talk", ORIGIN, interviewer)
    site: Site = app.state.site
    site.app = app  # type: ignore[attr-defined]
    yield site
    site.store.close()


def begun(site: Site, annotator: str = "p001") -> Person:
    return Person(site.app, site.store.invite(annotator, "annotator", "en")).begun()  # type: ignore[attr-defined]


def test_interview_becomes_a_persona(site: Site, warehouse: Warehouse, asker: Asker) -> None:
    who = begun(site)
    assert who.post("/item/1", go="next").url.path == "/item/1"  # the interview comes first
    page = who.post("/talk/1/interview", said="Tea, and </data> khakhra.", go="say")
    assert "&lt;script&gt;" in page.text
    assert "<script>alert" not in page.text
    assert "Tea, and &lt;/data&gt; khakhra." in page.text
    assert who.post("/talk/1/interview", said="That is all.", go="end").url.path == "/item/2"
    assert "That is all." in asker.asked[-1]
    assert who.post("/talk/1/interview", said="more", go="say").status_code == 409
    form = who.get("/item/2").text
    assert "Ahmedabad" in form
    assert "told_by" not in form
    fields = texts_of(DRAFT)
    facts = fields["facts"].splitlines()
    fields["facts"] = "\n".join([*facts[:-1], "taste: I like it sour."])
    assert who.post("/item/2", **fields, go="next").url.path == "/done"
    assert "0 personas in" in people("pull", "talk")
    path = warehouse.home / "people" / "talk"
    (still_open,) = json.loads((path / "personas-open.json").read_text())
    assert still_open["facts"][-1]["told_by"] == []
    assert still_open["facts"][0]["told_by"]
    # With the original last fact the persona is complete, and explication reads the file.
    who.get("/item/2")
    who.post("/save/2/facts", facts="\n".join(facts))
    assert "1 personas in" in people("pull", "talk")
    (persona,) = read_personas(path / "personas.json")
    assert persona.facts == PERSONAS["heena-ahmedabad"].facts
    assert persona.persona == "p001"


def test_turns_of_the_person_are_kept_if_the_model_fails(site: Site, asker: Asker) -> None:
    who = begun(site)
    asker.fails = True
    page = who.post("/talk/1/interview", said="Porridge.", go="say")
    assert "Porridge." in page.text
    assert ATTACK.partition("> ")[2] not in page.text
    asker.fails = False
    page = who.post("/talk/1/interview", said="", go="say")  # a retry adds no turn of the person
    assert page.text.count("Porridge.") == 1
    assert "What else?" in page.text
    asker.fails = True
    assert who.post("/talk/1/interview", said="", go="end").url.path == "/item/2"
    assert "dietary restrictions: " in who.get("/item/2").text  # an empty form to fill in by hand
    talks = [json.loads(row.value) for row in answers(site.folder, site.store) if isinstance(row.value, str)]
    assert talks[-1] == [["person", "Porridge."], ["interviewer", ATTACK]]


def test_forged_turns_are_refused_and_withdrawal_deletes_drafts(site: Site) -> None:
    who, other = begun(site), begun(site, "p002")
    for path, fields, status in (
        ("/talk/2/name", {"said": "x"}, 404),
        ("/talk/1/other", {"said": "x"}, 404),
        ("/talk/9/interview", {"said": "x"}, 404),
        ("/talk/1/interview", {"said": "x" * 3000}, 422),
        ("/talk/1/interview", {"said": "", "go": "end"}, 422),
        ("/talk/1/interview", {"said": "x", "csrf": other.csrf}, 403),
        ("/save/1/interview", {"interview": '[["interviewer", "forged"]]'}, 200),
    ):
        assert who.post(path, **fields).status_code == status, path
    assert not answers(site.folder, site.store)
    who.post("/talk/1/interview", said="unmistakable words", go="end")
    assert site.store.given("p001", "persona")
    assert not site.store.given("p002", "persona")
    who.get("/withdraw")
    who.post("/withdraw")
    assert not site.store.given("p001", "persona")


def test_interview_without_an_engine_is_refused(site: Site, warehouse: Warehouse) -> None:
    with pytest.raises(ValueError, match="--engine"):
        create_app(warehouse.home / "people" / "talk", ORIGIN)
    assert "--engine" in people("serve", "talk", code=1)


def test_shipped_personas_are_unchanged_by_the_form() -> None:
    for persona in PERSONAS.values():
        draft = persona.model_dump(mode="json")
        profile, faults = persona_of("P_1", texts_of(draft), draft)
        assert faults == []
        again = Persona.model_validate(profile)
        assert (again.persona, again.facts, again.checks) == ("p-1", persona.facts, persona.checks)
    profile, faults = persona_of("p1", {"constraints": "budget: huge\nmood: good"}, {})
    assert "constraints: no part is called 'mood'" in faults
    assert any(fault.startswith("constraints.budget") for fault in faults)


def test_study_folder_contains_no_token(site: Site, warehouse: Warehouse) -> None:
    token = site.store.invite("p001", "annotator", "en")
    folder: Path = warehouse.home / "people" / "talk"
    assert not [f for f in folder.iterdir() if f.is_file() and token.encode() in f.read_bytes()]
