"""Tools of a claims desk, for a model that is called through a provider's API."""

from salvor import Registry, tool
from salvor.registry.exports import catalogue, to_anthropic, to_openai
from salvor.values import JsonObject


# --8<-- [start:tools]
@tool(effect="read")
def find_claims(text: str, limit: int = 20) -> list[str]:
    """Find claims by a text in them."""
    return [f"claim of {text}"][:limit]


@tool(effect="read")
def count_by(labels: dict[str, int]) -> int:
    """Add up the counts of labels."""
    return sum(labels.values())


registry = Registry()
registry.add(find_claims)
registry.add(count_by)
# --8<-- [end:tools]


# --8<-- [start:anthropic]
def request_tools() -> list[JsonObject]:
    """The tools of one request."""
    return catalogue(registry, to_anthropic).definitions


# --8<-- [end:anthropic]


# --8<-- [start:strict]
def strict_tools() -> list[JsonObject]:
    """Those that strict mode can hold a model to, and a word on the others."""
    found = catalogue(registry, lambda one: to_openai(one, strict=True))
    for refusal in found.left_out:
        print(refusal)
    return found.definitions


def arguments_of(name: str, given: JsonObject) -> JsonObject:
    """A call as the tool itself takes it."""
    found = catalogue(registry, lambda one: to_openai(one, strict=True))
    return found.get(name).arguments(given)


# --8<-- [end:strict]
