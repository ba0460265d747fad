"""Commands on a run that is stored: judge it again, replay it, write its page, its trajectories."""
