"""`parley dev`: the whole service on one machine, as child processes of one supervisor."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import httpx
from rich.console import Console

from parley.server.config import DatabaseSettings, LlmSettings, RedisSettings, Settings, variable
from parley.server.llm.profiles import PROFILE_NAMES, SEATS
from parley.server.ops.doctor import nobody_plays
from parley.server.ops.local import ports
from parley.server.ops.local.demo import Demo, DemoClient, DemoShow, curl_line
from parley.server.ops.local.environment import GRACE_S, Addresses, child_environment
from parley.server.ops.local.errors import LocalStackError
from parley.server.ops.local.home import DevFile, Home
from parley.server.ops.local.postgres import STOP_SIGNALS, PostgresPlan, start_postgres
from parley.server.ops.local.processes import Program, end_leftover
from parley.server.ops.local.settings import LocalSettings
from parley.server.ops.local.supervisor import StopRequested, Supervisor
from parley.server.ops.local.valkey import ValkeyPlan, start_valkey
from parley.server.ops.local.voice import Voice, following
from parley.server.outbound.guard import OutboundPolicy
from parley.server.wiring import keyring_of, offer_of

CANNOT = 2
"""Exit code when something a person can change stands in the way."""
DATABASE = "parley"
_READY_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StackOptions:
    """What `parley dev` was asked for."""

    port: int = 8000
    folder: Path = Path(".parley")
    demo: bool = False
    exit_after_demo: bool = False
    demo_llms: bool = True
    verbose: bool = False


def run_stack(options: StackOptions) -> int:
    """Run until a person stops it; the exit code."""
    # Logs and records hold what concerns nobody else on this machine.
    os.umask(0o077)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal without bars and ticks gets question marks, not an error.
        sys.stdout.reconfigure(errors="replace")
    voice = Voice(Console(highlight=False), verbose=options.verbose)
    supervisor = Supervisor(voice.say)
    try:
        home = Home(options.folder)
        with home.claimed(), following(voice, home.logs), supervisor.running():
            Stack(options, home, supervisor, voice).run()
    except StopRequested:
        voice.say("Stopped.")
    except LocalStackError as error:
        voice.trouble(str(error))
        return CANNOT
    return 0


class Stack:
    """One start of the stack."""

    def __init__(self, options: StackOptions, home: Home, supervisor: Supervisor, voice: Voice) -> None:
        self._options = options
        self._home = home
        self._supervisor = supervisor
        self._voice = voice
        self._secrets = home.secrets()
        self._local = LocalSettings()

    def run(self) -> None:
        """Start everything, tell where it is, and watch. Raises `LocalStackError` and `StopRequested`."""
        began = time.monotonic()
        self._voice.say(f"parley dev, data in {_near(self._home.folder)}", style="bold")
        self._end_leftovers()
        self._check_request()
        addresses = Addresses(
            api_port=self._options.port,
            database_url=self._database(),
            redis_url=self._queue(),
            demo_llm_url=self._demo_llms(),
            admin_port=self._home.kept_port("admin"),
        )
        secrets = self._secrets
        environment = child_environment(os.environ, addresses, secrets.seal_key, secrets.admin_token)
        self._home.write_environment(environment)
        dev_file = self._serve(addresses, environment)
        client = DemoClient(dev_file)
        demo = client.install(addresses.demo_llm_url) if addresses.demo_llm_url else None
        self._voice.say(f"Ready in {time.monotonic() - began:.1f} s.", style="bold green")
        if demo is not None and self._options.demo:
            self._show(client, demo)
            if self._options.exit_after_demo:
                return
        self._introduce(dev_file, demo, client.sign_in_link())
        self._supervisor.watch()

    def _show(self, client: DemoClient, demo: Demo) -> None:
        show = DemoShow(client, demo, self._voice.console)
        show.start()
        try:
            self._supervisor.watch(show.is_over)
        finally:
            show.stop()

    def _introduce(self, dev_file: DevFile, demo: Demo | None, sign_in_link: str) -> None:
        self._voice.say(f"\n  URL  {dev_file.url} (documentation at /docs)")
        self._voice.say(f"  key  {dev_file.private_key}")
        dev_json, logs = _near(self._home.folder / "dev.json"), _near(self._home.logs)
        self._voice.say(f"  Both are in {dev_json}; logs are in {logs}.")
        self._voice.say(
            "\nThe dashboard; this link signs you in once, within 5 minutes (later, use the key):\n"
        )
        self._voice.say(f"  {sign_in_link}", style="cyan")
        if demo is not None:
            self._voice.say("\nTry a conversation, streamed:\n")
            self._voice.say(f"  {curl_line(dev_file, demo)}\n", style="cyan")
        self._voice.say("Ctrl-C stops everything; the data stays.", style="dim")

    def _end_leftovers(self) -> None:
        """What an earlier start left behind when it was killed; the databases last."""
        records = sorted(
            self._home.folder.glob("*.pid.json"),
            key=lambda path: path.name.startswith(("postgres", "valkey")),
        )
        for record in records:
            signals = STOP_SIGNALS if record.name.startswith("postgres.") else (signal.SIGTERM,)
            if end_leftover(record, signals):
                self._voice.say(
                    f"  ended {record.name.removesuffix('.pid.json')}, left over from a killed start"
                )

    def _check_request(self) -> None:
        if self._options.demo and not self._options.demo_llms:
            raise LocalStackError("The demo talks to a demo llm; leave out --no-demo-llms.")
        if not self._options.demo_llms and not LlmSettings().base_url:
            raise LocalStackError(
                "Without the demo llms somebody else has to play user and judge: "
                f"set {variable(LlmSettings, 'base_url')}, or leave out --no-demo-llms."
            )
        _check_settings()
        if not ports.is_free(self._options.port):
            text = ports.busy_port_text(self._options.port)
            raise LocalStackError(f"{text} With make, write `make demo PORT=...` or `make dev PORT=...`.")

    def _database(self) -> str:
        settings = DatabaseSettings()
        if "url" in settings.model_fields_set:
            self._voice.done("PostgreSQL as set in PARLEY_DATABASE_URL")
            return settings.url.get_secret_value()
        plan = PostgresPlan(
            folder=self._home.folder,
            password=self._secrets.postgres_password,
            binaries=self._local.postgres_bin,
        )
        server = start_postgres(plan)
        self._supervisor.adopt(server.child)
        self._voice.done("PostgreSQL")
        return server.url(DATABASE)

    def _queue(self) -> str:
        settings = RedisSettings()
        if "url" in settings.model_fields_set:
            self._voice.done("Redis as set in PARLEY_REDIS_URL")
            return settings.url.get_secret_value()
        plan = ValkeyPlan(
            folder=self._home.folder,
            password=self._secrets.valkey_password,
            binary=self._local.valkey_bin,
        )
        server = start_valkey(plan)
        self._supervisor.adopt(server.child)
        self._voice.done("Valkey")
        return server.url()

    def _demo_llms(self) -> str | None:
        """Start them; their base URL. Their port is kept, because the demo gateway's address holds it."""
        if not self._options.demo_llms:
            return None
        port = self._home.kept_port("llms")
        argv = ["-m", "parley.server.llm.demo", "--host", ports.LOOPBACK, "--port", str(port)]
        self._supervisor.start(self._program("llms", argv, dict(os.environ)))
        return f"http://{ports.LOOPBACK}:{port}/v1"

    def _serve(self, addresses: Addresses, environment: dict[str, str]) -> DevFile:
        """API and worker on a migrated database, and an account to use them."""
        known = self._home.read_dev_file()
        self._supervisor.start(self._command("api", environment))
        account = self._prepare(environment, with_account=known is None)
        self._voice.done("database migrated")
        self._supervisor.start(self._command("worker", environment), restart=True)
        self._supervisor.watch(lambda: _answers(f"{addresses.api_url}/readyz"), _READY_TIMEOUT_S, "the API")
        self._voice.done("API, worker" + (", demo llms" if addresses.demo_llm_url else ""))
        if "degraded" in httpx.get(f"{addresses.api_url}/readyz", trust_env=False).text:
            self._voice.warning("Redis does not answer; runs start seconds late until it does")
        if known is not None and not _opens(known, addresses.api_url):
            # The key belongs to another database, or was revoked.
            account = self._prepare(environment, with_account=True)
        return self._remember(addresses, account, known)

    def _remember(
        self, addresses: Addresses, account: dict[str, str] | None, known: DevFile | None
    ) -> DevFile:
        where = {
            "url": addresses.api_url,
            "admin_url": addresses.admin_url,
            "admin_token": self._secrets.admin_token,
        }
        if account is not None:
            dev_file = DevFile(**where, **account)
        elif known is not None:
            dev_file = dataclasses.replace(known, **where)
        else:
            raise LocalStackError(f"No account was made; see {self._home.log('prepare')}.")
        self._home.write_dev_file(dev_file)
        return dev_file

    def _prepare(self, environment: dict[str, str], *, with_account: bool) -> dict[str, str] | None:
        """Make database and tables, and the demo account if asked; its id and keys."""
        result = self._home.folder / "account.json"
        argv = ["-m", "parley.server.ops.local.prepare"]
        if with_account:
            argv.append(str(result))
        self._supervisor.run_once(self._program("prepare", argv, environment), _READY_TIMEOUT_S)
        if not with_account:
            return None
        account: dict[str, str] = json.loads(result.read_text())
        result.unlink()
        return account

    def _command(self, name: str, environment: dict[str, str]) -> Program:
        return self._program(name, ["-m", "parley.server.ops.cli", name], environment)

    def _program(self, name: str, argv: list[str], environment: dict[str, str]) -> Program:
        return Program(
            name=name,
            argv=[sys.executable, *argv],
            env=environment,
            log=self._home.log(name),
            record=self._home.record(name),
            patience_s=GRACE_S + 2,
        )


