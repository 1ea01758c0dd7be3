"""A plugin that knows what the exceptions of a bank's library mean."""

# --8<-- [start:exceptions]
from collections.abc import Mapping

import salvor
from salvor.plugins.hooks import Plugin
from salvor.tools.foreign import Verdict


@salvor.hookimpl
def salvor_exceptions(plugin: Plugin) -> Mapping[str, Verdict]:
    return {
        "acmebank.AccountClosed": Verdict("no", final=True),
        "acmebank.RateLimited": Verdict("no"),
        "acmebank.ReceiptLost": Verdict("yes"),
    }


# --8<-- [end:exceptions]
