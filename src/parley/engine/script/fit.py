"""Whether a pause can be answered in a given way, and carries a given schema."""

from __future__ import annotations

from parley.engine.script.check import CheckRecord
from parley.engine.script.observation import Interrupt, Structured
from parley.engine.script.shapes import LiteralResume


def resume_check(resume: LiteralResume, interrupt: Interrupt) -> CheckRecord:
    """Whether the pause can be answered this way."""
    problem = misfit(resume, interrupt)
    return CheckRecord(check="resume", passed=problem is None, detail=problem or "The resume fits the pause.")


def misfit(resume: LiteralResume, interrupt: Interrupt) -> str | None:
    """Why `resume` cannot answer `interrupt`; None when it can."""
    if resume.type == "value" and interrupt.kind != "custom":
        return f"A value answers a custom pause; this one is of kind {interrupt.kind}."
    if resume.type != "select":
        return None
    if interrupt.kind not in ("choice", "multi-choice"):
        return f"There is nothing to select in a pause of kind {interrupt.kind}."
    if interrupt.kind == "choice" and len(resume.ids) != 1:
        return f"A choice takes exactly one option, not {len(resume.ids)}."
    offered = [option.id for option in interrupt.options]
    unknown = [chosen for chosen in resume.ids if chosen not in offered]
    return f"The pause offers {_listed(offered)}, not {_listed(unknown)}." if unknown else None


def has_schema(item: Interrupt | Structured, schema_id: str | None, schema_version: str | None) -> bool:
    """Whether `item` carries this schema; without a version any version will do."""
    return (schema_id is None or item.schema_id == schema_id) and (
        schema_version is None or item.schema_version == schema_version
    )


def schema_words(schema_id: str | None, schema_version: str | None) -> str:
    """A schema as people name it."""
    if schema_id is None:
        return "no schema"
    return f"the schema {schema_id}" + (f" {schema_version}" if schema_version else "")


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "nothing"
