// The differences between two values, as a person needs them to decide.

import { h } from "./dom.js";
import { isSecret, shown } from "./manifests.js";
import { areSame, editable, hex, packed, Shown, text, typeOf, unpacked, visible } from "./values.js";

// The number of characters of a value that are shown, and of those before the first difference.
const limit = 120;
const before = 24;
// The number of differences that are shown at first.
const first = 8;

// Returns the parts that differ: the path to each, which consists of keys and indexes, and its old and new value. One
// of these is undefined if the part was added or removed.
//
// If lists have other lengths, equal elements at their ends are left out. With `isWhole`, such lists are one part,
// since an index doesn't say which element is meant.
export function differences(old, now, isWhole = false, path = []) {
    const type = old === undefined || now === undefined ? null : typeOf(old) === typeOf(now) ? typeOf(old) : null;
    if (type === "dictionary") {
        const [olds, news] = [new Map(unpacked(old)), new Map(unpacked(now))];
        return [...new Set([...olds.keys(), ...news.keys()])].sort().flatMap((key) =>
            differences(olds.get(key), news.get(key), isWhole, [...path, key]));
    }
    if (type === "array" && (old.length === now.length || !isWhole)) return inLists(old, now, isWhole, path);
    return areSame(old, now) ? [] : [{ path, old, new: now }];
}

function inLists(old, now, isWhole, path) {
    const shorter = Math.min(old.length, now.length);
    let start = 0;
    let end = 0;
    if (old.length !== now.length) {
        while (start < shorter && areSame(old[start], now[start])) start += 1;
        while (end < shorter - start && areSame(old.at(-1 - end), now.at(-1 - end))) end += 1;
    }
    const found = [];
    for (let index = start; index < Math.max(old.length, now.length) - end; index += 1) {
        const parts = differences(index < old.length - end ? old[index] : undefined,
            index < now.length - end ? now[index] : undefined, isWhole, [...path, index]);
        // There may be more than a call can have arguments.
        for (const part of parts) found.push(part);
    }
    return found;
}

// Returns a value with the changes that were made to another one, or undefined if both changed the same part.
export function merged(base, theirs, mine) {
    if (base === undefined || theirs === undefined || !/array|dictionary/.test(typeOf(theirs))) return undefined;
    const [others, own] = [differences(base, theirs, true), differences(base, mine, true)];
    const begins = (path, other) => path.every((step, index) => step === other[index]);
    const meets = own.some(({ path }) => others.some((one) => begins(path, one.path) || begins(one.path, path)));
    return meets ? undefined : own.reduce((value, { path, new: part }) => changed(value, path, part), theirs);
}

// Returns a value in which a part is another one, or missing.
function changed(value, [step, ...rest], part) {
    if (typeOf(value) === "array") return value.map((one, index) => index !== step ? one
        : rest.length ? changed(one, rest, part) : part);
    const all = new Map(unpacked(value));
    const now = rest.length ? changed(all.get(step), rest, part) : part;
    if (now === undefined) all.delete(step); else all.set(step, now);
    return packed(Object.fromEntries(all));
}

// Returns two values as lines of text, which begin shortly before the first difference, if they are long.
export function excerpts(old, now) {
    const type = old === undefined || now === undefined || typeOf(old) !== typeOf(now) ? null : typeOf(old);
    if (type === "data") return dataExcerpts(old, now);
    if (type === "string") return cut(old, now, JSON.stringify);
    return [text(old, limit), text(now, limit)];
}

// Returns excerpts of data. Only what is shown is decoded: four characters are three bytes, or six digits.
function dataExcerpts(old, now) {
    const [before64, after64] = [old.$data, now.$data];
    const length = limit / 6 * 4;
    let same = 0;
    while (same < before64.length && before64[same] === after64[same]) same += 1;
    const isShort = before64.length <= length && after64.length <= length;
    const start = isShort ? 0 : Math.max(0, Math.floor(same / 4) - before / 6) * 4;
    return [old, now].map((value) => {
        const part = hex({ $data: value.$data.slice(start, start + length) });
        const end = value.$data.length > start + length ? "…" : "";
        return `<${start > 0 ? "…" : ""}${part}${end}> ${text(value).replace(/^<.*> /, "")}`;
    });
}

