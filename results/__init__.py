"""What a run leaves behind: its folder, its report, and how both are read again.

```
run_folder   one run's files                  -> its folder, locked until the run has ended
report       what happened and why            -> report.json
stored       a run's folder                   -> Stored (executed), Recorded (planned)
```
"""
