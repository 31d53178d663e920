"""Attempts that remote apps play: asked for once, followed by cursor, never believed.

player.RemotePlayer   one attempt from admission to its checked record
asking.Asking         admission: what may have been asked is written down before
talking.Talk          the app as one attempt knows it: its patience, its contact, the wish to end
"""
