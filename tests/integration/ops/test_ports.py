import os
import signal
import socket
import subprocess
import sys

import pytest

from parley.server.ops.local import ports


def test_a_busy_port_is_reported_with_its_holder_and_the_way_out() -> None:
    script = (
        "import socket, time; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen();"
        "print(s.getsockname()[1], flush=True); time.sleep(600)"
    )
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    port = int(holder.stdout.readline())
    assert not ports.is_free(port)
    text = ports.busy_port_text(port)
    assert f"Port {port} is in use by process {holder.pid}" in text
    assert "kill" not in text
    assert ports.is_free(int(text.rstrip(".").rpartition(" ")[2]))
    assert "\n" not in text
    holder.kill()
    holder.communicate()
    assert ports.is_free(port)


def test_a_port_of_a_local_stack_is_reported_with_the_stack_not_its_child() -> None:
    child = (
        "import socket, time; s = socket.socket(); s.bind(('127.0.0.1', 0)); s.listen();"
        "print(s.getsockname()[1], flush=True); time.sleep(600)"
    )
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    words = [sys.executable, "-c", parent, "parley", "dev"]
    stack = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert stack.stdout is not None
    text = ports.busy_port_text(int(stack.stdout.readline()))
    os.killpg(stack.pid, signal.SIGKILL)
    stack.communicate()
    assert f"in use by process {stack.pid} (" in text
    assert "stop it with Ctrl-C in its terminal" in text


@pytest.mark.parametrize(
    ("words", "is_ours"),
    [
        (["/x/bin/python", "/x/.venv/bin/parley", "dev", "--demo"], True),
        (["python", "-m", "parley.server.ops.cli", "dev"], True),
        (["python", "-m", "parley.server.ops.cli", "api"], False),
        (["npm", "run", "dev"], False),
        ([], False),
    ],
)
def test_a_local_stack_is_known_by_its_command_line(words: list[str], is_ours: bool) -> None:
    assert ports.is_stack(words) is is_ours


def test_a_listener_on_every_address_holds_the_port_too() -> None:
    with socket.socket() as listener:
        listener.bind(("0.0.0.0", 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert not ports.is_free(port)
        holder = ports.holder_of(port)
        assert holder is not None
        assert holder.pid == os.getpid()


def test_nobody_holds_a_free_port() -> None:
    assert ports.holder_of(ports.free_port()) is None
