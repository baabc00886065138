"""The list of processes that ``tidegate up`` starts."""

from services.cli.procfile import Process, commands, processes

TEXT = """\
# what there is
front: exec serve --port $PORT
worker:  A=b exec work: hard

back: exec keep
"""


def test_names_and_commands_are_read_in_order() -> None:
    assert commands(TEXT) == {
        "front": "exec serve --port $PORT",
        "worker": "A=b exec work: hard",
        "back": "exec keep",
    }


def test_replicas_have_ports_of_their_own_and_move_nobody_elses() -> None:
    found = processes(commands(TEXT), {"front": 0, "worker": 3}, 9_110)
    assert found == [
        Process("worker.1", "A=b exec work: hard", 9_210),
        Process("worker.2", "A=b exec work: hard", 9_211),
        Process("worker.3", "A=b exec work: hard", 9_212),
        Process("back.1", "exec keep", 9_310),
    ]
