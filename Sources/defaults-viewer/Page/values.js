// Values of preferences, as the page holds them.
//
// They are JSON, in which data, dates, and numbers that JavaScript can't hold exactly are objects with one key, such as
// {"$data": "AP8="} and {"$real": "2.0"}. See "Use it from any language".

import { readJSON } from "./server.js";

const marks = ["$data", "$date", "$real", "$integer", "$uid"];

// The text that is left of a value that was too large to be remembered. A preference may be any object, but not this.
export class Shown {
    constructor(text) { this.text = text; }
}

// Returns the mark of a value that is an object with one key; null for all others.
function mark(value) {
    if (value === null || typeof value !== "object" || Array.isArray(value)) return null;
    const keys = Object.keys(value);
    return keys.length === 1 && marks.includes(keys[0]) ? keys[0] : null;
}

// The types of which a person can type a value, by the words that the command and manifests have for them.
export const types = ["string", "boolean", "integer", "real", "date", "data", "array", "dictionary"];

// Returns a type's name. The other type is that of keyed archives.
export function typeName(type) { return type === "uid" ? "archive reference" : type; }

export function typeOf(value) {
    const name = mark(value);
    if (name) return name.slice(1);
    if (Array.isArray(value)) return "array";
    if (typeof value === "object") return "dictionary";
    return typeof value === "number" ? "integer" : typeof value;
}

// Returns the entries of a dictionary, without the "$" that is put before keys that look like a mark.
export function unpacked(value) {
    const all = Object.entries(value);
    if (all.length !== 1 || !/^\$\$/.test(all[0][0])) return all;
    return [[all[0][0].slice(1), all[0][1]]];
}

// Returns a name in which everything can be seen: line ends, spaces at its edges, and characters without a shape.
export function visible(name) {
    if (name === "") return "(empty key)";
    const pictures = { "\n": "␊", "\r": "␍", "\t": "␉", " ": "␣" };
    return name.replace(/^ +| +$|[\p{C}\u2028\u2029]/gu, (found) => [...found].map((one) => pictures[one]
        ?? `⟨U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`).join(""));
}

export function bytes(value) {
    const text = atob(value.$data);
    const all = new Uint8Array(text.length);
    for (let index = 0; index < text.length; index += 1) all[index] = text.charCodeAt(index);
    return all;
}

// The digits of each byte: a search looks through megabytes.
const digitsOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
export function hex(value) { return Array.from(bytes(value), (byte) => digitsOfByte[byte]).join(""); }

// Returns the beginning of a value, from which at least `limit` characters can be shown.
function beginning(value, limit) {
    switch (typeOf(value)) {
        case "string": return value.slice(0, limit + 1);
        case "array": return value.slice(0, limit).map((part) => beginning(part, limit));
        case "dictionary":
            return Object.fromEntries(Object.entries(value).slice(0, limit)
                .map(([key, part]) => [key, beginning(part, limit)]));
        default: return value;
    }
}

// Returns a value as a line of text for people.
export function text(value, limit = 200) {
    if (value === undefined) return "(none)";
    if (value instanceof Shown) return value.text;
    const name = mark(value);
    if (name === "$data") {
        const start = hex({ $data: value.$data.slice(0, 32) });
        const count = Math.floor(value.$data.length * 3 / 4) - (value.$data.match(/=+$/)?.[0].length ?? 0);
        return `<${start}${count > 24 ? "…" : ""}> ${count.toLocaleString()} ${count === 1 ? "byte" : "bytes"}`;
    }
    const result = name ? `${name === "$uid" ? "UID " : ""}${value[name]}`
        : json(limit === Infinity ? value : beginning(value, limit));
    return result.length > limit ? result.slice(0, limit) + "…" : result;
}

// Returns a value as JSON in a line, with reals as numbers, as `defaults write --json` reads it.
export function json(value) { return layOut(value, null); }

// Returns a value as JSON, indented if `indent` isn't null.
function layOut(value, indent) {
    const inner = indent === null ? null : indent + "    ";
    const list = (parts, open, close) => {
        if (parts.length === 0) return open + close;
        if (indent === null) return open + parts.join(", ") + close;
        return `${open}\n${parts.map((part) => inner + part).join(",\n")}\n${indent}${close}`;
    };
    switch (typeOf(value)) {
        case "real": return /^-?\d/.test(value.$real) ? value.$real : JSON.stringify(value);
        case "integer": return `${value.$integer ?? value}`;
        case "array": return list(value.map((part) => layOut(part, inner)), "[", "]");
        case "dictionary": {
            // Sorted, as they arrive: JavaScript puts integers first.
            const keys = Object.keys(value).sort();
            return list(keys.map((key) => `${JSON.stringify(key)}: ${layOut(value[key], inner)}`), "{", "}");
        }
        default: return JSON.stringify(value);
    }
}

