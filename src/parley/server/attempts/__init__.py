"""Attempts at scripted cases: kept, handed to workers, played against gateways and remote apps, read.

    begin.queue              makes an attempt of a case that is due, within the caller's transaction
    finished.keep_finished   takes attempts that were played elsewhere
    worker.AttemptWorker     of every worker process: claims, plays, renews, ends
    ports.Player             plays attempts at one kind of target; `gateway` holds that for gateways
    read.listed, read.shown

Locks are taken in this order: account, evaluation, result, attempt.
"""
