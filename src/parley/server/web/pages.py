"""The dashboard's page and files over HTTP."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Header, Request, Response

from parley.server.errors import NotFound
from parley.server.kit.provide import provided
from parley.server.web.assets import PREFIX, Asset, Assets

PAGES: Final = ("sign-in", "tests", "account", "evaluations")
"""First parts of the addresses that the dashboard shows something at; it leads on from there by itself."""

_GUARDS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "X-Frame-Options": "DENY",
}
_FOR_GOOD = "public, max-age=31536000, immutable"

router = APIRouter(include_in_schema=False)

AssetsDep = Annotated[Assets, provided(Assets)]
AcceptEncoding = Annotated[str, Header()]
IfNoneMatch = Annotated[str, Header()]


async def page(
    request: Request, assets: AssetsDep, accept_encoding: AcceptEncoding = "", if_none_match: IfNoneMatch = ""
) -> Response:
    """The one page, whatever its address within the dashboard: its modules read the address."""
    shell = assets.page_at(request.url.path)
    headers = {"Content-Security-Policy": assets.policy, "Cache-Control": "no-cache"}
    return _answer(shell, accept_encoding, if_none_match, headers)


@router.get(PREFIX + "/{version}/{path:path}")
async def static(
    version: str,
    path: str,
    assets: AssetsDep,
    accept_encoding: AcceptEncoding = "",
    if_none_match: IfNoneMatch = "",
) -> Response:
    """A file of this version. While a release is on its way, another version's frame gets this one's files,
    not to be kept; its pages get none, so that a tab of an earlier release reloads instead of mixing both."""
    asset = assets.find(path)
    if asset is None or (version != assets.version and path.startswith("pages/")):
        raise NotFound("There is nothing at this address.")
    lasting = _FOR_GOOD if version == assets.version else "no-cache"
    return _answer(asset, accept_encoding, if_none_match, {"Cache-Control": lasting})


for _address in ("/", *(f"/{name}{rest}" for name in PAGES for rest in ("", "/{rest:path}"))):
    router.add_api_route(_address, page, methods=["GET", "HEAD"])


def _answer(asset: Asset, accepted: str, known: str, headers: dict[str, str]) -> Response:
    headers = {**_GUARDS, **headers, "ETag": asset.etag, "Vary": "Accept-Encoding"}
    if asset.etag in known:
        return Response(status_code=304, headers=headers)
    content = asset.content
    if "gzip" in accepted and asset.pressed is not None:
        content = asset.pressed
        headers["Content-Encoding"] = "gzip"
    return Response(content, headers=headers, media_type=asset.media_type)
