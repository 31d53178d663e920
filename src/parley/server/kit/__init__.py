"""Small things every room stands on: ids, time, text, money, wire shapes, paging, sealing."""
