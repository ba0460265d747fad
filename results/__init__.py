"""The folder of a run and its report: writes and reads them.

```
run_folder   a run's files            -> its folder, locked until the run ends
report       the stages' results      -> report.json and files, as they come
page/        a run's folder           -> report.html
stored       a run's folder, or a file -> Stored, used by everything that reads a run
```
"""
