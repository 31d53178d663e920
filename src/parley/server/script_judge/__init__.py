"""The service as judge of scripted suites: one criterion of one step, on stored evidence."""
