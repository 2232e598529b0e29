"""The Python in README and docs runs, and prints what is shown below it."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest
from docs.prose import ROOT, Block, blocks, pages

PYTHON = {
    page.relative_to(ROOT).as_posix(): [
        block for block in blocks(page) if block.language == "python" and block.is_run
    ]
    for page in pages()
}


def run(page: str, chosen: list[Block], names: dict[str, object]) -> None:
    """Runs blocks one after the other, as a reader would, and compares what they print."""
    for block in chosen:
        out = io.StringIO()
        # Line numbers of the page, so that a failure points into it.
        code = compile("\n" * block.line + block.text, page, "exec")
        with contextlib.redirect_stdout(out):
            exec(code, names)
        if block.output is not None:
            assert tidy(out.getvalue()) == tidy(block.output), f"{page}, line {block.line}"


def tidy(text: str) -> str:
    """The text without blanks at the ends of lines, which editors remove."""
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


@pytest.mark.parametrize("page", [name for name, found in PYTHON.items() if found])
def test_blocks_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(page, [block for block in PYTHON[page] if not block.needs_spark], {})


@pytest.mark.spark
@pytest.mark.parametrize(
    "page", [name for name, found in PYTHON.items() if any(b.needs_spark for b in found)]
)
@pytest.mark.usefixtures("spark")
def test_blocks_for_spark_print_what_is_shown(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run(page, PYTHON[page], {})


def test_the_readme_shows_output():
    assert sum(block.output is not None for block in PYTHON["README.md"]) >= 2


def test_a_block_with_other_output_would_fail(tmp_path):
    block = Block("python", "print('one')\n", 1, output="two\n")
    with pytest.raises(AssertionError, match=r"page\.md, line 1"):
        run("page.md", [block], {})


def test_a_text_block_right_after_code_is_its_output(tmp_path):
    page = Path(tmp_path / "page.md")
    page.write_text("<!-- spark -->\n```python\nprint(1)\n```\n\n```text\n1\n```\n")
    first = blocks(page)[0]
    assert (first.output, first.needs_spark, first.is_run) == ("1\n", True, True)
