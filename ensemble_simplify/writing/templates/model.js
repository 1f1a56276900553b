"use strict";
// $about
const END = [$end];
const COLUMN = [$column];
const LEFT = [$left];
const RIGHT = [$right];
const ROOTS = [$roots];
const VALUES = [$values];
const FIRST_CODE = [$first_code];
const CODES = [$codes];
const CLASSES = [$classes];
$levels
function levels(...known) {
    return new Map(known.map((level, code) => [level, code]));
}

function entry(row, name) {
    const value = row[name];
    if (value === undefined) throw new Error("The row has no column " + name);
    return value;
}

// Null, NaN and, of a number, the empty text are missing values.
function number(value) {
    if (value === null || value === "") return NaN;
    if (typeof value === "string") {
        const word = value.trim().toLowerCase();
        if (word === "true" || word === "false") return word === "true" ? 1 : 0;
        if (word === "nan" || word === "") return NaN;
        if (Number.isNaN(Number(value))) throw new Error(value + " is not a number");
    }
    return Number(value);
}

function text(value) {
    return typeof value === "boolean" ? (value ? "$true" : "$false") : String(value);
}

// A date, as ISO text or as Python writes it, without what is zero in it; of a time zone, in UTC.
function day(value) {
    if (value instanceof Date) throw new Error("Give dates as text, such as 2020-01-06");
    if (typeof value !== "string") return value;
    const iso = value.replace(" ", "T").replace(/(Z|[+-]00:?00)$$/, "");
    const shifted = /:.*[+-]\d\d:?\d\d$$/.test(iso);
    const plain = (shifted ? new Date(iso).toISOString().slice(0, -1) : iso).replace("T", " ");
    return plain.replace(/(\.\d*?)0+$$/, "$$1").replace(/\.$$/, "").replace(/ 00:00:00$$/, "");
}

function code(value, known, isText, other) {
    if (value === null || Number.isNaN(value)) return NaN;
    let key;
    try {
        key = isText ? text(value) : number(value);
    } catch (error) {
        key = undefined;
    }
    if (!isText && Number.isNaN(key)) return NaN;
    if (known.has(key)) return known.get(key);
    if (other === -1) throw new Error("Unknown level: " + value);
    return other;
}

// A number goes left if it is at most the end of a node, a code if its set has a 1 for it. NaN goes
// right, or left where the right child is negative. Of a leaf, the column is -1.
function leavesOf(x) {
    const leaf = new Array(ROOTS.length);
    for (let t = 0; t < ROOTS.length; t++) {
        let i = ROOTS[t];
        while (COLUMN[i] >= 0) {
            const own = x[COLUMN[i] % $n_features];
            let toLeft;
            if (Number.isNaN(own)) {
                toLeft = RIGHT[i] < 0;
            } else if (COLUMN[i] < $n_features) {
                toLeft = own <= END[i];
            } else {
                const first = FIRST_CODE[END[i]], last = FIRST_CODE[END[i] + 1] - 1;
                toLeft = CODES[Math.min(last, first + own)] === 1;
            }
            i = toLeft ? LEFT[i] : Math.abs(RIGHT[i]);
        }
        leaf[t] = LEFT[i];
    }
    return leaf;
}

function single(x) {
    return Math.fround(x);
}

function power(x) {
    return Math.exp(x);
}

function sum(leaf, start, stop, column, total) {
    for (let t = start; t < stop; t++) total += VALUES[leaf[t] * $n_scores + column];
    return total;
}

function sumSingle(leaf, start, stop, column, total) {
    for (let t = start; t < stop; t++) {
        total = single(total + single(VALUES[leaf[t] * $n_scores + column]));
    }
    return total;
}

function choose(label, one, yes, no) {
    return label === one ? yes : no;
}

function beyond(x, first, inclusive, ...at) {
    let changes = first;
    for (const end of at) if (x > end || (inclusive && x === end)) changes++;
    return changes % 2;
}

function largest(last, ...x) {
    let best = 0;
    for (let i = 1; i < x.length; i++) if (x[i] > x[best] || (last && x[i] === x[best])) best = i;
    return best;
}

function softmax(isSingle, ...x) {
    const round = isSingle ? single : (v) => v;
    const most = x[largest(false, ...x)];
    const powers = x.map((v) => round(power(round(v - most))));
    const total = round(powers.reduce((one, two) => one + two, 0));
    return powers.map((v) => round(v / total));
}

function sigmoid(x) {
    const upper = x > -700 ? 1 / (1 + power(-x)) : 0;
    return [1 - upper, upper];
}

// The answer to a row: an object, or an array where columns have no names.
function $name(row) {
    const x = new Array($n_features).fill(NaN);
$entries
    const leaf = leavesOf(x);
$steps
}

if (typeof module !== "undefined") module.exports = { $name, CLASSES };
