"""Grading one answer of an agent that ran elsewhere: what the judge is asked, and how its rating is read."""
