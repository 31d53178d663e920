"""The chat-completions stream: bytes to frames to pieces, faults and retries. Pure."""
