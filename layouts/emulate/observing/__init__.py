"""What a run records: accesses, races, captures, the timeline, waits."""
