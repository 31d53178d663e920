"""The pure half of Parley: conversations, judging and scoring, without any I/O of its own."""
