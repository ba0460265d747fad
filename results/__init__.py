"""A run's folder and its report: writes both and reads them again.

```
run_folder   a run's files            -> its folder, locked until the run ends
report       the stages' results      -> report.json and files, as they come
page/        the same for a person    -> report.html
stored       a run's folder, or a file -> Stored, which all that read a run share
```
"""
