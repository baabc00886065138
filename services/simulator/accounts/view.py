"""A wallet as it was at some moment, made of what had happened until then."""

from collections.abc import Sequence

from services.simulator.accounts.records import (
    AssetRecord,
    Execution,
    Funding,
    Happening,
    OrderRecord,
    PositionRecord,
)

__all__ = ["LaggingView", "PositionKey", "View"]

PositionKey = tuple[str, str, str]
"""(product, native symbol, leg)."""


class View:
    """Orders in the order in which they were made, executions and payments in the order in which they happened."""

    def __init__(self) -> None:
        self.ts_ns = 0
        self.happenings = 0
        self.orders: dict[str, OrderRecord] = {}
        self.open: dict[str, OrderRecord] = {}
        self.executions: list[Execution] = []
        self.fundings: list[Funding] = []
        self.assets: dict[str, AssetRecord] = {}
        self.positions: dict[PositionKey, PositionRecord] = {}

    def apply(self, happening: Happening) -> None:
        """Take in what happened next."""
        self.ts_ns = happening.ts_ns
        self.happenings += 1
        order = happening.order
        if order is not None:
            self.orders[order.id] = order
            if order.open:
                self.open[order.id] = order
            else:
                self.open.pop(order.id, None)
        if happening.execution is not None:
            self.executions.append(happening.execution)
        if happening.funding is not None:
            self.fundings.append(happening.funding)
        for change in happening.assets:
            self.assets[change.after.asset] = change.after
        for position in happening.positions:
            instrument = position.instrument
            self.positions[instrument.product, instrument.native_symbol, position.leg] = position


class LaggingView:
    """The view of a moment that moves on with the time; going back starts over."""

    def __init__(self, happenings: Sequence[Happening]) -> None:
        self._happenings = happenings
        self._view = View()

    def at(self, ts_ns: int) -> View:
        """The wallet as it was at this time."""
        if self._view.ts_ns > ts_ns:
            self._view = View()
        while self._view.happenings < len(self._happenings):
            following = self._happenings[self._view.happenings]
            if following.ts_ns > ts_ns:
                break
            self._view.apply(following)
        return self._view
