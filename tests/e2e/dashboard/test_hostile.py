"""A hostile transcript runs nothing, styles nothing, loads nothing, leads nowhere, and is shown as it was."""

from __future__ import annotations

from uuid import UUID

from playwright.async_api import Page, expect

from parley.engine.events import AssistantSpoke, Entry
from parley.engine.messages import Reasoning, Refusal, Text, ToolCall, ToolResult
from tests.e2e.dashboard.seen import Seen
from tests.factories.told_runs import tell, timing, turn_of, usage
from tests.stage import Stage

ELSEWHERE = "http://127.0.0.2:9"
MARKUP = f"""<script>window.got = 1</script><img src="{ELSEWHERE}/a.png" onerror="window.got = 2">
<style>body {{ display: none !important }}</style><link rel=stylesheet href="{ELSEWHERE}/b.css">
<svg onload="window.got = 3"></svg><iframe src="{ELSEWHERE}/c"></iframe><base href="{ELSEWHERE}/">
<form action="{ELSEWHERE}/d"><button id="got">Sign in</button></form></p></article></main><h1>Mine</h1>
<meta http-equiv="refresh" content="0;url={ELSEWHERE}/e">
{{{{constructor.constructor('window.got = 4')()}}}} ${{window.got = 5}}"""
MARKDOWN = f"""# <img src=x onerror=window.got=6>
[click](javascript:window.got=7) ![pixel]({ELSEWHERE}/f.png) <{ELSEWHERE}/g>
[ref]: {ELSEWHERE}/h
**<b onclick="window.got=8">bold</b>** `</code><script>window.got=9</script>`
- <a href="{ELSEWHERE}/i">item</a>
```html
<script>window.got = 10</script>
```"""
RIGHT_TO_LEFT = (
    "before \N{RIGHT-TO-LEFT OVERRIDE}desrever si siht\N{RIGHT-TO-LEFT EMBEDDING}, and it is never ended"
)
ZALGO = "Z" + "\N{COMBINING DIAERESIS}\N{COMBINING CIRCUMFLEX ACCENT}" * 400
LONG_LINE = "a" * 100_000
TEXTS = (MARKUP, MARKDOWN, RIGHT_TO_LEFT, ZALGO, LONG_LINE)


def conversation() -> list[Entry]:
    """Every text in every place that shows one."""
    said: list[Entry] = []
    for turn, words in enumerate(TEXTS, 1):
        user, _, opinion = turn_of(turn, words, "", 0.5, reasoning=words)
        parts = (
            Reasoning(text=words),
            Text(text=words),
            ToolCall(id=f"call-{turn}", name=words[:64], arguments=words),
            ToolResult(id=f"call-{turn}", name=words[:64], content=words),
            Refusal(text=words),
        )
        answer = AssistantSpoke(turn=turn, round=1, parts=parts, usage=usage(), timing=timing(turn))
        said += [user, answer, opinion]
    return said


async def hostile_run(stage: Stage) -> tuple[str, str]:
    """A test and a run of it that holds all of this."""
    test_id = await stage.make_test(name="</title><script>window.got=11</script>", goal=MARKUP)
    path = await stage.start(test_id)
    run_id = path.rsplit("/", 1)[1]
    await tell(stage.services.database, UUID(run_id), conversation())
    return test_id, run_id


def foreign(page: Page, url: str) -> list[str]:
    """What the page asks of anybody but the service, from now on."""
    asked: list[str] = []
    page.on("request", lambda request: None if request.url.startswith(url) else asked.append(request.url))
    return asked


INTRUDERS = """() => {
  const words = document.querySelector("main");
  const listens = (one) => one.getAttributeNames().some((name) => name.startsWith("on"));
  const count = (what) => words.querySelectorAll(what).length;
  return {
    got: String(window.got), shown: getComputedStyle(document.body).display,
    elements: count("script, img, style, link, iframe, form, base, meta, object, embed, video, audio"),
    handlers: [...words.querySelectorAll("*")].filter(listens).length,
    headings: document.querySelectorAll("h1").length,
    links: [...document.links].filter((one) => one.origin !== location.origin).length,
  };
}"""
NOTHING = {
    "got": "undefined",
    "shown": "block",
    "elements": 0,
    "handlers": 0,
    "headings": 1,
    "links": 0,
}


async def test_hostile_transcript_is_words_and_nothing_else(dashboard: Seen, stage: Stage) -> None:
    test_id, run_id = await hostile_run(stage)
    page = dashboard.page
    asked = foreign(page, stage.url)
    for query in ("", "?markdown=1"):
        await dashboard.open(f"/tests/{test_id}/runs/{run_id}{query}")
        await expect(page.locator("#turn-5")).to_be_attached()
        await page.evaluate(
            "() => document.querySelectorAll('details').forEach((one) => { one.open = true })"
        )
        await page.locator("#turn-5").scroll_into_view_if_needed()
        assert await page.evaluate(INTRUDERS) == NOTHING
    assert asked == []


async def test_hostile_transcript_is_shown_as_it_was(dashboard: Seen, stage: Stage) -> None:
    test_id, run_id = await hostile_run(stage)
    page = dashboard.page
    await dashboard.open(f"/tests/{test_id}/runs/{run_id}")
    for turn, words in enumerate(TEXTS, 1):
        shown = page.locator(f"#turn-{turn} .message.user > .words")
        await expect(shown).to_be_attached()
        assert await shown.evaluate("one => one.textContent") == words
    await expect(page.get_by_role("heading", level=1)).to_contain_text("</title><script>")
    # What turns round stays in its own line.
    after = page.locator("#turn-3 .message.user h4")
    assert await after.evaluate("one => getComputedStyle(one).direction") == "ltr"
    assert await page.locator("#turn-3 .message.user > .words").evaluate(
        "one => getComputedStyle(one).unicodeBidi"
    ) in ("isolate", "plaintext")
    await dashboard.looks_accessible()


async def test_hostile_runs_are_compared_as_words(dashboard: Seen, stage: Stage) -> None:
    test_id, run_id = await hostile_run(stage)
    path = await stage.start(test_id)
    await tell(stage.services.database, UUID(path.rsplit("/", 1)[1]), conversation())
    page = dashboard.page
    asked = foreign(page, stage.url)
    await dashboard.open(f"/tests/{test_id}/compare?left={run_id}&right={path.rsplit('/', 1)[1]}")
    await expect(page.locator("#turn-5")).to_be_attached()
    await page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert (await page.evaluate(INTRUDERS), asked) == (NOTHING, [])
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert await page.evaluate(overflow) <= 0
