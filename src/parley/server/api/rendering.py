"""Errors on the wire, in one place."""

from __future__ import annotations

from typing import Any

import orjson
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from parley.server.errors import (
    BodyTooLarge,
    InternalError,
    InvalidRequest,
    MethodNotAllowed,
    NotFound,
    ServerError,
)
from parley.server.kit.faults import invalid_request


def error_response(error: ServerError) -> Response:
    """The answer to an error, in its envelope."""
    envelope = {"error": error.text, "code": error.code, "details": error.details}
    return Response(
        orjson.dumps(envelope, default=str),
        status_code=error.status,
        headers=error.headers(),
        media_type="application/json",
    )


def install_error_handlers(app: FastAPI) -> None:
    """Make every refusal leave in the envelope."""
    app.add_exception_handler(ServerError, _server_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_exception)


async def _server_error(_request: Request, fault: Exception) -> Response:
    return error_response(fault if isinstance(fault, ServerError) else InternalError())


async def _validation_error(request: Request, fault: Exception) -> Response:
    assert isinstance(fault, RequestValidationError)
    in_body = [error | {"loc": error["loc"][1:]} for error in fault.errors() if error["loc"][0] == "body"]
    elsewhere = [error | {"loc": error["loc"][1:]} for error in fault.errors() if error["loc"][0] != "body"]
    found = invalid_request(in_body, fault.body, _wanted_body(request))
    found_elsewhere = invalid_request(elsewhere, {})
    return error_response(
        InvalidRequest.faults(
            (line["field"], line["problem"]) for line in found.details + found_elsewhere.details
        )
    )


def _wanted_body(request: Request) -> Any:
    field = getattr(request.scope.get("route"), "body_field", None)
    return field.field_info.annotation if field is not None else None


async def _http_exception(_request: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    match fault.status_code:
        case 404:
            response = error_response(NotFound("There is nothing at this address."))
        case 405:
            response = error_response(MethodNotAllowed())
        case 413:
            response = error_response(BodyTooLarge())
        case status if status < 500:
            response = error_response(InvalidRequest(str(fault.detail)))
        case _:
            response = error_response(InternalError())
    response.headers.update(fault.headers or {})
    return response
