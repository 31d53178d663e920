"""Scripted suites: fixed messages, checked answers, judged criteria. Pure: who plays one brings the agent."""
