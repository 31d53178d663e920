"""What a set of ratings can and cannot tell. Pure arithmetic: exact where that is feasible, seeded elsewhere.

Ratings are fractions, so that an average, a tie and a difference of exactly the tolerance are what they are.
"""
