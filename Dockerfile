# syntax=docker/dockerfile:1
# One image for `api`, `worker` and `migrate`: docker run parley api|worker|migrate

ARG PYTHON=3.11

FROM python:${PYTHON}-slim-bookworm AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/parley
WORKDIR /src
# The dependencies change seldom: their layer stays in the cache while the source changes.
COPY requirements/build.lock requirements/server.lock requirements/
RUN pip install --require-hashes --requirement requirements/build.lock \
    && /opt/parley/bin/pip install --require-hashes --requirement requirements/server.lock
COPY pyproject.toml README.md LICENSE ./
COPY migrations migrations
COPY src src
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
    && /opt/parley/bin/pip install --no-deps /wheels/*.whl

FROM python:${PYTHON}-slim-bookworm
LABEL org.opencontainers.image.title="Parley" org.opencontainers.image.licenses="Apache-2.0"
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin parley
COPY --from=build /opt/parley /opt/parley
ENV PATH=/opt/parley/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    PARLEY_API_HOST=0.0.0.0 \
    PARLEY_API_PORT=8000
# By number, so that an orchestrator can see that it is not root.
USER 10001
WORKDIR /tmp
EXPOSE 8000
# For `api`. A worker has a port only if it is given one: then check that, as docker-compose.yml does.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen(f\"http://127.0.0.1:{os.environ['PARLEY_API_PORT']}/livez\", timeout=4)"]
ENTRYPOINT ["parley"]
CMD ["api"]
