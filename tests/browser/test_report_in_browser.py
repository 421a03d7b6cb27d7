"""What a person does with the report: reads, searches, unfolds, takes along, prints."""

import csv
import io
import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PHONE = {"width": 360, "height": 740}


def saved(page, act):
    with page.expect_download() as waiting:
        act()
    download = waiting.value
    return download.suggested_filename, Path(download.path()).read_bytes().decode()


def fold_out(page, name):
    """The numbers behind the table of this name."""
    return page.locator(f"details.numbers[data-name='{name}']")


def shown(page, selector):
    return [e for e in page.locator(selector).all() if e.is_visible()]


def search(page, text):
    page.fill("#find", text)
    page.wait_for_function(
        "t => (t === '') === (document.querySelector('#found').textContent === '')", arg=text
    )
    page.wait_for_timeout(200)


def test_opens_from_disk_without_a_complaint_or_a_request(visit):
    page = visit()
    assert page.title() == "Browser (steward's edition)"
    assert page.locator("h1").inner_text() == "Browser"
    assert page.locator(".overall .badge").inner_text() == "FAIL"
    assert page.locator(".next li").all_inner_texts()[0] == "Give more holdout rows."
    page.mouse.wheel(0, 3000)


def test_everything_essential_is_there_without_script(visit):
    page = visit(java_script_enabled=False)
    assert page.locator(".overall .badge").is_visible()
    assert page.locator("figure svg").first.is_visible()
    assert not page.locator("#find").is_visible()
    assert not page.locator("#downloads").is_visible()
    page.locator("details.card summary").first.click()
    assert page.get_by_text("What it says.").is_visible()
    page.locator("details.more summary").first.click()
    assert page.locator("details.more figure").first.is_visible()
    page.locator("details.numbers summary").first.click()
    assert page.locator("details.numbers .wait").first.is_visible()


def test_every_section_is_reached_by_keyboard(visit):
    page = visit(reduced_motion="reduce")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page = visit(reduced_motion="reduce")
    wanted = page.eval_on_selector_all("nav a", "all => all.map(a => a.getAttribute('href'))")
    assert len(wanted) == 8
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        target = page.evaluate("document.activeElement.getAttribute('href')")
        if target in wanted:
            page.keyboard.press("Enter")
            page.wait_for_function("h => location.hash === h", arg=target)
            top = page.evaluate(
                "h => document.querySelector(h).getBoundingClientRect().top", target
            )
            assert -2 <= top < 900, target
            reached.append(target)
            page.locator(f"nav a[href='{target}']").focus()
    assert reached == wanted


def test_what_has_the_focus_is_seen(visit):
    page = visit()
    for _ in range(6):
        page.keyboard.press("Tab")
        style = "getComputedStyle(document.activeElement)"
        assert page.evaluate(f"{style}.outlineStyle") != "none"


def test_fold_outs_open_by_keyboard_and_are_filled(visit, data):
    page = visit()
    fold = fold_out(page, "histogram:age")
    fold.locator("summary").focus()
    page.keyboard.press("Enter")
    fold.locator("table").wait_for()
    rows = fold.locator("tbody tr")
    assert rows.count() == 8
    assert rows.first.inner_text().split("\t") == ["age 0", "33.33 %", "0 %", "5.00 %"]
    assert rows.nth(2).inner_text().split("\t")[-1] == "–"
    parts = page.locator("details.numbers[data-finding='1']")
    parts.locator("summary").press("Enter")
    parts.locator("table").wait_for()
    assert parts.locator("tbody tr").count() == 1000
    assert "200 further rows are in the download." in parts.inner_text()


def test_the_pointer_reads_a_bar(visit):
    page = visit()
    bars = page.locator("#fidelity-single figure svg.bars").first
    assert not page.locator(".tip").is_visible()
    bars.hover(position={"x": 5, "y": 60})
    assert (
        page.locator(".tip").inner_text() == "age 0: train 33.33 %, synthetic 0 %, holdout 5.00 %"
    )
    bars.hover(position={"x": 295, "y": 60})
    assert page.locator(".tip").inner_text().startswith("age 7: train 4.17 %")
    page.locator("h3").first.hover()
    assert not page.locator(".tip").is_visible()


def test_search_filters_pictures_and_parts(visit):
    page = visit()
    everything = len(shown(page, "article"))
    search(page, "QUESTION 23")
    assert [f.inner_text() for f in shown(page, "figcaption")] == ["question 23"]
    search(page, "sex")
    assert shown(page, "#fidelity-single details.more") == []
    search(page, "question 23")
    assert [r.inner_text().split("\t")[0] for r in shown(page, ".parts tbody tr")] == [
        "question 23"
    ]
    assert len(shown(page, "article")) == 1
    assert "Found: 1 finding, 1 picture, 1 part, 0 records." in page.locator("#found").inner_text()
    search(page, "pair 1199")
    assert [r.inner_text().split("\t")[0] for r in shown(page, ".parts tbody tr")] == ["pair 1199"]
    search(page, "single columns")
    assert len(shown(page, "article")) == 1
    assert len(shown(page, "article .parts tbody tr")) == 12
    search(page, "nothing like this")
    assert shown(page, "article") == []
    search(page, "")
    assert len(shown(page, "article")) == everything
    assert page.locator("details.more[open]").count() == 0


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "\"double\" & 'single'", "=cmd()", "🎭", "מין"]
)
def test_search_takes_any_text_as_text(visit, name):
    page = visit()
    search(page, name)
    captions = [f.inner_text() for f in shown(page, "figcaption")]
    assert captions
    assert all(name in caption for caption in captions)
    assert page.locator("script").count() == 2
    records = [r.inner_text() for r in shown(page, "#register tbody tr")]
    assert len(records) == 6
    assert all(name in record for record in records)


