"""What the tests ask of a page, as JavaScript expressions that give plain values."""

CONTRASTS = """(() => {
  const parse = (text) => {
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    return [r, g, b, a];
  };
  const over = (top, below) => [...top.slice(0, 3).map((c, i) => c * top[3] + below[i] * (1 - top[3])), 1];
  const light = ([r, g, b]) => {
    const linear = (c) => c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4;
    const [x, y, z] = [r, g, b].map(linear);
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const paper = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) layers.unshift(getComputedStyle(at).backgroundColor);
    return layers.map(parse).reduce((below, layer) => over(layer, below), [255, 255, 255, 1]);
  };
  const found = [];
  const walker = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!text || !element.checkVisibility() || element.matches("svg title, svg desc")) continue;
    const style = getComputedStyle(element);
    const inside = element.closest("svg");
    let opacity = 1;
    for (let one = element; one; one = one.parentElement) opacity *= Number(getComputedStyle(one).opacity);
    const ink = parse(inside ? style.fill : style.color);
    const below = paper(inside ? inside.parentElement : element);
    const written = over([...ink.slice(0, 3), ink[3] * opacity], below);
    const [dark, bright] = [light(written), light(below)].sort((x, y) => x - y);
    found.push({ text: text.slice(0, 40), ratio: (bright + 0.05) / (dark + 0.05), where: element.tagName });
  }
  return found;
})()"""
"""Contrast (WCAG 2.2, 1.4.3) of every visible text with the paper behind it."""

OPEN = "document.querySelectorAll('details.part').forEach((one) => { one.open = true; })"
"""Open the parts of the appendix."""

REFERENCES = """(() => {
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  const named = ["aria-labelledby", "aria-describedby", "headers", "for"].flatMap((name) =>
    [...document.querySelectorAll(`[${name}]`)].flatMap((one) => one.getAttribute(name).split(/\\s+/)));
  const links = [...document.querySelectorAll("[href]")].map((one) => one.getAttribute("href"));
  const inside = links.filter((link) => link.startsWith("#")).map((link) => link.slice(1));
  return {
    twice: ids.filter((id, place) => ids.indexOf(id) !== place),
    missing: [...named, ...inside].filter((id) => !ids.includes(id)),
    outside: links.filter((link) => !link.startsWith("#")),
  };
})()"""

HEADINGS = """[...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map((one) => Number(one.tagName[1]))"""

TESTS_TABLE = """[...document.querySelectorAll("table")].find((one) =>
  one.tHead.rows[0].cells[0].textContent.trim() === "statistic")"""

COLUMN = f"""(heading) => {{
  const table = {TESTS_TABLE};
  const heads = [...table.tHead.rows[0].cells];
  const place = heads.findIndex((one) => one.textContent.trim() === heading);
  return {{
    sort: heads[place].getAttribute("aria-sort"),
    cells: [...table.tBodies[0].rows].map((row) => row.cells[place].textContent.trim()),
  }};
}}"""
"""Direction and cells of a column of the table of all tests."""

WORDS = """(() => {
  const copy = document.querySelector("main").cloneNode(true);
  copy.querySelectorAll("details, svg").forEach((one) => one.remove());
  return copy.textContent.trim().split(/\\s+/).length;
})()"""
"""Words that stand open on the page, without figures."""

SMALL_TEXT = """[...document.querySelectorAll("svg text")]
  .filter((one) => one.checkVisibility() && one.textContent.trim())
  .map((one) => ({
    text: one.textContent.trim(),
    size: parseFloat(getComputedStyle(one).fontSize) * Math.hypot(one.getScreenCTM().a, one.getScreenCTM().b),
  }))"""
"""Text of every figure that is open, with the size at which it is seen, in pixels."""

OVERLAPS = """[...document.querySelectorAll("svg")].filter((one) => one.checkVisibility()).flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  const boxes = [...svg.querySelectorAll("text")]
    .filter((one) => one.textContent.trim())
    .map((one) => ({ text: one.textContent.trim(), box: one.getBoundingClientRect() }));
  const found = boxes
    .filter(({ box }) => box.left < frame.left - 1 || box.right > frame.right + 1
      || box.bottom > frame.bottom + 1)
    .map(({ text }) => `cut off: ${text}`);
  boxes.forEach((one, place) => boxes.slice(place + 1).forEach((other) => {
    const wide = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
    const high = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
    if (wide > 2 && high > 3) found.push(`${one.text} over ${other.text}`);
  }));
  return found;
})"""
"""Text of open figures that is cut off or lies over other text."""
