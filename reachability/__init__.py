"""reachability."""
