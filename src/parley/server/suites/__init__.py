"""Suites: sets of cases that the service runs by itself; each execution is an evaluation.

    service.create, change, delete, found, listed     the resource
    begin.begin_evaluation       freezes cases, opens an evaluation, hands it to the workers
    tick.SuiteTick               of every worker process: starts what is due, then carries evaluations on
    carry.carry_on               one step of one evaluation: `steps.next_step` decides, this does it
    ends.settle                  reacts to ends of runs: each becomes a case result, once

What is done and what is owed stands in the evaluation's results alone: a case that has begun has a result
that is `pending` and names its run. Locks are taken in this order: the row of the suite or of the progress
(skipped where somebody else holds it), tests, account, evaluation, result.
"""
