"""Asserts in the modules that conformance tests are made of are explained like those of the tests themselves."""

import pytest

pytest.register_assert_rewrite(
    *(
        f"tests.contract.{name}"
        for name in ("conformance", "book_conformance", "plan_conformance", "driving", "account_conformance")
    )
)
