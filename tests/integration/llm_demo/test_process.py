"""The server as a process of its own."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process

import aiohttp
import pytest

MODULE = "parley.server.llm.demo"


async def started(*arguments: str, **environment: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", MODULE, *arguments, stdout=PIPE, stderr=PIPE, env={**os.environ, **environment}
    )


async def address_of(process: Process) -> str:
    assert process.stdout is not None
    line = (await asyncio.wait_for(process.stdout.readline(), 20)).decode()
    return line.strip().rpartition(" ")[2].removesuffix("/v1")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_process_serves_with_the_settings_of_its_environment_and_stops_on_a_signal(
    number: signal.Signals,
) -> None:
    process = await started(PARLEY_DEMO_CHUNKS="7", PARLEY_DEMO_LATENCY_MS="1.5")
    async with (
        aiohttp.ClientSession(await address_of(process)) as http,
        http.get("/control/config") as response,
    ):
        config = await response.json()
    process.send_signal(number)
    assert await asyncio.wait_for(process.wait(), 10) == 0
    assert (config["chunks"], config["latency_ms"]) == (7, 1.5)


async def test_taken_port_is_told_in_one_line() -> None:
    first = await started()
    port = (await address_of(first)).rpartition(":")[2]
    second = await started("--port", port)
    _, problem = await asyncio.wait_for(second.communicate(), 20)
    first.terminate()
    await first.wait()
    assert second.returncode == 1
    assert problem.decode().startswith(f"cannot listen on 127.0.0.1:{port}")
    assert len(problem.splitlines()) == 1


async def test_wrong_setting_is_named() -> None:
    process = await started(PARLEY_DEMO_CHUNKS="many")
    _, problem = await asyncio.wait_for(process.communicate(), 20)
    assert process.returncode == 2
    assert b"PARLEY_DEMO_CHUNKS must be a number" in problem


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's help is asked for on Linux alone")
async def test_process_ends_when_its_parent_is_killed() -> None:
    code = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-m', '{MODULE}'], stdout=subprocess.PIPE, text=True)\n"
        "print(child.stdout.readline().split()[-1], flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = await asyncio.create_subprocess_exec(sys.executable, "-c", code, stdout=PIPE)
    host, _, port = (await address_of(parent)).removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    parent.kill()
    await parent.wait()
    assert await asyncio.wait_for(reader.read(), 10) == b""
    writer.close()