def test_download_gives_the_table_at_full_precision(visit, data):
    page = visit()
    fold = fold_out(page, "histogram:age")
    fold.locator("summary").click()
    name, text = saved(page, fold.locator("button").click)
    assert name == "histogram-age.csv"
    head, *rows = csv.reader(io.StringIO(text))
    table = data["findings"][0]["tables"]["histogram:age"]
    assert head == table["columns"]
    assert [[r[0], *(float(v) if v else None for v in r[1:])] for r in rows] == table["rows"]


def test_download_of_parts_is_complete(visit, data):
    page = visit()
    parts = page.locator("details.numbers[data-finding='1']")
    parts.locator("summary").click()
    _, text = saved(page, parts.locator("button").click)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [float(r["value"]) for r in rows] == [p["value"] for p in data["findings"][1]["parts"]]


def test_formulas_are_neutralised_in_downloads(visit):
    page = visit()
    fold = fold_out(page, "formulas")
    fold.locator("summary").click()
    _, text = saved(page, fold.locator("button").click)
    head, *rows = csv.reader(io.StringIO(text))
    assert head == ["'=name", "value"]
    assert [r[0] for r in rows] == [
        "'=cmd()", "'+1+1", "-2", "'@SUM(A1)", "'\tx", "plain", 'quo"te', "a,b", "line\nend", "<b>"
    ]  # fmt: skip
    assert {float(r[1]) for r in rows} == {1 / 3}
    _, register = saved(page, page.locator("#register button").click)
    assert "'=cmd()" in {r["agree"] for r in csv.DictReader(io.StringIO(register))}


def test_the_whole_assessment_is_taken_along_as_json(visit, data):
    page = visit()
    name, text = saved(page, page.locator("#downloads button").click)
    assert name == "assessment.json"
    assert json.loads(text) == data


def test_the_script_writes_numbers_as_the_page_does(visit):
    page = visit()
    article = page.locator("#attack-numbers")
    texts = article.locator(".parts > .scroll tbody tr").all_inner_texts()
    written = [row.split("\t")[:5] for row in texts]
    article.locator("details.numbers summary").click()
    article.locator("details.numbers table").wait_for()
    texts = article.locator("details.numbers tbody tr").all_inner_texts()
    heads = article.locator("details.numbers thead th").all_inner_texts()
    kept = [heads.index(h) for h in ("name", "value", "reference", "p value", "count")]
    filled = [[row.split("\t")[i] for i in kept] for row in texts]
    assert len(filled) == 12
    assert filled == written


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_contrast(visit, scheme):
    page = visit(color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    low = page.evaluate(CONTRAST)
    assert low == []


CONTRAST = """() => {
  const parts = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = (c) => {
    const [r, g, b] = parts(c).slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    for (let at = e; at; at = at.parentElement) {
      const c = getComputedStyle(at).backgroundColor;
      if (parts(c).length < 4 || parts(c)[3] > 0) return c;
    }
    return "rgb(255, 255, 255)";
  };
  const low = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.getClientRects().length || ["SCRIPT", "STYLE"].includes(e.tagName)) continue;
    const style = getComputedStyle(e);
    const a = light(e instanceof SVGElement ? style.fill : style.color);
    const b = light(ground(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push([e.tagName, e.textContent.slice(0, 30), ratio]);
  }
  return low;
}"""


OUTSIDE = """(width) => [...document.querySelectorAll("svg, svg text")]
  .filter((e) => e.getClientRects().length)
  .map((e) => [e.textContent, e.getBoundingClientRect()])
  .filter(([, box]) => box.left < -0.5 || box.right > width + 0.5)"""


@pytest.mark.parametrize("width", [360, 414, 700, 900, 1200])
def test_nothing_is_wider_than_the_page(visit, width):
    page = visit(viewport={"width": width, "height": 740})
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OUTSIDE, width) == []


def test_on_paper_no_chart_is_cut(visit):
    width, height = 718, 1047  # A4 at 96 dots an inch, margins of 1 cm
    page = visit(viewport={"width": width, "height": height})
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.more:not([open])").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(OUTSIDE, width) == []
    uncut = page.evaluate(
        "() => [...document.querySelectorAll('figure svg, .strip, .panels')]"
        ".filter(e => getComputedStyle(e).breakInside !== 'avoid').length"
    )
    assert uncut == 0
    tall = page.evaluate(
        "() => Math.max(...[...document.querySelectorAll('figure svg, .panels')]"
        ".map(e => e.getBoundingClientRect().height))"
    )
    assert tall < height
    hidden = page.evaluate(
        "() => [...document.querySelectorAll('figure')]"
        ".filter(f => !f.getClientRects().length).length"
    )
    assert hidden == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details.more[open]").count() == 0
    assert len(page.pdf(format="A4")) > 10_000


def test_nothing_moves_where_motion_is_unwanted(visit):
    page = visit(reduced_motion="reduce")
    assert page.evaluate("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
