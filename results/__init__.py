"""A run's folder and its report: writes both and reads them again.

```
run_folder   a run's files            -> its folder, locked until the run ends
recorder     the stages' results      -> report and files, as they come
report       what happened and why    -> report.json
page/        the same for a person    -> report.html
stored       a run's folder           -> Stored (executed), Recorded (planned)
```
"""
