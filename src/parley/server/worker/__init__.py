"""The worker: takes runs off the queue, carries them out, and sweeps up what was lost."""
