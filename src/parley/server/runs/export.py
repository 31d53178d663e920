"""The published schema of an exported run."""

from __future__ import annotations

from functools import cache
from typing import Any

from fastapi import APIRouter

from parley.server.runs.schemas import RunExport

SCHEMA_PATH = "/schemas/run-export-1.json"

router = APIRouter(tags=["runs"])


@cache
def export_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) that every export validates against."""
    schema = RunExport.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_PATH, **schema}


@router.get(SCHEMA_PATH, summary="The schema of an exported run")
async def read_export_schema() -> dict[str, Any]:
    """JSON Schema of `GET .../runs/{run}/export`; wants no key."""
    return export_schema()
