"""User defaults on Linux: read, edit and follow the preferences that the agent of defaultsd serves.

```python
from defaultsd import Defaults

defaults = Defaults("org.example.player")
defaults.set("Volume", 7)
for change in defaults.changes():
    print(change)
```

`Defaults` reads and edits a domain, `Key` is a key with a type and a default, and `DefaultsError` is the base of all
errors. The module `defaultsd.testing` has a real agent for tests.
"""

from .defaults import Defaults
from .errors import AgentUnavailableError, ChangedError, DefaultsError, InvalidValueError, NotSavedError
from .events import Change, Condition, Domain, Event, Gap, KeyChange, Overruled, Snapshot, Source, Violation
from .keys import Key
from .layers import Layer
from .location import this_host
from .streams import Stream

__all__ = [
    "AgentUnavailableError", "Change", "ChangedError", "Condition", "Defaults", "DefaultsError", "Domain",
    "Event", "Gap", "InvalidValueError", "Key", "KeyChange", "Layer", "NotSavedError", "Overruled", "Snapshot",
    "Source", "Stream", "Violation", "this_host",
]  # fmt: skip
