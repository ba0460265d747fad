"""Scenarios: tasks with the outcome that is right for each.

```
scenario      a YAML file                  -> Scenario               BadInput with its place
              Expectation, report          -> why it is wrong, if it is
outcome       Scenario, seed               -> ScenarioResult           one run of the engine
```
"""

from galley.scenarios.scenario import Expectation, Scenario, check, find, judge, read_scenario

# The rest is imported from its modules: they bring the whole pipeline along.
__all__ = ["Expectation", "Scenario", "check", "find", "judge", "read_scenario"]
