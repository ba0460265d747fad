"""Many runs of the engine: scenarios with an expected outcome, trials with noise and faults.

```
scenario        a YAML file             -> Scenario            BadInput with line and key
                Expectation, report     -> why the outcome is not the expected one
outcome         Scenario, seed          -> ScenarioResult      one run of the engine
trials          noise or fault, seed    -> TrialResult         one run under physics
trials_figure   success counts          -> the figure of galley disturb
```
"""

from galley.scenarios.scenario import (
    Expectation,
    Scenario,
    check_scenario,
    find_scenarios,
    judge_report,
    read_scenario,
)

# The other modules are imported by name: they load the whole pipeline.
__all__ = [
    "Expectation",
    "Scenario",
    "check_scenario",
    "find_scenarios",
    "judge_report",
    "read_scenario",
]
