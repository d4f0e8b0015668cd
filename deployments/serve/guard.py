"""The Prefect server as ``server.started`` starts it: for this host's own pages, with reports beside the UI.

A page of another site can have its own name resolve to 127.0.0.1; the name in the Host header is what gives
it away. Authentication, origins and CSRF are settings of Prefect, given by ``server.started``.
"""

from __future__ import annotations

import base64
import hmac
import os
from typing import TYPE_CHECKING, Any

from deployments.serve.server import AUTH, HOST, HOSTS

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


def create_app() -> Any:
    """The ASGI application, for ``uvicorn --factory``."""
    from prefect.server.api.server import create_app
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.routing import Route

    app = create_app()
    pages = [Route("/reports/{evaluation}/{config}", _report), Route("/reports", _report)]
    app.router.routes[:0] = pages  # the UI takes any path
    # Around the application: Prefect's automations call it in memory, under a host name of their own.
    return TrustedHostMiddleware(app, allowed_hosts=[*HOSTS], www_redirect=False)


def _report(request: Request) -> Response:
    """The page on a configuration, or the overview, drawn when asked for; a browser asks for the login of the
    UI."""
    from starlette.responses import HTMLResponse, PlainTextResponse

    from deployments.show.overview import overview
    from deployments.show.report import page
    from warehouse import Warehouse, WarehouseError

    scheme, _, given = request.headers.get("Authorization", "").partition(" ")
    login = base64.b64encode(os.environ[f"PREFECT_SERVER_{AUTH}"].encode()).decode()
    if scheme != "Basic" or not hmac.compare_digest(given.encode(), login.encode()):
        ask = {"WWW-Authenticate": f'Basic realm="Culturescope on {HOST}"'}
        return PlainTextResponse("the login that culturescope serve shows", 401, ask)
    try:
        asked, warehouse = request.path_params, Warehouse.open()
        if not asked:
            return HTMLResponse(overview(warehouse))
        return HTMLResponse(page(warehouse, asked["evaluation"], asked["config"]))
    except WarehouseError as error:
        return PlainTextResponse(str(error), 404)
