"""tests/run's parts: which tests there are (tests.py) and how they are run (schedule.py)."""
