"""Options that several commands take."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

AsJson: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Write JSON to stdout; what people read goes to stderr.")
]
