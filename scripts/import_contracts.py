"""The one rule of the house that import-linter has no contract for."""

from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class OwnRoomContract(Contract):
    """Keeps one kind of module inside its room: `<container>.<room>.<module>` is imported by `<room>` alone.

    - container: the package whose children are the rooms.
    - module: the name that is private to each room.
    - shared_rooms: rooms whose module of that name is meant for everyone. (Optional.)
    """

    type_name = "own_room"

    container = fields.StringField()
    module = fields.StringField()
    shared_rooms = fields.SetField(subfield=fields.StringField(), required=False)

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Find every import of a room's private module from outside that room."""
        shared_rooms = cast("set[str] | None", self.shared_rooms) or set()
        intrusions = [
            f"{importer} -> {imported} ({_lines(graph, importer, imported)})"
            for room in sorted(graph.find_children(str(self.container)))
            if room.rpartition(".")[2] not in shared_rooms
            for imported in _package(graph, f"{room}.{self.module}")
            for importer in sorted(graph.find_modules_that_directly_import(imported))
            if importer != room and not importer.startswith(f"{room}.")
        ]
        return ContractCheck(kept=not intrusions, metadata={"intrusions": intrusions})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """List the imports that reach into another room."""
        for intrusion in check.metadata["intrusions"]:
            output.print_error(f"- {intrusion}", bold=False)
        output.new_line()


def _package(graph: ImportGraph, name: str) -> list[str]:
    """The module and what lies in it; nothing when the room has none."""
    return [name, *sorted(graph.find_descendants(name))] if name in graph.modules else []


def _lines(graph: ImportGraph, importer: str, imported: str) -> str:
    details = graph.get_import_details(importer=importer, imported=imported)
    return ", ".join(f"l.{detail['line_number']}" for detail in details)
