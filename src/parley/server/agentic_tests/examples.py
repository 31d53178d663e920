"""Bodies shown in the API's documentation. A test reads each of them."""

from __future__ import annotations

from typing import Any

CREATE: dict[str, dict[str, Any]] = {
    "The least": {
        "name": "Refund of a damaged parcel",
        "gateway": "shop-support:9f3a",
        "goal": "My parcel arrived damaged. I want my money back and will not take a voucher.",
    },
    "Judged by criteria, on a schedule": {
        "name": "Refund of a damaged parcel",
        "gateway": "shop-support:9f3a",
        "goal": [{"type": "text", "text": "My parcel arrived damaged. I want my money back."}],
        "validation_criteria": "The agent asks for the order number once and promises a refund in 5 days.",
        "start": [{"role": "assistant", "content": "Hello, how can I help?"}],
        "resources": [{"type": "Text", "data": "Order 7731, one lamp, delivered on Monday."}],
        "tool_mocks": [
            {"name": "find_order", "match": {"order": "7731"}, "result": '{"status": "delivered"}'}
        ],
        "profile": "high",
        "max_turns": 8,
        "minimum_turns": 2,
        "loss_threshold": 0.25,
        "base_threshold": 0.85,
        "user_sampling": {"top_k": 0.6},
        "metadata": {"team": "support"},
        "cron": "0 6 * * mon",
        "notification_threshold": 2,
    },
    "Continues a talk with an integrated llm": {
        "name": "Answers from the tool's result",
        "gateway": "@acme/assistant-1",
        "goal": "Learn when the shop opens on Sunday.",
        "start": [
            {"role": "user", "content": "When do you open on Sunday?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "opening_hours", "arguments": '{"day": "sunday"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "call_1", "content": "10:00 to 16:00"},
        ],
        "seed": 42,
    },
}

CHANGE: dict[str, dict[str, Any]] = {
    "Another goal, no schedule": {"goal": "I want a voucher instead.", "cron": None},
    "One part of the sampling": {"user_sampling": {"max_decay": 0.1}},
}
