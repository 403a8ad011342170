// Small plots in SVG, each with axes, units, and a table of the same figures.

import { h, scroll, table } from "./dom.js";

// The height of the picture, and the edges of the plot in it.
const height = 200;
const [left, top, bottom] = [56, 26, 172];
// Returns the width of a picture in an element, so that labels aren't made smaller.
const widthIn = (place) => Math.max(280, Math.min(640, place.clientWidth || innerWidth - 48));

function s(name, attributes, ...children) {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
}

// Returns round numbers from 0 or a lowest value to at least a highest one.
function ticks(low, high) {
    if (low === high) high = low + (Math.abs(low) || 1);
    const rough = (high - low) / 4;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
    const all = [Number((Math.floor(low / step) * step).toPrecision(12))];
    while (all.at(-1) < high) all.push(Number((all[0] + all.length * step).toPrecision(12)));
    return all;
}

const clock = (milliseconds, isShort = false) => new Date(milliseconds)
    .toLocaleTimeString(undefined, isShort ? { hour: "numeric", minute: "numeric", second: "numeric",
        fractionalSecondDigits: 3 } : {});

// Draws the axes, and what `draw` makes with the functions from figures to places; and returns it with the table.
function figure({ title, unit, xs, ys, rows, names, place }, draw) {
    const width = widthIn(place);
    const right = width - 12;
    const marks = ticks(Math.min(0, ...ys), Math.max(...ys));
    const [from, to] = [xs[0], xs.at(-1)];
    const x = (value) => left + (value - from) / (to - from || 1) * (right - left);
    const y = (value) => bottom - (value - marks[0]) / (marks.at(-1) - marks[0]) * (bottom - top);
    const label = (x, y, anchor, text) => s("text", { class: "axis", x, y, "text-anchor": anchor }, text);
    const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, role: "img",
        "aria-label": `${title}; the figures are in the table below` },
    ...marks.flatMap((mark) => [s("line", { class: "grid", x1: left, x2: right, y1: y(mark), y2: y(mark) }),
        label(left - 6, y(mark) + 4, "end", mark.toLocaleString())]),
    label(4, 11, "start", unit), label(left, height - 8, "start", clock(from, to - from < 10_000)),
    label(right, height - 8, "end", clock(to, to - from < 10_000)), ...draw(x, y, right));
    return h("figure", h("figcaption", title), svg,
        h("details", h("summary", "As a table"), scroll(`${title}, as a table`, table(names, rows))));
}

// Draws figures over time: `points` with `x` in milliseconds and `y`, which is NaN where there is no figure; as steps if
// each holds until the next. `place` is the element that the plot is for.
export function line({ title, unit, points, place, step = false }) {
    const isKnown = ({ y }) => Number.isFinite(y);
    const [xs, ys] = [points.map(({ x }) => x), points.filter(isKnown).map(({ y }) => y)];
    const isShort = xs.at(-1) - xs[0] < 10_000;
    const rows = points.map((point) => [clock(point.x, isShort), isKnown(point) ? `${point.y}` : "no number"]);
    return figure({ title, unit, xs, ys, rows, names: ["Time", unit], place }, (x, y) => {
        const path = points.map((point, index) => {
            const [from, to] = [index > 0 && isKnown(points[index - 1]), isKnown(point)];
            const end = to ? `${x(point.x)} ${y(point.y)}` : "";
            // A single figure is a point.
            if (!from) return to ? `M${end}h0` : "";
            return `${step ? `H${x(point.x)}` : ""}${to ? `L${end}` : ""}`;
        });
        return [s("path", { class: "line", d: path.join("") })];
    });
}

// Draws a bar for each of `buckets`, which have a `time` in milliseconds and a `count`.
export function bars({ title, unit, buckets, place }) {
    const [xs, ys] = [buckets.map(({ time }) => time), [1, ...buckets.map(({ count }) => count)]];
    const rows = buckets.filter(({ count }) => count).map(({ time, count }) => [clock(time), `${count}`]);
    return figure({ title, unit, xs, ys, rows, names: ["Minute", unit], place }, (x, y, right) => {
        const step = (right - left) / buckets.length;
        return buckets.map(({ count }, index) => s("rect",
            { class: "bar", x: left + index * step, width: step - 1, y: y(count), height: bottom - y(count) }));
    });
}
