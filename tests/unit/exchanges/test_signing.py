import pytest

from shared.errors import ParseError
from shared.exchanges.signing import asked, harmless, hmac_hex, query


def test_digest_of_rfc_4231() -> None:
    # Test case 2 of RFC 4231.
    wanted = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    assert hmac_hex("Jefe", "what do ya want for nothing?") == wanted


def test_query_keeps_the_order_and_leaves_nothing_unencoded() -> None:
    assert query(()) == ""
    assert query((("b", "1"), ("a", "x y/z:+&=,%"))) == "b=1&a=x%20y%2Fz%3A%2B%26%3D%2C%25"


def test_asked_is_the_reverse() -> None:
    parameters = (("symbol", "币USDT"), ("cursor", "page=1&x:2"), ("empty", ""))
    path, given = asked(f"https://venue.test/base/v1/list?{query(parameters)}")
    assert (path, given) == ("/base/v1/list", dict(parameters))


@pytest.mark.parametrize("url", ["https://[broken", "https://venue.test/?a=%FF"])
def test_what_is_no_url_is_rejected(url: str) -> None:
    with pytest.raises(ParseError, match="unknown_event"):
        asked(url)


def test_secrets_are_taken_out_before_the_text_is_cut() -> None:
    assert harmless("of key-1 and key-12!", "key-1", "", "key-12") == "of *** and ***!"
    assert harmless("x" * 190 + "a-long-secret", "a-long-secret") == "x" * 190 + "***"
    assert len(harmless("y" * 500)) == 200
