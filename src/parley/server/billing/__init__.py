"""Money: prices of plans, the ledger, balances, usage reports, the audit of the books."""