def _check_settings() -> None:
    """What API and worker would refuse later, in their logs. Raises `LocalStackError` and ValidationError."""
    settings = Settings.load()
    try:
        OutboundPolicy.of(settings.outbound.allowed_networks, settings.outbound.allowed_hosts)
        if settings.secret.revealed():
            keyring_of(settings)
        offer_of(settings)
    except ValueError as error:
        raise LocalStackError(f"A setting is wrong. {str(error).rstrip('.')}.") from error
    vacant = [
        f"{profile} {seat}"
        for profile in PROFILE_NAMES
        for seat in SEATS
        if settings.llm.base_url and not settings.profile.named(profile, seat)
    ]
    if vacant:
        advice = nobody_plays(vacant)
        raise LocalStackError(f"{variable(LlmSettings, 'base_url')} is set, but {advice}")


def _near(path: Path) -> Path:
    """The path as a person in this folder would write it."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2.0, trust_env=False).status_code == httpx.codes.OK
    except httpx.HTTPError:
        return False


def _opens(known: DevFile, api_url: str) -> bool:
    """Whether the remembered key still opens the remembered account."""
    answer = httpx.get(
        f"{api_url}/api/v1/whoami",
        headers={"Authorization": f"Bearer {known.private_key}"},
        timeout=5.0,
        trust_env=False,
    )
    return answer.status_code == httpx.codes.OK
