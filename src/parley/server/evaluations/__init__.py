"""Evaluations: cases, results, statistics, comparison, gate, pins. One shape for all producers.

What producers (custom evaluations, suites) use, each within the caller's transaction:

    begin.begin            freezes the cases and opens the evaluation (`in_progress`)
    results.keep           takes results, first write wins per key and per case and repetition
    results.missing        what is still owed
    scoring.claim          (own transaction) hands waiting results of custom cases to a scorer, under a lease
    scoring.score          ends a result; completes the evaluation if it waited for this one alone
    finish.finalize        no more results come: `completed`, or `scoring` until the open ones are scored
    finish.close           ends an open evaluation as `failed`, `expired` or `cancelled`
    read.shown, read.listed, read.results
    gate.answer, records.keep, compare.compared, pins.pin
    regrade.begin          a new evaluation over the transcripts of an old one
    shell.in_camel_case    the shell plane's names for what is told here

Locks are taken in this order: account, evaluation, result. Every write to a result holds its evaluation's
row, so that whoever scores the last one sees that it is the last.
"""
