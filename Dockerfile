# One image for every stage: the command says which (`docker run tidegate:local ingest bybit`).

FROM python:3.13-slim AS builder

ENV PIP_DISABLE_PIP_VERSION_CHECK=1 \
    PIP_NO_CACHE_DIR=1 \
    PIP_NO_COMPILE=1 \
    PIP_PYTHON=/opt/tidegate/bin/python \
    PIP_ROOT_USER_ACTION=ignore

# The installer stays here: the environment that is shipped holds what runs and nothing else.
RUN python -m venv --without-pip /opt/tidegate

WORKDIR /build

# What is locked changes seldom: a layer of its own, made anew only then.
COPY requirements.lock ./
RUN pip install --require-hashes --requirement requirements.lock

COPY pyproject.toml README.md LICENSE ./
COPY shared shared
COPY services services
RUN pip install --no-deps --no-build-isolation . \
 && pip uninstall --yes setuptools

# The file system is read-only at run time, so the bytecode is made now and is never checked against its source.
RUN python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/tidegate/lib


FROM python:3.13-slim

LABEL org.opencontainers.image.title="Tidegate" \
      org.opencontainers.image.description="Real-time market-data gateway: exchange WebSockets to canonical messages on RabbitMQ" \
      org.opencontainers.image.licenses="Apache-2.0"

ENV PATH=/opt/tidegate/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONFAULTHANDLER=1 \
    PYTHONUNBUFFERED=1

# A named volume takes owner and mode from the directory that it is mounted over.
RUN cd /var/lib && install --directory --owner=10001 --group=10001 --mode=0755 \
    tidegate tidegate/journal tidegate/state tidegate/credentials \
    tidegate/credentials/broker tidegate/credentials/ingest tidegate/credentials/normalizer \
    tidegate/credentials/ingest-account tidegate/credentials/normalizer-account \
    tidegate/credentials/consumer tidegate/credentials/account-consumer
WORKDIR /var/lib/tidegate

COPY --from=builder /opt/tidegate /opt/tidegate

USER 10001:10001

ENTRYPOINT ["tidegate"]
CMD ["--help"]
