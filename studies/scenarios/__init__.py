"""Tasks with an expected outcome, run by the engine.

```
scenario        a YAML file             -> Scenario            BadInput with line and key
                Expectation, report     -> the differences from the expected outcome
outcome         Scenario, seed          -> ScenarioResult      one run of the engine
```
"""

from galley.studies.scenarios.scenario import Scenario, check_scenario, find_scenarios

# The other modules are imported by name: they load the whole pipeline.
__all__ = ["Scenario", "check_scenario", "find_scenarios"]
