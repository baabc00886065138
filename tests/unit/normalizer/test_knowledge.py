"""What a normalizer knows of streams, peers, instruments, and tells of itself."""

import asyncio

from services.normalizer.holding import Held, Owned, member_name
from services.normalizer.known import Known, Peers, is_stream
from services.normalizer.tables import Tables
from shared.bus.memory import MemoryBus
from shared.control import (
    Holding,
    Holdings,
    Instruments,
    InstrumentsRequest,
    StreamInfo,
    decode_control,
    encode_control,
)
from shared.instruments import Instrument, InstrumentKind
from shared.topology import CONTROL, resync_key
from tests.unit.normalizer.plane import LINEAR, SPOT

SECOND = 1_000_000_000
CONTRACT = Instrument(
    "mexc", "futures", "X/USDT:USDT", "X_USDT", "X", "USDT", "USDT", InstrumentKind.PERPETUAL, contract_size="0.01"
)


def holdings(member: str, *streams: str) -> Holdings:
    return Holdings(member, "host", 1, [Holding(stream, "bybit", "linear", 0) for stream in streams])


def test_a_stream_is_let_go_when_nobody_has_announced_it_for_long() -> None:
    known = Known(5 * SECOND)
    assert known.announced(LINEAR)
    assert not known.announced(LINEAR)
    assert known.announced(SPOT)
    for second in range(6):
        known.announced(SPOT)
        assert known.look(second * SECOND) == []
    assert known.look(6 * SECOND) == [LINEAR]
    assert list(known.streams) == [SPOT.stream]
    assert known.announced(LINEAR)


def test_frames_are_a_sign_of_life() -> None:
    known = Known(2 * SECOND)
    known.announced(LINEAR)
    for second in range(10):
        known.alive([LINEAR.stream, "bybit.linear.9"])
        assert known.look(second * SECOND) == []


def test_time_in_which_nobody_listened_does_not_count() -> None:
    """A process that was frozen for a minute must not give everything up when it wakes."""
    known = Known(5 * SECOND)
    known.announced(LINEAR)
    known.look(0)
    assert known.look(60 * SECOND) == []
    assert LINEAR.stream in known.streams


def test_a_stream_whose_product_changed_is_news() -> None:
    known = Known(SECOND)
    known.announced(LINEAR)
    assert known.announced(StreamInfo("bybit", "inverse", "market", LINEAR.stream))


def test_what_can_be_no_stream() -> None:
    assert is_stream(LINEAR)
    assert not is_stream(StreamInfo("kraken", "spot", "market", "kraken.spot.0"))
    assert not is_stream(StreamInfo("bybit", "spot", "market", "bybit spot"))


def test_peers_tell_what_they_let_go() -> None:
    peers, known = Peers("me"), ["a.b.0", "a.b.1"]
    assert peers.heard(holdings("you", "a.b.0", "a.b.1", "unheard.of.0"), known) == []
    assert peers.heard(holdings("me"), known) == []
    assert peers.heard(holdings("you", "a.b.1"), known) == ["a.b.0"]
    assert peers.taken("a.b.0") == "rebalanced"
    assert peers.taken("a.b.1") == "orphaned"
    assert peers.taken("a.b.1") == "started"
    assert peers.heard(holdings("you"), known) == []


def test_a_freed_stream_that_another_took_is_not_rebalanced_to_us() -> None:
    peers, known = Peers("me"), ["a.b.0"]
    peers.heard(holdings("you", "a.b.0"), known)
    peers.heard(holdings("you"), known)
    peers.heard(holdings("they", "a.b.0"), known)
    assert peers.taken("a.b.0") == "orphaned"


def test_holdings_tell_lag_and_count() -> None:
    owned = Owned("host.example:42:beef")
    owned.streams[LINEAR.stream] = Held(LINEAR, 5, 1_000)
    assert owned.message().streams == [Holding(LINEAR.stream, "bybit", "linear", 1_000)]
    owned.dealt_with({("bybit", LINEAR.stream): (7, 2_000), ("bybit", SPOT.stream): (1, 1)}, 2_500)
    owned.dealt_with({("bybit", LINEAR.stream): (3, 2_600)}, 2_700)
    told = owned.message()
    assert told == Holdings(
        "host.example:42:beef", "host.example", 42, [Holding(LINEAR.stream, "bybit", "linear", 1_000, 10, 100, 2_700)]
    )
    assert decode_control(encode_control(told)) == told


def test_member_names_tell_host_and_process_and_are_unique() -> None:
    names = {member_name() for _ in range(20)}
    assert len(names) > 15
    assert all(len(name.encode()) <= 255 for name in names)
    assert Owned(names.pop()).message().streams == []


def test_a_new_stream_is_read_with_what_the_process_knows() -> None:
    tables = Tables()
    assert tables.seed("mexc", "futures").get("X_USDT") is None
    tables.told(Instruments("mexc", "futures", [CONTRACT]))
    seeded = tables.seed("mexc", "futures")
    assert seeded.get("X_USDT") == CONTRACT
    assert tables.seed("mexc", "spot").get("X_USDT") is None
    seeded.update([])
    assert tables.seed("mexc", "futures") is not seeded


async def test_a_claim_waits_for_the_list_that_ingest_has() -> None:
    stream = StreamInfo("mexc", "futures", "market", "mexc.futures.0")
    async with MemoryBus() as bus:
        asked = await bus.subscribe(CONTROL, [resync_key("mexc")])
        tables, publisher = Tables(), await bus.publisher()
        waiting = [asyncio.create_task(tables.ready(stream, publisher)) for _ in range(5)]
        async with asyncio.timeout(60):
            assert decode_control((await asked.receive()).body) == InstrumentsRequest("mexc", "futures")
            assert not any(task.done() for task in waiting)
            tables.told(Instruments("mexc", "spot", []))
            tables.told(Instruments("mexc", "futures", [CONTRACT]))
            await asyncio.gather(*waiting)
            await tables.ready(stream, publisher)


async def test_a_claim_does_not_wait_for_ever_nor_twice() -> None:
    async with MemoryBus() as bus:
        tables, publisher = Tables(), await bus.publisher()
        async with asyncio.timeout(60):
            await tables.ready(LINEAR, publisher)
        async with asyncio.timeout(0):
            await tables.ready(LINEAR, publisher)
