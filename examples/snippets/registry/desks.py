"""Two desks that have tools of the same names, in one registry."""

from salvor import Registry, tool
from salvor.registry.naming import Naming, Selection


class Desk:
    """A desk of one branch."""

    def __init__(self, branch: str) -> None:
        self.branch = branch

    @tool(effect="read")
    def find(self, text: str) -> str:
        """Find a claim."""
        return f"{self.branch}: {text}"

    @tool(effect="write")
    def close(self, claim: str) -> None:
        """Close a claim."""


# --8<-- [start:add]
registry = Registry()
registry.add(Desk("north"), prefix="north_")
registry.add(
    Desk("south"),
    naming=Naming(rename={"find": "search_south"}),
    selection=Selection(exclude=("close*",)),
)
# --8<-- [end:add]
