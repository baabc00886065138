"""The text of the five ``performance_metrics`` lines. Durations are nanoseconds; what is shown are seconds, or ms."""

__all__ = ["buffer_line", "micro_line", "pipeline_line", "publisher_line", "worker_line"]


def worker_line(exchange: str, symbol: str, q_wait: float, norm_time: float, loop_lag: float, active_tasks: int) -> str:
    """How a symbol's frames got through a normalizer."""
    return (
        f"WORKER | exchange={exchange} | symbol={symbol} | q_wait={q_wait / 1e9:.4f}s"
        f" | norm_time={norm_time / 1e9:.4f}s | loop_lag={loop_lag / 1e9:.4f}s | active_tasks={active_tasks}"
    )


def publisher_line(batch_size: int, pool_wait: float, net_write: float, cb_state: str, cb_failures: int) -> str:
    """How writes to the bus went."""
    return (
        f"PUBLISHER | batch_size={batch_size} | pool_wait={pool_wait / 1e9:.4f}s | net_write={net_write / 1e9:.4f}s"
        f" | cb_state={cb_state} | cb_failures={cb_failures}"
    )


def buffer_line(exchange: str, symbol: str, qsize: int, *, dropped: bool) -> str:
    """The buffer that a symbol's frames wait in."""
    return f"BUFFER | exchange={exchange} | symbol={symbol} | qsize={qsize} | dropped={dropped}"


def pipeline_line(plane: str, event: str, qsize: int, items: int) -> str:
    """One step of a plane."""
    return f"PIPELINE | plane={plane} | event={event} | qsize={qsize} | items={items}"


def micro_line(name: str, duration: int) -> str:
    """One run of a synchronous block."""
    return f"[MICRO-METRIC] {name} took {duration / 1e6:.3f}ms"
