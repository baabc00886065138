"""What is promised is shown: every test that the page names is there."""

import re

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.ops


def test_every_test_that_the_guarantees_name_exists() -> None:
    page = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(test_\w+)`", page))
    texts = (path.read_text(encoding="utf-8") for path in ROOT.glob("tests/**/test_*.py"))
    there = {name for text in texts for name in re.findall(r"^(?:async )?def (test_\w+)\(", text, re.MULTILINE)}
    assert len(named) > 40
    assert named - there == set()


def test_every_line_of_its_tables_names_a_test() -> None:
    page = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    bare = [row for row in rows if not re.search(r"`test_\w+`", row) and not row.endswith("| shown by |")]
    assert bare == []
