"""What operators of the service do: accounts, plans, money, keys, stuck runs. Every act is recorded.

The functions work within the caller's transaction and write their act into it, so that nothing is done
without its record, and nothing recorded that was not done.
"""