// Returns a dictionary of keys and values as it is sent: one with a single key that looks like a mark has another "$".
export function packed(values) {
    const keys = Object.keys(values);
    if (keys.length !== 1 || !marks.includes(keys[0]) && !keys[0].startsWith("$$")) return values;
    return { [`$${keys[0]}`]: values[keys[0]] };
}

export function areSame(a, b) { return a === b || a !== undefined && b !== undefined && json(a) === json(b); }

// MARK: Typed text

// Returns the text in which a value of a type is edited.
export function editable(value) {
    switch (typeOf(value)) {
        case "string": return value;
        case "data": return hex(value);
        case "array": case "dictionary": return layOut(value, "");
        default: return text(value, Infinity);
    }
}

const example = {
    integer: "12", real: "2.5", date: "2026-11-27 10:15 (local time) or 2026-11-27T10:15:00Z",
    data: "00ff (two for each byte)", array: '[1, "two"] (JSON)', dictionary: '{"one": 1} (JSON)',
};

// Returns a time without a zone as one with a zone, since the browser's can differ from that of the agent; any other
// text stays as it is. For a moment of the history, a time without a day is the last time that it was then.
export function zoned(text, isMoment = false) {
    const clocks = /^(?:(\d{4}-\d\d-\d\d)[ T])?(\d\d?:\d\d(?::\d\d(?:\.\d+)?)?)$|^(\d{4}-\d\d-\d\d)$/;
    const found = clocks.exec(text.trim());
    if (!found || !isMoment && !found[1] && !found[3]) return text;
    const [, day, clock = "00:00", date] = found;
    const local = new Date();
    const today = [local.getFullYear(), local.getMonth() + 1, local.getDate()]
        .map((number) => `${number}`.padStart(2, "0")).join("-");
    const chosen = date ?? day ?? today;
    const time = new Date(`${chosen}T${clock.replace(/^(\d):/, "0$1:")}`);
    // There is no 31st of February, which would be a day of March.
    if (time.getDate() !== Number(chosen.slice(-2))) return text;
    if (!date && !day && time > Date.now()) time.setDate(time.getDate() - 1);
    return time.toISOString().replace(".000Z", "Z");
}

// Returns the error for text that isn't a value of a type.
function invalidText(type) {
    const wanted = type === "data" ? "hexadecimal digits" : `a${/^[aeiou]/.test(type) ? "n" : ""} ${type}`;
    return new Error(`Type ${wanted}, such as ${example[type]}.`);
}

// Reads what was typed as a value of a type; throws an Error that says what is wrong.
export async function read(typed, type) {
    if (/array|dictionary/.test(type)) {
        const value = typed.trim() && await readJSON(typed);
        if (typeOf(value) === type) return value;
        throw invalidText(type);
    }
    const value = scalar(typed, type);
    if (type !== "date") return value;
    try { return await readJSON(JSON.stringify(value)); } catch (error) {
        throw error.isLost ? error : invalidText(type);
    }
}

// Reads what was typed as a value other than a list or a dictionary; whether a date is one isn't known yet.
export function scalar(typed, type) {
    const text = typed.trim();
    const invalid = invalidText(type);
    switch (type) {
        case "string": return typed;
        case "boolean": return text === "true";
        case "integer": {
            if (!/^[-+]?\d+$/.test(text)) throw invalid;
            const integer = BigInt(text.replace("+", ""));
            if (integer > 0xFFFFFFFFFFFFFFFFn || integer < -0x8000000000000000n) {
                throw new Error("Integers are from -9223372036854775808 to 18446744073709551615.");
            }
            return Number.isSafeInteger(Number(integer)) ? Number(integer) : { $integer: `${integer}` };
        }
        case "real": {
            if (/^([-+]?inf|nan)$/i.test(text)) return { $real: text.toLowerCase().replace("+", "") };
            if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text)) throw invalid;
            const real = Number(text);
            if (!isFinite(real)) throw new Error("Numbers are at most 1.7976931348623157e308.");
            if (real === 0 && /^[^e]*[1-9]/i.test(text)) throw new Error("Numbers are at least 5e-324, apart from 0.");
            return { $real: `${Object.is(real, -0) ? "-" : ""}${real}`.replace(/^-?\d+$/, "$&.0") };
        }
        case "date": return { $date: zoned(text) };
        case "data": {
            const digits = text.replace(/[\s<>]/g, "");
            if (!/^([0-9a-f]{2})*$/i.test(digits)) throw invalid;
            return { $data: btoa(digits.replace(/../g, (digits) => String.fromCharCode(parseInt(digits, 16)))) };
        }
        default: throw invalid;
    }
}

