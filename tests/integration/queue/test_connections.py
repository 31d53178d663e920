"""Whatever breaks a connection to Redis is told as Redis tells it."""

from __future__ import annotations

import pytest
import uvloop
from redis.exceptions import RedisError

from parley.server.ops.local.shared_servers import Servers
from parley.server.queue.connections import redis_connections


def test_connection_that_closed_while_it_was_written_to_is_a_fault_of_redis(servers: Servers) -> None:
    async def write_after_the_end() -> None:
        pool = redis_connections(servers.redis_url, timeout_s=5, connect_timeout_s=5)
        connection = await pool.get_connection()
        connection._writer.transport.abort()
        try:
            await connection.send_command("PING", check_health=False)
        finally:
            await pool.aclose()

    with pytest.raises(RedisError, match="closed while it was written to"):
        uvloop.run(write_after_the_end())
