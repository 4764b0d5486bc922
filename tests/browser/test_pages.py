"""Every page in a real browser: without a complaint, and readable by everybody."""

import filecmp
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("/", "/town?run=one&paused#t=36000", "/town?run=one&with=two&paused#t=36000", "/chair")


def test_every_page_can_be_read_by_everybody(opened, pages, looked_at):
    found = {}
    for path in PAGES:
        for scheme, locale, width in (("light", "en-GB", 1280), ("dark", "zh-CN", 390)):
            page = opened(pages.at + path, scheme=scheme, locale=locale, width=width, ready="town" in path)
            page.wait_for_selector("h1")
            assert page.locator("html").get_attribute("lang") == ("en" if locale == "en-GB" else "zh-Hans")
            if "town" in path:
                page.locator(".name").first.press("Enter")
                page.wait_for_selector(".detail h2")
            serious = looked_at(page)
            if serious:
                found[path, scheme] = serious
            wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            if wide > 0:
                found[path, width] = f"{wide} pixels too wide"
            page.close()
    assert found == {}


def test_language_and_colours_change_at_once(opened, pages):
    page = opened(f"{pages.at}/town?run=one&paused#t=36000")
    page.get_by_role("button", name="change the language").click()
    assert page.get_by_role("button", name="播放").is_visible()
    assert page.get_by_role("button", name="候诊大厅").count() == 1
    page.get_by_role("button", name="深色").click()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_the_built_pages_are_what_the_sources_build(tmp_path):
    if shutil.which("npx") is None or not (ROOT / "frontend" / "node_modules").is_dir():
        pytest.skip("there is no Node here, or its packages are not installed: make frontend")
    command = ["npx", "vite", "build", "--outDir", str(tmp_path / "static"), "--logLevel", "error"]
    for more in ([], ["--config", "vite.browse.config.js"]):
        subprocess.run([*command, *more], cwd=ROOT / "frontend", check=True, capture_output=True)
    kept = ROOT / "src" / "polyclinic" / "web" / "static"
    built = sorted(path.relative_to(tmp_path / "static") for path in (tmp_path / "static").rglob("*") if path.is_file())
    there = sorted(path.relative_to(kept) for path in kept.rglob("*") if path.is_file() and path.name != "sources.txt")
    assert built == there
    other = [str(path) for path in built if not filecmp.cmp(tmp_path / "static" / path, kept / path, shallow=False)]
    assert other == [], "make frontend"
