"""Builds everything a process needs from its settings, once."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from aiohttp import ClientSession
from redis.asyncio import ConnectionPool, Redis

from parley.engine.ports import Deadlines
from parley.server.accounts.authenticator import Authenticator
from parley.server.accounts.browser import SessionRules
from parley.server.accounts.last_used import LastUsed
from parley.server.accounts.pace import Pace
from parley.server.agentic_tests.service import using_gateway
from parley.server.apps.vault import AppVault
from parley.server.attempts.gateway.player import GatewayPlayer
from parley.server.attempts.gateway.webhooks import Webhooks
from parley.server.attempts.graded_here import GradedHere
from parley.server.attempts.ports import Players
from parley.server.attempts.remote.player import RemotePlayer
from parley.server.attempts.remote.talking import RemoteRules
from parley.server.config import IntegratedLlmSetting, RetentionSettings, Settings
from parley.server.conversation.hooks import HookMaker, NoHooks
from parley.server.conversation.parties import PartyMaker
from parley.server.conversation.sse import Patience, StreamRules
from parley.server.custom_evaluations.conversations import ConversationGrader
from parley.server.custom_evaluations.grader import SCORING, CustomGrader, Judges
from parley.server.db.database import Database, PoolOptions
from parley.server.definitions.offer import Offer
from parley.server.direct.evaluate import DirectEvaluations, DirectLimits
from parley.server.evaluations.live import LiveStatistics
from parley.server.evaluations.regrade import Graders
from parley.server.gateways.use import GatewayUse
from parley.server.gateways.vault import GatewayVault
from parley.server.hooks.caller import HookCaller, HookLimits
from parley.server.hooks.vault import HookVault
from parley.server.journal.bus import Publisher
from parley.server.journal.hub import BLOCK_MS, Hub
from parley.server.journal.keep import Journal
from parley.server.kit.clock import SystemClock
from parley.server.kit.crypto import Keyring
from parley.server.kit.leaving import CLOSING_S
from parley.server.kit.tasks import done_within
from parley.server.llm.endpoint import LlmEndpoint
from parley.server.llm.integrated import IntegratedLlm, IntegratedLlms
from parley.server.llm.pool import LlmPool, PoolLimits, tls_context
from parley.server.llm.prices import Prices
from parley.server.llm.profiles import (
    NOBODY,
    PROFILE_NAMES,
    SEATS,
    ProfileName,
    ProfileValues,
    SeatValues,
    profiles_of,
)
from parley.server.notifications.mail import Mailer, MailServer
from parley.server.notifications.messenger import Messenger
from parley.server.notifications.service import ChannelRules
from parley.server.outbound.connector import guarded_session
from parley.server.outbound.guard import OutboundPolicy
from parley.server.outbound.lookup import SystemLookup
from parley.server.queue.connections import redis_connections
from parley.server.queue.jobs import RunQueue, arq_redis
from parley.server.queue.pokes import Poke
from parley.server.resources.reader import ResourceLimits, ResourceReader
from parley.server.retention.policy import RetentionRules
from parley.server.runs.cancel import Canceller
from parley.server.script_judge.grades import GradeRules, Grades
from parley.server.script_judge.judge import ScriptJudges
from parley.server.telemetry.backlog import BacklogReader
from parley.server.telemetry.metrics import Metrics
from parley.server.telemetry.page import MetricsPage
from parley.server.telemetry.tracing import TraceRules, Tracing
from parley.server.telemetry.watch import Watch
from parley.server.web.assets import Assets

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What a process was built from. Endpoints get a field by its type: `provided(Keyring)`."""

    settings: Settings
    clock: SystemClock
    database: Database
    redis: Redis
    keyring: Keyring
    outbound_policy: OutboundPolicy
    llms: LlmPool
    calls: ClientSession
    """For single calls to customers' addresses: guarded, a connection for each."""
    gateway_use: GatewayUse
    authenticator: Authenticator
    session_rules: SessionRules
    assets: Assets
    last_used: LastUsed
    pace: Pace
    offer: Offer
    journal: Journal
    bus: Publisher
    hub: Hub
    queue: RunQueue
    canceller: Canceller
    maker: PartyMaker
    hooks: HookMaker
    resources: ResourceReader
    direct: DirectEvaluations
    graders: Graders
    judges: Judges
    script_judges: ScriptJudges
    players: Players
    """Who plays scripted cases, by the kind of target."""
    grades: Grades
    live_statistics: LiveStatistics
    scoring_poke: Poke
    """Wakes those who score posted results."""
    channel_rules: ChannelRules
    messenger: Messenger
    stream_rules: StreamRules
    watch: Watch
    metrics_page: MetricsPage | None

    async def end_streams(self) -> None:
        """End all open streams: direct evaluations with their terminal event, watchers to come back."""
        self.stream_rules.closing.set()
        await self.direct.close()

    @property
    def background(self) -> tuple[Callable[[], Coroutine[Any, Any, None]], ...]:
        """What the API runs beside its requests, each until it is cancelled."""
        return (self.last_used.run, self.hub.run, self.direct.run)

    def by_type(self) -> dict[type[Any], Any]:
        """The fields by their types."""
        return {type(value): value for value in (getattr(self, field.name) for field in fields(self))}


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[Services]:
    """Build the services, and close what they opened. Nothing connects before it is first used.

    Raises ValueError if a setting does not fit: no secret key, a malformed address or network.
    """
    opened = AsyncExitStack()
    try:
        yield await _opened(settings, opened)
    finally:
        if not await done_within(CLOSING_S, opened.aclose()):
            _log.warning("connections were dropped: they could not be closed within %s s", CLOSING_S)


