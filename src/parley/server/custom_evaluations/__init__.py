"""Custom evaluations: datasets, settings, runs and results of agents that run in a customer's own pipeline.

The plane of plain shells, `/api/v1/custom-agent-evaluations`: camelCase, bare bodies. Results are stored at
once and scored by workers, who claim them by row; calls that wait for scores look again and again and hold
no database connection meanwhile. Statistics, comparison and the gate are the room `evaluations`.
"""
