"""A plugin that stands around every call."""

# --8<-- [start:guard]
import salvor
from salvor.plugins.hooks import Plugin
from salvor.tools.around import Call, Middleware, Next, Outcome


async def office_hours(call: Call, next: Next) -> Outcome:
    if call.effect == "write" and "money" in call.tags:
        raise PermissionError("money moves in office hours only")
    return await next()


@salvor.hookimpl
def salvor_middleware(plugin: Plugin) -> Middleware:
    return office_hours


# --8<-- [end:guard]