async def _opened(settings: Settings, opened: AsyncExitStack) -> Services:
    clock = SystemClock()
    database = Database(settings.database.url.get_secret_value(), _pool_options(settings))
    opened.push_async_callback(database.close)
    redis = Redis.from_pool(redis_pool(settings, settings.redis.timeout_s))
    opened.push_async_callback(redis.aclose)
    blocking = Redis.from_pool(redis_pool(settings, BLOCK_MS / 1000 + settings.redis.timeout_s))
    opened.push_async_callback(blocking.aclose)
    prefix = settings.redis.prefix
    queueing = arq_redis(redis_pool(settings, settings.redis.timeout_s), prefix)
    opened.push_async_callback(queueing.aclose)
    policy = OutboundPolicy.of(settings.outbound.allowed_networks, settings.outbound.allowed_hosts)
    connections, lookup, tls = settings.llm.max_connections, SystemLookup(), tls_context()
    opened.callback(lookup.close)
    pools = PoolLimits(operator_connections=connections, customer_connections=connections)
    llms = LlmPool(pools, policy, lookup=lookup, tls=tls)
    opened.push_async_callback(llms.close)
    calls = guarded_session(policy, limit=connections, lookup=lookup, tls=tls, keeps_alive=False)
    opened.push_async_callback(calls.close)
    resources = resources_of(settings, calls)
    keyring = keyring_of(settings)
    offer = offer_of(settings)
    _warn_of_empty_seats(offer)
    watch = watch_of(settings)
    if watch.tracing is not None:
        opened.push_async_callback(watch.tracing.close)
    vault = GatewayVault(database, keyring)
    deadlines = deadlines_of(settings)
    maker = PartyMaker(llms, offer.profiles, offer.integrated, vault, clock, deadlines, watch)
    bus = await opened.enter_async_context(watch.bus(redis, prefix))
    queue = RunQueue(queueing, prefix)
    judges = Judges(llms, offer, clock, deadlines, watch)
    script_judges = ScriptJudges(llms, offer, clock, deadlines)
    scoring_poke = Poke(queueing, prefix, SCORING)
    gateways_player = GatewayPlayer(
        pool=llms,
        integrated=offer.integrated,
        vault=vault,
        judges=script_judges,
        webhooks=Webhooks(
            session=calls,
            vault=HookVault(database, keyring),
            clock=clock,
            limits=hook_limits_of(settings),
        ),
        clock=clock,
        deadlines=deadlines,
        watch=watch,
    )
    remote_player = RemotePlayer(
        database, AppVault(database, keyring), calls, clock, remote_rules_of(settings)
    )
    apps_player = GradedHere(remote_player, script_judges, clock, watch)
    limits = DirectLimits(
        wall_time_s=settings.run.wall_time_s,
        lease_s=settings.worker.lease_s,
        heartbeat_s=settings.worker.heartbeat_s,
        patience=Patience(
            ping_s=settings.run.sse_ping_s,
            most_waiting_bytes=settings.run.stream_waiting_bytes,
            stalled_s=settings.run.stream_stalled_s,
        ),
    )
    noted = watch.metrics.direct_ended if watch.metrics else None
    direct = DirectEvaluations(database, maker, NoHooks(), resources, clock, limits, noted)
    opened.push_async_callback(direct.close)
    return Services(
        settings=settings,
        clock=clock,
        database=database,
        redis=redis,
        keyring=keyring,
        outbound_policy=policy,
        llms=llms,
        calls=calls,
        gateway_use=GatewayUse(using_gateway),
        authenticator=Authenticator(database, clock, settings.api.key_cache_s),
        session_rules=SessionRules(
            public_url=settings.api.public_url, lifetime=timedelta(hours=settings.api.session_hours)
        ),
        assets=Assets(),
        last_used=LastUsed(database, clock),
        pace=Pace(settings.api.requests_per_minute, clock),
        offer=offer,
        journal=Journal(database),
        bus=bus,
        hub=Hub(blocking, redis, prefix),
        queue=queue,
        canceller=Canceller(queue, bus, clock),
        maker=maker,
        hooks=HookMaker(hook_caller_of(settings, calls, clock), HookVault(database, keyring)),
        resources=resources,
        direct=direct,
        graders=Graders(CustomGrader(judges, scoring_poke), ConversationGrader(judges, scoring_poke)),
        judges=judges,
        script_judges=script_judges,
        players={"gateway": gateways_player, "app": apps_player},
        grades=Grades(database, script_judges, GradeRules(per_minute=settings.api.grades_per_minute), watch),
        live_statistics=LiveStatistics(),
        scoring_poke=scoring_poke,
        channel_rules=ChannelRules(keyring, policy),
        messenger=Messenger(calls, mailer_of(settings), keyring, clock, settings.api.public_url),
        stream_rules=StreamRules(ping_s=settings.run.sse_ping_s, check_s=settings.run.stream_check_s),
        watch=watch,
        metrics_page=_page(watch, database, redis, prefix),
    )


