"use strict";
// A tree as the page holds it: `columns` (name, levels or null), `nodes` (question, column, threshold,
// missing, left, right; or answer, chance, rows) and `rows` to pick from. A row is an array: a number, the
// place of a level, or null for a gap.

/** Nodes on the way of a row, from the root to its leaf. */
function wayOf(tree, row) {
  const way = [0];
  for (let node = tree.nodes[0]; node.column !== undefined; node = tree.nodes[way.at(-1)]) {
    const value = row[node.column];
    // numbers are compared as the tree compares them: in single precision
    const left = value === null ? node.missing === "left" : Math.fround(value) <= node.threshold;
    way.push(left ? node.left : node.right);
  }
  return way;
}

/** Changes of one column that lead to another answer: [column, value, words], nearest number first. */
function flipsOf(tree, row) {
  const answer = tree.nodes[wayOf(tree, row).at(-1)].answer;
  const found = [];
  tree.columns.forEach((column, j) => {
    const options = [];
    if (column.levels) {
      column.levels.forEach((level, k) => options.push([k, `${column.name} = ${level}`]));
    } else {
      const ends = new Set(tree.nodes.filter((node) => node.column === j).map((node) => node.threshold));
      for (const end of ends) {
        // the next number of single precision, which is on the other side
        const above = Math.fround(end + Math.max(Math.abs(end) * 2 ** -23, 1e-45));
        if (row[j] === null || row[j] > end) options.push([end, `${column.name} at most ${shown(end)}`]);
        if (row[j] === null || row[j] <= end) options.push([above, `${column.name} above ${shown(end)}`]);
      }
      options.sort((a, b) => Math.abs(a[0] - row[j]) - Math.abs(b[0] - row[j]));
    }
    const flips = options
      .map(([value, words]) => [value, words, tree.nodes[wayOf(tree, Object.assign([...row], { [j]: value })).at(-1)].answer])
      .filter((flip) => flip[2] !== answer);
    const kept = column.levels ? flips : flips.slice(0, 1);
    kept.forEach(([value, words, other]) => found.push([j, value, `${words}: ${other}`]));
  });
  return found;
}

function shown(number) {
  return String(Number(number.toPrecision(7)));
}

function start(place, tree) {
  const inputs = [...place.querySelectorAll("[data-column]")];
  const answer = place.querySelector(".answer");
  const lines = (list, texts) =>
    list.replaceChildren(
      ...texts.map((text) => Object.assign(document.createElement("li"), { textContent: text })),
    );
  function tell() {
    const row = tree.columns.map(() => null);
    for (const input of inputs) {
      const value = input.value.trim();
      row[input.dataset.column] = value === "" || Number.isNaN(Number(value)) ? null : Number(value);
    }
    const way = wayOf(tree, row).map((i) => tree.nodes[i]);
    const leaf = way.at(-1);
    answer.textContent = leaf.told;
    const steps = way.slice(0, -1).map((node, i) => [node, tree.nodes[node.left] === way[i + 1]]);
    lines(
      place.querySelector(".way"),
      steps.map(([node, yes]) => `${node.question}: ${yes ? "yes" : "no"}`),
    );
    const flips = flipsOf(tree, row).map((flip) => flip[2]);
    lines(place.querySelector(".flips"), flips.length ? flips : ["None: no single change is enough."]);
  }
  place.querySelector(".pick")?.addEventListener("change", (event) => {
    const row = tree.rows[event.target.value];
    if (row) inputs.forEach((input) => (input.value = row[input.dataset.column] ?? ""));
    tell();
  });
  place.addEventListener("input", tell);
  place.hidden = false;
  tell();
}

if (typeof document !== "undefined") {
  for (const place of document.querySelectorAll(".try-row")) {
    start(place, JSON.parse(place.querySelector("script").textContent));
  }
} else {
  module.exports = { wayOf, flipsOf };
}