// Cuts what is shown out of two texts, and writes it with a function.
function cut(old, now, write) {
    if (old.length <= limit && now.length <= limit) return [write(old), write(now)];
    let same = 0;
    while (same < old.length && old[same] === now[same]) same += 1;
    let start = Math.max(0, same - before);
    // Half a character can't be shown.
    if (/[\udc00-\udfff]/.test(old[start] ?? "")) start -= 1;
    return [old, now].map((text) => (start > 0 ? "…" : "") + write(text.slice(start, start + limit))
        + (text.length > start + limit ? "…" : ""));
}

// Returns a change as it is remembered: of large values only the beginnings and what differs.
export function shortened({ key, ...values }) {
    const isLarge = Object.values(values).some((value) => JSON.stringify(value).length >= 2000);
    if (!isLarge) return { key, ...values };
    const all = differences(values.old, values.new);
    const parts = all.slice(0, first).map(({ path, old, new: now }) => {
        const [before, after] = excerpts(old, now);
        return { path, old: new Shown(before), new: new Shown(after) };
    });
    const beginnings = Object.entries(values).map(([name, value]) => [name, new Shown(text(value, limit))]);
    return { key, ...Object.fromEntries(beginnings), parts, count: all.length };
}

// Returns a path as text, such as `window.1.title`: elements are numbered from 1, as in the outline, and keys that could
// be misread are in quotation marks.
export function pathText(path) {
    return path.map((step) => typeof step === "number" ? `${step + 1}`
        : /^\d*$|[.\s"]/.test(step) ? `"${step && visible(step)}"` : visible(step)).join(".");
}

// Returns an old and a new value with an arrow: what differs, and the whole on request. `name` tells what is open.
export function change(domain, key, { old, new: now, parts, count }, name = "") {
    const arrow = () => h("span", { "aria-label": "became" }, " → ");
    const pair = (before, after) => [h("span.old", before), arrow(), h("span.new", after)];
    if (isSecret(domain, key)) return h("span.change", pair(shown(domain, key, old), shown(domain, key, now)));
    const all = parts ?? differences(old, now);
    // Nothing differs between values that only look the same, and a value that was added has no parts.
    const isOne = all.length === 0 || all[0].path.length === 0;
    const one = all[0] ?? { old, new: now };
    const lines = isOne ? pair(...excerpts(one.old, one.new))
        : all.slice(0, first).map((part, index) => h("span.part", index ? h("br") : null,
            h("span.path", pathText(part.path)), ": ", pair(...excerpts(part.old, part.new))));
    const left = (count ?? all.length) - first;
    const isCut = !parts && [old, now].some((value) => value !== undefined && text(value, limit).endsWith("…"));
    return h("span.change", lines, left > 0 ? h("span.note", ` and ${left.toLocaleString()} more differences`) : null,
        isCut || !isOne && !parts ? whole(old, now, name) : null);
}

// Returns both values in full, which are made when they are opened.
export function whole(old, now, name, [first, second] = ["Before", "After"]) {
    const show = () => {
        if (place.children.length > 1) return;
        place.append(...[[first, old], [second, now]].filter(([, value]) => value !== undefined)
            .flatMap(([title, value]) => [h("p.note", title), h("pre", beginning(editable(value)))]));
    };
    const place = h("details.whole", { ontoggle: show, "data-name": name }, h("summary", "In full"));
    return place;
}

// The number of characters that a page can show at once.
const largest = 100_000;

// Returns a long text's beginning, and says how long it is.
export function beginning(text) {
    if (text.length <= largest) return text;
    return `${text.slice(0, largest)}…\n(${text.length.toLocaleString()} characters)`;
}
