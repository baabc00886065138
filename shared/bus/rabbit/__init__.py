"""The bus on RabbitMQ. FastStream owns the connections and the application, aio-pika's channels carry the frames.

Who does what, and why (measured with FastStream 0.7.8, aio-pika 10.2, aiormq 7.2, RabbitMQ 3.10 and 4):

- ``link``: one ``RabbitBroker`` for publishing, one for consuming. A memory alarm stops a publishing connection whole,
  acknowledgements included. FastStream (aio-pika's robust connection) reconnects; everything else comes back by itself.
- ``topology``: declares, on a channel of its own: FastStream's declarer caches by name, so that it would not declare
  again after a broker lost its data, and a mismatch must not cost anyone else's channel.
- ``survey``: looks whether it is all there, for who may not or does not want to declare.
- ``publisher``, ``confirms``, ``wire``: plain channels with confirms, taken from the link's connection. FastStream's
  publisher ignores its timeout and takes an unroutable message for a published one; its channels and aio-pika's robust
  ones hide when they died. A batch is written as a whole, which costs an eighth of as many publishes, and leaves few
  frames waiting that a channel error could overtake (with ten, it mostly ends the connection: 504 CHANNEL_ERROR).
- ``plain``: aio-pika's own publishing, for those who would rather have that; ``publishing``: what both have alike.
- ``consumer``, ``claims``, ``members``: what one normalizer owns. A plain channel and an exclusive lock queue per
  stream, a place on the list of members; all of it dies with its connection, since what comes back by itself after a
  reconnect would be a second owner next to its successor. Single-active-consumer queues are not used: a standby cannot
  be told from the owner, a cancel frees the queue before its deliveries are dealt with, and RabbitMQ 3.10 crashes them.
- ``subscriber``: control traffic and taps, on a queue that is made anew whenever the connection is.
- ``errors``: the one place where the library's exceptions become ours.
- ``application``: FastStream's ASGI application around a service.

Importing any of this imports FastStream (0.9 s).
"""

from shared.bus.rabbit.bus import PublisherKind, RabbitBus

__all__ = ["PublisherKind", "RabbitBus"]
