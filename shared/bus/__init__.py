"""The bus between stages: the port (``base``), in one process (``memory``), on RabbitMQ (``rabbit``)."""
