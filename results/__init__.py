"""What a run leaves behind: its folder, its report, and how both are read again.

```
run_folder   files under a temporary name     -> the run's folder, whole or not at all
report       what happened and why            -> report.json
stored       a run's folder                   -> Stored (executed), Recorded (planned)
```
"""