def redis_pool(settings: Settings, timeout_s: float) -> ConnectionPool:
    """Connections whose commands take at most `timeout_s`."""
    return redis_connections(
        settings.redis.url.get_secret_value(),
        timeout_s=timeout_s,
        connect_timeout_s=settings.redis.timeout_s,
    )


def hook_caller_of(settings: Settings, calls: ClientSession, clock: SystemClock) -> HookCaller:
    """Who calls hooks, within the operator's bounds."""
    return HookCaller(calls, clock, hook_limits_of(settings))


def remote_rules_of(settings: Settings) -> RemoteRules:
    """How long remote apps are waited for."""
    apps = settings.apps
    return RemoteRules(
        call_s=apps.call_timeout_s,
        full_s=apps.full_max_s,
        unknown_s=apps.unknown_s,
        lost_s=apps.lost_s,
        attempt_s=apps.attempt_max_s,
        wait_s=apps.wait_s,
    )


def hook_limits_of(settings: Settings) -> HookLimits:
    """The operator's bounds of one call of a customer's address."""
    outbound = settings.outbound
    return HookLimits(deadline_s=outbound.hook_timeout_s, max_bytes=outbound.hook_max_bytes)


def mailer_of(settings: Settings) -> Mailer | None:
    """Who sends mail; None without a mail server. Raises ValueError for a sender that is no address."""
    smtp = settings.smtp
    if not smtp.host:
        return None
    try:
        server = MailServer(
            host=smtp.host,
            port=smtp.port,
            security=smtp.security,
            sender=smtp.sender,
            username=smtp.username or None,
            password=smtp.password.get_secret_value() or None,
            timeout_s=smtp.timeout_s,
        )
    except ValueError as fault:
        raise ValueError(f"PARLEY_SMTP_SENDER: {fault}") from None
    return Mailer(server)


def resources_of(settings: Settings, calls: ClientSession) -> ResourceReader:
    """Who reads remote resources, within the operator's bounds."""
    outbound = settings.outbound
    limits = ResourceLimits(deadline_s=outbound.resource_timeout_s, max_bytes=outbound.resource_max_bytes)
    return ResourceReader(calls, limits)


