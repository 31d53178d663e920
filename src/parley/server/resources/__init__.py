"""Remote resources: customers' documents, read once for each run."""
