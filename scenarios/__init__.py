"""Scenarios: tasks with the outcome that is right for each, and sweeps of them over seeds.

```
scenario      a YAML file                  -> Scenario               BadInput with its place
expectation   Expectation, report          -> why it is wrong, if it is
outcome       Scenario, seed               -> Outcome                one run of the engine
picture       Scenario, run folder         -> a PNG of how it ended
```
"""

from galley.scenarios.expectation import Expectation, judge
from galley.scenarios.scenario import SHIPPED, Scenario, check, find, read_scenario

# The rest is imported from its modules: some of them bring the whole pipeline along.
__all__ = [
    "SHIPPED",
    "Expectation",
    "Scenario",
    "check",
    "find",
    "judge",
    "read_scenario",
]
