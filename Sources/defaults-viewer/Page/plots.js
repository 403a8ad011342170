// Small plots in SVG, each with axes, units, and a table of the same figures.

import { h, scroll, table } from "./dom.js";

const size = { width: 640, height: 200, left: 56, right: 12, top: 26, bottom: 28 };

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
    const all = [];
    for (let tick = Math.floor(low / step) * step; all.length === 0
        || all.at(-1) < high; tick += step) all.push(Number(tick.toPrecision(12)));
    return all;
}

// Draws the axes, and returns the functions from figures to places.
function frame(svg, { xs, xText, low, high, unit }) {
    const marks = ticks(low, high);
    const [from, to] = [xs[0], xs.at(-1) === xs[0] ? xs[0] + 1 : xs.at(-1)];
    const [width, height] = [size.width - size.left - size.right, size.height - size.top - size.bottom];
    const x = (value) => size.left + (value - from) / (to - from) * width;
    const y = (value) => size.top + height - (value - marks[0]) / (marks.at(-1) - marks[0]) * height;
    for (const mark of marks) {
        svg.append(s("line", { class: "grid", x1: size.left, x2: size.width - size.right, y1: y(mark), y2: y(mark) }),
            s("text", { class: "axis", x: size.left - 6, y: y(mark) + 4, "text-anchor": "end" },
                `${mark.toLocaleString()}`));
    }
    svg.append(s("text", { class: "axis", x: 4, y: 11, "text-anchor": "start" }, unit));
    for (const [value, anchor] of [[from, "start"], [to, "end"]]) {
        svg.append(s("text", { class: "axis", x: x(value), y: size.height - 8, "text-anchor": anchor }, xText(value)));
    }
    return { x, y, base: y(marks[0]) };
}

function figure(title, svg, names, rows) {
    const cells = rows.map((row) => row.map((cell) => `${cell}`));
    return h("figure", {}, h("figcaption", {}, title), svg,
        h("details", {}, h("summary", {}, "As a table"), scroll(`${title}, as a table`, table(names, cells))));
}

const clock = (milliseconds) => new Date(milliseconds).toLocaleTimeString();
const picture = (title) => s("svg",
    { viewBox: `0 0 ${size.width} ${size.height}`, role: "img",
    "aria-label": `${title}; the figures are in the table below` });

// Draws figures over time: `points` with `x` in milliseconds and `y`; as steps if each holds until the next.
export function line({ title, unit, points, step = false }) {
    const svg = picture(title);
    const ys = points.map(({ y }) => y);
    const { x, y } = frame(svg,
        { xs: points.map((point) => point.x), xText: clock, low: Math.min(0, ...ys), high: Math.max(...ys), unit });
    const path = points.map((point, index) => {
        if (index === 0) return `M${x(point.x)} ${y(point.y)}`;
        return step ? `H${x(point.x)}V${y(point.y)}` : `L${x(point.x)} ${y(point.y)}`;
    });
    svg.append(s("path", { class: "line", d: path.join("") }));
    return figure(title, svg, ["Time", unit], points.map((point) => [clock(point.x), point.y]));
}

// Draws a bar for each of `buckets`, which have a `time` in milliseconds and a `count`.
export function bars({ title, unit, buckets }) {
    const svg = picture(title);
    const { x, y, base } = frame(svg, {
        xs: buckets.map(({ time }) => time), xText: clock, low: 0,
            high: Math.max(1, ...buckets.map(({ count }) => count)), unit });
    const width = (size.width - size.left - size.right) / buckets.length;
    for (const { time, count } of buckets) {
        if (count) svg.append(s("rect",
            { class: "bar", x: x(time) - width / 2, width: Math.max(1, width - 1), y: y(count),
            height: base - y(count) }));
    }
    return figure(title, svg, ["Minute", unit],
        buckets.filter(({ count }) => count).map(({ time, count }) => [clock(time), count]));
}