// Returns the text for a value of a type from what was typed as one of another.
export function converted(typed, from = "string", to = "boolean") {
    if (from === to) return typed;
    const isOn = /^\s*(true|yes)\s*$/i.test(typed) || !!Number(typed);
    if (to === "boolean") return `${isOn}`;
    if (from === "boolean" && /integer|real/.test(to)) return `${Number(isOn)}`;
    if (to === "integer" && typed && Number.isSafeInteger(Number(typed))) return `${Number(typed)}`;
    if (to === "dictionary") return /^\s*\{/.test(typed) ? typed : "{}";
    if (to !== "array" || /^\s*\[/.test(typed)) return typed;
    const value = from === "date" ? { $date: typed } : typed;
    return typed ? `[${/string|date|data/.test(from) ? JSON.stringify(value) : typed}]` : "[]";
}

// MARK: Other languages

function quoted(text) { return `'${text.replaceAll("'", "'\\''")}'`; }

// Returns the command that sets or removes a key.
export function command(domain, key, value) {
    const word = (text) => /^[\w./:@%+][\w./:@%+-]*$/.test(text) ? text : quoted(text);
    const host = domain.host ? `-host ${domain.host} ` : "";
    const literal = /[.\\]|^-/.test(key) ? "--literal-key " : "";
    const place = `${domain.name === "NSGlobalDomain" ? "-g" : word(domain.name)} ${literal}${word(key)}`;
    if (value === undefined) return `defaults ${host}delete ${place}`;
    const type = typeOf(value);
    const options = {
        boolean: "-bool", integer: "-int", real: "-float", string: "-string", date: "-date", data: "-data",
    };
    const shown = type === "data" ? hex(value) : type === "string" ? value : text(value, Infinity);
    if (!options[type] || shown.startsWith("-")) return `defaults ${host}write --json ${place} ${quoted(json(value))}`;
    return `defaults ${host}write ${place} ${options[type]} ${word(shown)}`;
}

// Returns the statement that sets a key; null where Swift's class can't.
export function swift(domain, key, value) {
    const shown = literal(value, inSwift);
    if (domain.host || domain.name === "NSGlobalDomain" || shown === null) return null;
    return `UserDefaults(suiteName: ${inSwift.string(domain.name)})?.set(${shown}, forKey: ${inSwift.string(key)})`;
}

// Returns the statement that sets a key; null where the package can't.
export function python(domain, key, value) {
    const shown = literal(value, inPython);
    const host = domain.host ? `, host=${JSON.stringify(domain.host)}` : "";
    return shown && `Defaults(${JSON.stringify(domain.name)}${host}).set(${JSON.stringify(key)}, ${shown})`;
}

// Returns a value in a language; null if a part of it can't be expressed.
function literal(value, language) {
    const type = typeOf(value);
    const empty = language[type];
    if (typeof empty !== "string") return empty?.(value) ?? null;
    const pair = ([key, part]) => {
        const shown = literal(part, language);
        return shown && `${language.string(key)}: ${shown}`;
    };
    const parts = type === "array" ? value.map((part) => literal(part, language)) : unpacked(value).map(pair);
    if (parts.includes(null)) return null;
    return parts.length ? empty[0] + parts.join(", ") + language.ends[empty[0]] : empty;
}

const finite = (value) => /^-?\d/.test(value.$real) ? value.$real : null;

const inSwift = {
    boolean: String, real: finite, array: "[] as [Any]", dictionary: "[:] as [String: Any]", ends: { "[": "]" },
    integer: (value) => BigInt(value.$integer ?? value) > 0x7FFFFFFFFFFFFFFFn ? null : text(value, Infinity),
    data: (value) => `Data([${hex(value).replace(/../g, ", 0x$&").slice(2)}])`,
    date: (value) => {
        const date = new Date(value.$date);
        return isNaN(date) ? null : `Date(timeIntervalSince1970: ${date.getTime() / 1000})`;
    },
    string: (text) => `"${Array.from(text, (character) => {
        if (character === '"' || character === "\\") return `\\${character}`;
        if (character === "\n") return "\\n";
        return /[\p{C}\u2028\u2029]/u.test(character) ? `\\u{${character.codePointAt(0).toString(16)}}` : character;
    }).join("")}"`,
};

const inPython = {
    boolean: (value) => value ? "True" : "False", array: "[]", dictionary: "{}", ends: { "[": "]", "{": "}" },
    integer: (value) => text(value, Infinity), real: (value) => finite(value) ?? `float("${value.$real}")`,
    data: (value) => `bytes.fromhex("${hex(value)}")`, string: JSON.stringify,
    date: ({ $date }) => /^\d{4}-[^+]*Z$/.test($date)
        ? `datetime.fromisoformat("${$date.replace("Z", "+00:00")}")` : null,
};
