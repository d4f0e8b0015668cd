"""The web app of one study: pages of plain forms, which htmx saves field by field.

A page belongs to one person: its address is its place in their assignment, never an item. The person and role
decide what a session may do. Nothing here reads the private file.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from deployments.people import pages
from deployments.people.pages import texts
from deployments.people.site import (
    COOKIE,
    HEADERS,
    Interviewer,
    Own,
    RefusedError,
    Site,
    check_csrf,
    check_origin,
    read_form,
)
from tasks.people.study import in_language

STATIC = Path(__file__).parent / "static"
FILES = ("htmx.min.js", "htmx.LICENSE.txt", "people.js", "people.css")
PROLIFIC = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")


def create_app(folder: Path, origin: str, interviewer: Interviewer | None = None) -> FastAPI:
    """Return the web app of the study in a folder.

    Args:
        origin: scheme, name and port under which browsers reach it, such as https://study.example.org.
        interviewer: asks the questions if the study is an interview.
    """
    site = Site(folder, origin, interviewer)
    app = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    app.state.site = site
    app.add_middleware(
        TrustedHostMiddleware, allowed_hosts=[urlsplit(origin).hostname or ""], www_redirect=False
    )

    @app.middleware("http")
    async def bounded(request: Request, call: Callable[[Request], Awaitable[Response]]) -> Response:
        """Add the headers to every response, and refuse forms that did not come from our own pages."""
        try:
            if request.method not in ("GET", "HEAD"):
                check_origin(request, site.origin)
            response = await call(request)
        except RefusedError as error:
            response = refused(request, error)
        response.headers.update(HEADERS)
        return response

    @app.exception_handler(RefusedError)
    def refused(request: Request, error: Exception) -> Response:
        status = error.status if isinstance(error, RefusedError) else 400
        return PlainTextResponse(str(error), status)

    @app.exception_handler(HTTPException)
    def not_there(request: Request, error: Exception) -> Response:
        return PlainTextResponse("there is no such page", getattr(error, "status_code", 400))

    _add_entrance(app, site)
    _add_forms(app, site)
    return app


def _add_entrance(app: FastAPI, site: Site) -> None:
    """Add the pages for entering and leaving: links, Prolific, consent, pause, the end, withdrawal."""
    study, store = site.study, site.store

    def page(language: str, heading: str, text: str, **values: object) -> HTMLResponse:
        return HTMLResponse(pages.text_page(study, language, heading, text, **values))

    def begun(session: str) -> Response:
        response = RedirectResponse("/", 303)
        secure = site.origin.startswith("https:")
        response.set_cookie(
            COOKIE, session, max_age=90 * 86_400, httponly=True, secure=secure, samesite="lax"
        )
        return response

    @app.get("/enter/{token}")
    def entrance(token: str) -> Response:
        """Show a button first, so that programs that follow links in e-mails do not use a link up."""
        language = study.languages[0]
        t = texts(language)
        values = {"action": f"/enter/{token}", "button": t["enter"]}
        return page(language, t["enter"], t["enter_text"], **values)

    @app.post("/enter/{token}")
    def enter(request: Request, token: str) -> Response:
        site.entries.take(request.client.host if request.client else "")
        session = store.enter(token)
        if session is None:
            raise RefusedError(403, "this link has been used or is not valid: ask for a new one")
        return begun(session)

    @app.get("/join")
    def join(request: Request) -> Response:
        language = request.query_params.get("lang", study.languages[0])
        language = language if language in study.languages else study.languages[0]
        hidden = {name: request.query_params.get(name, "")[:64] for name in PROLIFIC} | {"lang": language}
        t = texts(language)
        return page(language, t["enter"], t["join_text"], action="/join", button=t["enter"], hidden=hidden)

    @app.post("/join")
    async def joined(request: Request) -> Response:
        site.entries.take(request.client.host if request.client else "")
        form = await read_form(request)
        participant, language = form.get("PROLIFIC_PID", ""), form.get("lang", "")
        if not (participant.isascii() and participant.isalnum() and len(participant) <= 64):
            raise RefusedError(400, "open the study from Prolific")
        session = await run_in_threadpool(store.enter_prolific, participant, language)
        if session is None:
            raise RefusedError(403, texts(language)["full"])
        return begun(session)

    @app.get("/")
    def home(request: Request) -> Response:
        """Redirect to the page that the person has reached."""
        who = site.who(request)
        if who.role == "lead":
            return RedirectResponse("/progress", 303)
        if who.withdrawn:
            return page(who.language, texts(who.language)["withdraw"], texts(who.language)["withdrawn"])
        if not who.consented:
            return RedirectResponse("/consent", 303)
        place = site.first_open(who, store.saved(who.annotator))
        return RedirectResponse("/done" if place is None else f"/item/{place}", 303)

    @app.get("/consent")
    def consent(request: Request) -> Response:
        who = site.who(request)
        t = texts(who.language)
        heading, text = (in_language(each, who.language) for each in (study.title, study.consent))
        values = {"action": "/consent", "button": t["agree"], "hidden": {"csrf": who.csrf}}
        return page(who.language, heading, f"{text}\n\n{t['disagree']}", **values)

    @app.post("/consent")
    async def consented(request: Request) -> Response:
        who, form = site.who(request), await read_form(request)
        check_csrf(who, form)
        if who.withdrawn:
            raise RefusedError(403, "you have withdrawn from this study")
        store.mark(who.annotator, "consented")
        return RedirectResponse("/guide", 303)

    @app.get("/guide")
    def guide(request: Request) -> Response:
        who = site.who(request)
        t = texts(who.language)
        text = in_language(study.guidelines, who.language)
        return page(who.language, t["guidelines"], text, links=[("/", t["start"])])

    @app.get("/pause")
    def pause(request: Request) -> Response:
        who = site.who(request)
        t = texts(who.language)
        return page(who.language, t["pause"], t["paused"], links=[("/", t["resume"])])

    @app.get("/done")
    def done(request: Request) -> Response:
        who = site.who(request)
        is_open = site.first_open(who, store.saved(who.annotator)) is not None
        if not who.consented or who.withdrawn or is_open:
            return RedirectResponse("/", 303)
        store.mark(who.annotator, "finished")
        t = texts(who.language)
        links = [("/item/1", t["back"]), ("/withdraw", t["withdraw"])]
        return page(who.language, t["done"], t["done_text"], code=study.completion_code, links=links)

    @app.get("/withdraw")
    def withdrawal(request: Request) -> Response:
        who = site.who(request)
        t = texts(who.language)
        values = {"action": "/withdraw", "button": t["withdraw"], "hidden": {"csrf": who.csrf}}
        return page(who.language, t["withdraw"], t["withdraw_text"], **values, links=[("/", t["back"])])

    @app.post("/withdraw")
    async def withdrawn(request: Request) -> Response:
        who, form = site.who(request), await read_form(request)
        check_csrf(who, form)
        await run_in_threadpool(store.withdraw, who.annotator)
        return RedirectResponse("/", 303)


def _add_forms(app: FastAPI, site: Site) -> None:
    """Add the pages of the study and the page that shows people's progress."""
    store = site.store

    def shown(own: Own, marks: dict[str, str]) -> HTMLResponse:
        saved = store.saved(own.who.annotator)
        counts = site.n_complete(own.who, saved)
        t = texts(own.who.language)
        labels = {name: t[mark] for name, mark in marks.items()}
        return HTMLResponse(
            pages.form_page(site.study, own.who, own.assignment, own.item, saved, counts, labels)
        )

    @app.get("/item/{place}")
    def form(request: Request, place: int) -> Response:
        own = site.page(site.who(request), place)
        store.open_page(own.who.annotator, own.item.item)
        return shown(own, {})

    @app.post("/item/{place}")
    async def submitted(request: Request, place: int) -> Response:
        """Save a whole page, sent by a browser without scripts, and go on only if nothing is missing."""
        own = site.page(site.who(request), place)
        sent = await read_form(request)
        check_csrf(own.who, sent)
        lacking = await run_in_threadpool(site.save, own, sent)
        match sent.get("go"):
            case "pause":
                return RedirectResponse("/pause", 303)
            case "back":
                return RedirectResponse(f"/item/{max(1, place - 1)}", 303)
        lacking = pages.missing(own.page, own.item, store.saved(own.who.annotator)) | lacking
        if lacking:
            return shown(own, lacking)
        if site.has_no_place(own):
            await run_in_threadpool(store.release, own.who.annotator)
            t = texts(own.who.language)
            return HTMLResponse(pages.text_page(site.study, own.who.language, t["done"], t["turned_away"]))
        is_last = place + 1 not in site.own[own.who.annotator]
        return RedirectResponse("/" if is_last else f"/item/{place + 1}", 303)

    @app.post("/save/{place}/{field}")
    async def save(request: Request, place: int, field: str) -> Response:
        own = site.page(site.who(request), place)
        sent = await read_form(request)
        check_csrf(own.who, sent)
        lacking = await run_in_threadpool(site.save, own, sent, field)
        t = texts(own.who.language)
        mark = lacking.get(field, "")
        return PlainTextResponse(t["repeated"] if mark == "repeated" else t["saved"])

    @app.post("/talk/{place}/{field}")
    async def talk(request: Request, place: int, field: str) -> Response:
        """Take one turn of an interview, then show the page with the reply, or the next page at the end."""
        own = site.page(site.who(request), place)
        sent = await read_form(request)
        check_csrf(own.who, sent)
        is_over = sent.get("go") == "end"
        await run_in_threadpool(site.talk, own, field, sent.get("said", "").strip(), is_over)
        return RedirectResponse("/" if is_over else f"/item/{place}#said", 303)

    @app.get("/progress")
    def progress(request: Request) -> Response:
        """Show study leads everyone's progress, without answers."""
        who = site.who(request)
        if who.role != "lead":
            raise RefusedError(403, "only study leads may open this page")
        rows = [{**person, "state": _state(person)} for person in store.people()]
        return HTMLResponse(
            pages.render("progress.html", site.study, who.language, site.study.name, people=rows)
        )

    @app.get("/favicon.ico")
    def icon() -> Response:
        """Return no icon; browsers request one for every page."""
        return Response(status_code=204)

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in FILES:
            raise RefusedError(404, "there is no such file")
        return FileResponse(STATIC / name)


def _state(person: dict[str, object]) -> str:
    return next(
        (state for state in ("withdrawn", "finished", "consented", "entered") if person[state]), "invited"
    )
