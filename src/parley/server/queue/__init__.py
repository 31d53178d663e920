"""The queue that wakes workers early. The only room that knows arq; a lost job is only a delay."""