def offer_of(settings: Settings) -> Offer:
    """The profiles and integrated llms that tests may use.

    Raises ValueError for prices of a seat that does not exist, and for a malformed or repeated slug.
    """
    llm = settings.llm
    prices = {
        seat: Prices(input=i, cached=c, output=o) for seat, (i, c, o) in settings.profile.prices.items()
    }
    seats = {
        (name, seat): SeatValues(
            model=settings.profile.named(name, seat) or NOBODY,
            prices=prices.pop(f"{name}_{seat}", None),
        )
        for name in PROFILE_NAMES
        for seat in SEATS
    }
    if prices:
        raise ValueError(f"PARLEY_PROFILE_PRICES names seats that do not exist: {', '.join(prices)}")
    values = ProfileValues(base_url=llm.base_url, api_key=llm.api_key.get_secret_value() or None, seats=seats)
    return Offer(
        profiles=profiles_of(values),
        playable=_playable(settings),
        integrated=IntegratedLlms(map(_integrated, llm.integrated)),
    )


def _playable(settings: Settings) -> frozenset[ProfileName]:
    named = settings.profile.named
    return frozenset(
        name for name in PROFILE_NAMES if settings.llm.base_url and all(named(name, seat) for seat in SEATS)
    )


def _warn_of_empty_seats(offer: Offer) -> None:
    missing = [name for name in PROFILE_NAMES if name not in offer.playable]
    if missing:
        _log.warning(
            "no llms play user and judge in the profiles %s: starts are answered with 503 until "
            "PARLEY_LLM_BASE_URL, PARLEY_PROFILE_LOW_USER and PARLEY_PROFILE_LOW_JUDGE are set",
            ", ".join(missing),
        )


def _integrated(setting: IntegratedLlmSetting) -> IntegratedLlm:
    endpoint = LlmEndpoint(
        base_url=setting.base_url,
        model=setting.model,
        api_key=setting.api_key.get_secret_value() or None,
        system_instruction=setting.system_instruction,
    )
    prices = Prices(input=setting.input, cached=setting.cached, output=setting.output)
    return IntegratedLlm(slug=setting.slug, endpoint=endpoint, prices=prices)


def deadlines_of(settings: Settings) -> Deadlines:
    """The deadlines of one inference."""
    llm = settings.llm
    return Deadlines(
        first_piece_s=llm.first_token_timeout_s, idle_s=llm.idle_timeout_s, whole_s=llm.inference_timeout_s
    )


def watch_of(settings: Settings) -> Watch:
    """What is watched: metrics where there is a page for them, traces where there is a collector."""
    telemetry = settings.telemetry
    has_page = bool(settings.admin.token.get_secret_value()) or telemetry.metrics_port is not None
    rules = TraceRules(
        url=telemetry.otlp_url,
        headers=telemetry.header_pairs(),
        ratio=telemetry.sample_ratio,
        content=telemetry.content,
    )
    return Watch(
        metrics=Metrics() if has_page else None,
        tracing=Tracing.to_collector(rules) if telemetry.otlp_url else None,
    )


def _page(watch: Watch, database: Database, redis: Redis, prefix: str) -> MetricsPage | None:
    if watch.metrics is None:
        return None
    watch.metrics.watch_pool(lambda: database.connections_taken, database.connections_most)
    return MetricsPage(watch.metrics, BacklogReader(database, redis, prefix))


def keyring_of(settings: Settings) -> Keyring:
    """The keys that seal customers' secrets. Raises ValueError naming the setting."""
    try:
        return Keyring(settings.secret.revealed())
    except ValueError as fault:
        raise ValueError(f"PARLEY_SECRET_KEYS: {fault}") from None


def retention_rules_of(retention: RetentionSettings) -> RetentionRules:
    """How long rows are kept."""
    return RetentionRules(
        executed=timedelta(days=retention.run_days),
        cancelled=timedelta(days=retention.cancelled_days),
        accounting=timedelta(days=retention.accounting_days),
        notifications=timedelta(days=retention.notification_days),
    )


def _pool_options(settings: Settings) -> PoolOptions:
    database = settings.database
    return PoolOptions(
        size=database.pool_size,
        overflow=database.pool_overflow,
        timeout_s=database.pool_timeout_s,
        connect_timeout_s=database.connect_timeout_s,
        statement_timeout_s=database.statement_timeout_s,
        pooler_mode=database.pooler_mode,
    )
