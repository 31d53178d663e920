"""A worker process."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from uuid import UUID

import uvloop

from parley.server.attempts.worker import ATTEMPTS, AttemptWorker, PlayingLimits
from parley.server.config import Settings
from parley.server.custom_evaluations.grader import SCORING
from parley.server.custom_evaluations.scorer import Scorer, ScoringLimits
from parley.server.errors import DatabaseAway
from parley.server.evaluations.alerts import GateAlerts
from parley.server.evaluations.finish import Expiry
from parley.server.kit.heap import settle_heap
from parley.server.kit.leaving import SPARE_S, leave_within
from parley.server.kit.tasks import end_tasks, ended_before
from parley.server.logs import configure_logs
from parley.server.notifications.deliver import Deliverer
from parley.server.notifications.teller import Teller
from parley.server.queue.consumer import IDLE_POLL_S, Consumer
from parley.server.queue.jobs import arq_redis
from parley.server.queue.pokes import Poke
from parley.server.retention.tick import Retention
from parley.server.runs.admit import admit_next
from parley.server.runs.execute import Executor, Limits
from parley.server.runs.hold import Stores
from parley.server.runs.prepare import SnapshotPreparation
from parley.server.runs.sweep import Sweep
from parley.server.schedules.fire import Starter
from parley.server.schedules.tick import Scheduler
from parley.server.suites.carry import Means
from parley.server.suites.tick import SuiteTick
from parley.server.telemetry.listener import listening
from parley.server.telemetry.readiness import queue_state
from parley.server.wiring import Services, open_services, redis_pool, retention_rules_of
from parley.server.worker.reactions import Reactions
from parley.server.worker.watch import WatchedPreparation

_log = logging.getLogger(__name__)


class WorkerBroken(Exception):
    """A task that goes on for ever has ended: the process leaves, to be started again whole."""


def _nothing() -> None:
    """Nobody wants to know."""


class Worker:
    """What one worker process does, until it is told to stop."""

    def __init__(self, services: Services, on_leaving: Callable[[], None] = _nothing) -> None:
        """`on_leaving` is called when it begins to stop, asked or not."""
        settings = services.settings
        self._on_leaving = on_leaving
        self._services = services
        self.metrics_port: int | None = None
        self._grace_s = settings.worker.shutdown_grace_s
        stores = Stores(
            database=services.database, journal=services.journal, bus=services.bus, clock=services.clock
        )
        preparation = SnapshotPreparation(
            services.maker, services.resources, services.hooks, services.database, services.clock
        )
        watched = WatchedPreparation(preparation, services.bus)
        limits = Limits(
            concurrency=settings.worker.concurrency,
            lease_s=settings.worker.lease_s,
            heartbeat_s=settings.worker.heartbeat_s,
            wall_time_s=settings.run.wall_time_s,
            most_entries=settings.run.most_entries,
        )
        self._executor = Executor(stores, watched, limits, self._admit_next)
        self._queueing = arq_redis(
            redis_pool(settings, IDLE_POLL_S + settings.redis.timeout_s), settings.redis.prefix
        )
        poke = Poke(self._queueing, settings.redis.prefix, ATTEMPTS)
        self._attempts = AttemptWorker(
            services.database,
            services.players,
            services.clock,
            poke,
            PlayingLimits(
                concurrency=settings.worker.concurrency,
                lease_s=settings.worker.lease_s,
                heartbeat_s=settings.worker.heartbeat_s,
                tick_s=settings.worker.tick_s,
            ),
            self._admit_next,
        )
        noted = services.watch.metrics.swept if services.watch.metrics else None
        self._sweep = Sweep(services.database, self._executor, services.queue, settings.worker.tick_s, noted)
        starter = Starter(offer=services.offer, queue=services.queue)
        self._scheduler = Scheduler(services.database, starter, settings.worker.tick_s)
        teller = Teller(sends_mail=services.messenger.sends_mail)
        self._reactions = Reactions(services.database, teller, settings.worker.tick_s)
        self._gate_alerts = GateAlerts(services.database, teller, settings.worker.tick_s)
        self._expiry = Expiry(services.database, settings.worker.tick_s)
        means = Means(
            offer=services.offer,
            queue=services.queue,
            canceller=services.canceller,
            attempts=poke,
            look_every_s=settings.worker.tick_s,
        )
        self._suites = SuiteTick(services.database, means, settings.worker.tick_s)
        self._deliverer = Deliverer(services.database, services.messenger, settings.worker.tick_s)
        retention = settings.retention
        self._retention = Retention(
            services.database, retention_rules_of(retention), retention.batch_size, retention.tick_s
        )
        self._consumer = Consumer(
            self._queueing, settings.redis.prefix, self._executor.execute, settings.worker.concurrency
        )
        self._scorer = Scorer(
            services.database,
            services.judges,
            Poke(self._queueing, settings.redis.prefix, SCORING),
            ScoringLimits(
                concurrency=settings.worker.concurrency,
                lease_s=settings.worker.lease_s,
                heartbeat_s=settings.worker.heartbeat_s,
                tick_s=settings.worker.tick_s,
            ),
        )

    async def run(self, stop: asyncio.Event) -> None:
        """Work until `stop` is set, then hand over open runs within the grace time.

        Raises `WorkerBroken`, after the same hand-over, when a part of the work has ended by itself.
        """
        async with AsyncExitStack() as opened:
            await opened.enter_async_context(self._answering())
            opened.push_async_callback(self._queueing.aclose)
            await opened.enter_async_context(self._executor)
            await opened.enter_async_context(self._consumer)
            opened.push_async_callback(self._deliverer.close)
            opened.push_async_callback(self._scorer.close)
            opened.push_async_callback(self._attempts.close)
            ticks = (
                asyncio.create_task(self._sweep.run(), name="sweep"),
                asyncio.create_task(self._scheduler.run(), name="schedules"),
                asyncio.create_task(self._reactions.run(), name="reactions"),
                asyncio.create_task(self._gate_alerts.run(), name="gate-alerts"),
                asyncio.create_task(self._expiry.run(), name="expiry"),
                asyncio.create_task(self._suites.run(), name="suites"),
                *self._scorer.begin(),
                *self._attempts.begin(),
                asyncio.create_task(self._deliverer.run(), name="deliveries"),
                asyncio.create_task(self._retention.run(), name="retention"),
            )
            opened.push_async_callback(end_tasks, *ticks)
            broken = await ended_before(stop, *ticks, self._executor.heartbeat, self._consumer.task)
            self._on_leaving()
            _log.info("stopping: handing over %d open runs", self._executor.held)
            self._consumer.stop_taking()
            await end_tasks(*ticks)
            try:
                async with asyncio.timeout(self._grace_s):
                    await self._executor.drain()
                    await asyncio.gather(self._scorer.drain(), self._attempts.drain())
                    await self._deliverer.drain()
            except TimeoutError:
                _log.error("grace time over: %d runs are left to their leases", self._executor.held)
        if broken is not None:
            raise WorkerBroken(broken.get_name())

    @asynccontextmanager
    async def _answering(self) -> AsyncIterator[None]:
        """Answer scrapes and probes while the block runs, if there is a port for them."""
        page, settings = self._services.metrics_page, self._services.settings
        host, port = settings.telemetry.metrics_host, settings.telemetry.metrics_port
        if page is None or port is None:
            yield
            return
        page.metrics.watch_worker(lambda: self._executor.held, lambda: self._executor.free)
        token = settings.admin.token.get_secret_value()
        async with listening(host, port, token, page, self._ready) as self.metrics_port:
            _log.info("metrics and probes on port %d", self.metrics_port)
            yield

    async def _ready(self) -> dict[str, str]:
        """What this worker stands on. Raises `DatabaseAway`; without Redis the sweep still finds runs."""
        settings, services = self._services.settings, self._services
        queue, _ = await asyncio.gather(
            queue_state(services.redis, settings.redis.prefix, settings.api.ready_timeout_s),
            services.database.check(settings.api.ready_timeout_s),
        )
        return {"database": "ready", "queue": queue}

    async def _admit_next(self, account_id: UUID) -> None:
        try:
            admitted = await admit_next(self._services.database, account_id)
        except DatabaseAway:
            return  # the sweep admits later
        await self._services.queue.announce(admitted)


async def work(settings: Settings) -> None:
    """Open the services and work until a signal asks to stop."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with open_services(settings) as services:
        worker = Worker(services, lambda: leave_within(settings.worker.shutdown_grace_s + SPARE_S))
        settle_heap()
        await worker.run(stop)


def main() -> None:
    """Run a worker in this process. Blocking."""
    settings = Settings.load()
    configure_logs(settings.log.level, settings.log.format)
    uvloop.run(work(settings))


if __name__ == "__main__":
    main()
