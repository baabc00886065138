from services.ingest.spacing import Spacing


def test_the_first_is_at_once_and_the_next_when_the_spacing_is_over() -> None:
    spacing = Spacing(10)
    assert spacing.ask("a", 100)
    assert not spacing.ask("a", 105)
    assert spacing.due(109) == []
    assert spacing.due(110) == ["a"]
    assert spacing.due(111) == []


def test_what_is_asked_many_times_meanwhile_is_done_once() -> None:
    spacing = Spacing(10)
    assert [spacing.ask("a", now) for now in (0, 1, 2, 9)] == [True, False, False, False]
    assert spacing.due(10) == ["a"]
    assert not spacing.ask("a", 15)
    assert spacing.due(20) == ["a"]
    assert spacing.due(40) == []
    assert spacing.ask("a", 40)


def test_a_deferred_key_keeps_its_place_until_it_is_taken() -> None:
    spacing = Spacing(10)
    assert spacing.ask("a", 0)
    assert not spacing.ask("a", 5)
    assert not spacing.ask("a", 50)  # late, but due() has it: it must not be done twice
    assert spacing.due(50) == ["a"]


def test_keys_do_not_touch_each_other() -> None:
    spacing = Spacing(10)
    assert spacing.ask("a", 0)
    assert spacing.ask("b", 1)
    assert not spacing.ask("b", 2)
    assert spacing.due(10) == []
    assert spacing.due(11) == ["b"]
