"""Pages from templates: Jinja2, which escapes everything."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from rockdove import __version__
from rockdove.console.session import Session

HERE: Final = Path(__file__).parent
STATIC: Final = HERE / "static"
# Charts are drawn by uPlot, which is fetched when the console is set up, or built.
UPLOT: Final = STATIC / "vendor" / "uPlot.iife.min.js"

# Of the bar at the top: address, words.
NAVIGATION: Final = (
    ("/", "Queues"),
    ("/elastic", "Elastic"),
    ("/analysis", "Analysis"),
    ("/plan", "Plan"),
    ("/papers", "Papers"),
)


class Renderer:
    """Templates are read once."""

    def __init__(self) -> None:
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(HERE / "template"),
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            undefined=jinja2.StrictUndefined,
        )
        self._environment.globals["version"] = __version__

    def response(
        self,
        request: Request,
        console: Any,
        session: Session | None,
        template: str,
        status: int,
        values: Mapping[str, Any],
    ) -> Response:
        admin = session is not None and session.account.admin
        html = self._environment.get_template(template).render(
            path=request.url.path,
            navigation=(*NAVIGATION, ("/accounts", "Accounts")) if admin else NAVIGATION,
            account=session.account if session is not None else None,
            endpoint=console.service.endpoint,
            trouble=console.service.trouble,
            has_charts=UPLOT.exists(),
            **values,
        )
        return HTMLResponse(html, status)
