"""What dashboards and rules may read of RabbitMQ's plugin rabbitmq_prometheus, versions 3.10 to 4.x."""

from typing import Final

__all__ = ["BROKER_METRICS"]

BROKER_METRICS: Final = frozenset(
    {
        # /metrics: sums over the node
        "rabbitmq_alarms_file_descriptor_limit",
        "rabbitmq_alarms_free_disk_space_watermark",
        "rabbitmq_alarms_memory_used_watermark",
        "rabbitmq_channels",
        "rabbitmq_connections",
        "rabbitmq_consumers",
        "rabbitmq_disk_space_available_bytes",
        "rabbitmq_disk_space_available_limit_bytes",
        "rabbitmq_global_messages_confirmed_total",
        "rabbitmq_global_messages_delivered_total",
        "rabbitmq_global_messages_received_total",
        "rabbitmq_global_messages_redelivered_total",
        "rabbitmq_process_resident_memory_bytes",
        "rabbitmq_resident_memory_limit_bytes",
        # /metrics/detailed: per queue
        "rabbitmq_detailed_queue_consumers",
        "rabbitmq_detailed_queue_messages_ready",
        "rabbitmq_detailed_queue_messages_ready_bytes",
        "rabbitmq_detailed_queue_messages_unacked",
    }
)
