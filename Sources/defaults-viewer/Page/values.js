// Values of preferences, as the page holds them.
//
// They are JSON, in which data, dates, and numbers that JavaScript can't hold exactly are objects with one key, such as
// {"$data": "AP8="} and {"$real": "2.0"}. See "Use it from any language".

// Parses JSON, and keeps reals apart from integers: 2.0 becomes {"$real": "2.0"}. With `isExact`, integers that
// JavaScript can't hold become {"$integer": …}, as the bridge writes those of preferences by itself.
export function parse(text, isExact = false) {
    const wrap = (number) => {
        if (/[.eE]/.test(number)) return `{"$real":"${number}"}`;
        return isExact && !Number.isSafeInteger(Number(number)) ? `{"$integer":"${number}"}` : number;
    };
    const parts = [];
    let position = 0;
    while (position < text.length) {
        const quote = text.indexOf('"', position);
        const end = quote < 0 ? text.length : quote;
        parts.push(text.slice(position, end).replace(/-?\d[\d.eE+-]*/g, wrap));
        if (quote < 0) break;
        // The end of the string is the next quotation mark that isn't escaped.
        let last = quote;
        let slashes;
        do {
            last = text.indexOf('"', last + 1);
            if (last < 0) last = text.length;
            for (slashes = 0; text[last - 1 - slashes] === "\\"; slashes += 1);
        } while (slashes % 2 === 1);
        parts.push(text.slice(quote, last + 1));
        position = last + 1;
    }
    return JSON.parse(parts.join(""));
}

const marked = ["$data", "$date", "$real", "$integer", "$uid"];

// Returns the mark of a value that is an object with one key; null for all others.
function mark(value) {
    if (value === null || typeof value !== "object" || Array.isArray(value)) return null;
    const keys = Object.keys(value);
    return keys.length === 1 && marked.includes(keys[0]) ? keys[0] : null;
}

export const typeNames = {
    boolean: "switch", integer: "integer", real: "number", string: "text", date: "date", data: "data",
    array: "list", dictionary: "dictionary", uid: "archive reference",
};

export function typeOf(value) {
    switch (mark(value)) {
        case "$data": return "data";
        case "$date": return "date";
        case "$real": return "real";
        case "$integer": return "integer";
        case "$uid": return "uid";
    }
    if (Array.isArray(value)) return "array";
    if (typeof value === "object") return "dictionary";
    return typeof value === "number" ? "integer" : typeof value;
}

// Returns the entries of a dictionary, without the "$" that is put before keys that look like a mark.
function entries(value) {
    const all = Object.entries(value);
    if (all.length !== 1 || !/^\$\$/.test(all[0][0])) return all;
    return [[all[0][0].slice(1), all[0][1]]];
}

export function bytes(value) { return Uint8Array.from(atob(value.$data), (c) => c.charCodeAt(0)); }
export function hex(value) { return Array.from(bytes(value), (b) => b.toString(16).padStart(2, "0")).join(""); }

// Returns the beginning of a value, from which at least `limit` characters can be shown.
function beginning(value, limit) {
    switch (typeOf(value)) {
        case "string": return value.slice(0, limit + 1);
        case "array": return value.slice(0, limit).map((part) => beginning(part, limit));
        case "dictionary":
            return Object.fromEntries(Object.entries(value).slice(0,
                limit).map(([key, part]) => [key, beginning(part, limit)]));
        default: return value;
    }
}

// Returns a value as a line of text for people.
export function text(value, limit = 200) {
    if (value === undefined) return "(none)";
    if (value?.$shown !== undefined) return value.$shown;
    let result;
    switch (typeOf(value)) {
        case "data": {
            const start = hex({ $data: value.$data.slice(0, 32) });
            const count = Math.floor(value.$data.length * 3 / 4) - (value.$data.match(/=+$/)?.[0].length ?? 0);
            return `<${start}${count > 24 ? "…" : ""}> ${count.toLocaleString()} ${count === 1 ? "byte" : "bytes"}`;
        }
        case "date": result = value.$date; break;
        case "real": result = value.$real; break;
        case "integer": result = `${value.$integer ?? value}`; break;
        case "uid": result = `UID ${value.$uid}`; break;
        default: result = json(limit === Infinity ? value : beginning(value, limit));
    }
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
            const parts = Object.entries(value).map(([key, part]) => `${JSON.stringify(key)}: ${layOut(part, inner)}`);
            return list(parts, "{", "}");
        }
        default: return JSON.stringify(value);
    }
}

// Returns a dictionary of keys and values as it is sent: one with a single key that looks like a mark has another "$".
export function packed(values) {
    const keys = Object.keys(values);
    if (keys.length !== 1 || !(marked.includes(keys[0]) || keys[0].startsWith("$$"))) return values;
    return { [`$${keys[0]}`]: values[keys[0]] };
}

// Returns the entries of a dictionary that was received.
export function unpacked(values) { return entries(values); }

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

// Reads what was typed as a value of a type; throws an Error that says what is wrong.
export function read(typed, type) {
    switch (type) {
        case "string": return typed;
        case "boolean":
            if (/^(true|yes)$/i.test(typed.trim())) return true;
            if (/^(false|no)$/i.test(typed.trim())) return false;
            throw new Error("Type true or false.");
        case "integer": {
            const number = typed.trim();
            if (!/^[-+]?\d+$/.test(number)) throw new Error("Type an integer, such as 12.");
            const integer = BigInt(number.replace("+", ""));
            if (integer > 0xFFFFFFFFFFFFFFFFn
                || integer < -0x8000000000000000n) throw new Error("The integer is too large.");
            return Number.isSafeInteger(Number(integer)) ? Number(integer) : { $integer: `${integer}` };
        }
        case "real": {
            const number = typed.trim();
            if (!/^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(number) || !isFinite(Number(number))) {
                throw new Error("Type a number, such as 2.5.");
            }
            return { $real: `${Number(number)}` };
        }
        case "date": {
            const date = new Date(typed.trim());
            if (!/^\d{4}-\d\d-\d\d/.test(typed.trim())
                || isNaN(date)) throw new Error("Type a date, such as 2026-11-27T10:15:00Z.");
            // The fraction of a second stays as it was typed.
            if (/Z$/.test(typed.trim())) return { $date: typed.trim() };
            return { $date: date.toISOString().replace(".000Z", "Z") };
        }
        case "data": {
            const digits = typed.replace(/[\s<>]/g, "");
            if (!/^([0-9a-fA-F]{2})*$/.test(digits)) throw new Error("Type two hexadecimal digits for each byte.");
            let binary = "";
            for (let index = 0; index < digits.length; index += 2) {
                binary += String.fromCharCode(parseInt(digits.slice(index, index + 2), 16));
            }
            return { $data: btoa(binary) };
        }
        case "array": case "dictionary": {
            let value;
            try { value = parse(typed); } catch (error) { throw new Error(`This isn't JSON: ${error.message}.`); }
            if (typeOf(value) !== type) throw new Error(`Type a ${typeNames[type]} in JSON.`);
            return value;
        }
    }
    throw new Error("A value of this type can't be edited here.");
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
    const literal = swiftLiteral(value);
    if (domain.host || domain.name === "NSGlobalDomain" || literal === null) return null;
    return `UserDefaults(suiteName: ${swiftString(domain.name)})?.set(${literal}, forKey: ${swiftString(key)})`;
}

// Joins the literals of parts, unless one is missing.
function joined(parts, empty, open, close) {
    if (parts.length === 0) return empty;
    return parts.includes(null) ? null : open + parts.join(", ") + close;
}

function swiftLiteral(value) {
    switch (typeOf(value)) {
        case "string": return swiftString(value);
        case "data":
            return `Data([${Array.from(bytes(value), (b) => "0x" + b.toString(16).padStart(2, "0")).join(", ")}])`;
        case "date": {
            const date = new Date(value.$date);
            return isNaN(date) ? null : `Date(timeIntervalSince1970: ${date.getTime() / 1000})`;
        }
        case "array": return joined(value.map(swiftLiteral), "[] as [Any]", "[", "]");
        case "dictionary": {
            const parts = entries(value).map(([key, part]) => {
                const literal = swiftLiteral(part);
                return literal === null ? null : `${swiftString(key)}: ${literal}`;
            });
            return joined(parts, "[:] as [String: Any]", "[", "]");
        }
        case "real": return /^-?\d/.test(value.$real) ? value.$real : null;
        case "integer": return BigInt(value.$integer ?? value) > 0x7FFFFFFFFFFFFFFFn ? null
            : `${value.$integer ?? value}`;
        case "uid": return null;
        default: return `${value}`;
    }
}

function swiftString(text) {
    const escaped = Array.from(text, (character) => {
        if (character === '"' || character === "\\") return `\\${character}`;
        if (character === "\n") return "\\n";
        const code = character.codePointAt(0);
        return /[\p{C}\u2028\u2029]/u.test(character) ? `\\u{${code.toString(16)}}` : character;
    });
    return `"${escaped.join("")}"`;
}

// Returns the statement that sets a key; null where the package can't.
export function python(domain, key, value) {
    const literal = pythonLiteral(value);
    const host = domain.host ? `, host=${JSON.stringify(domain.host)}` : "";
    return literal && `Defaults(${JSON.stringify(domain.name)}${host}).set(${JSON.stringify(key)}, ${literal})`;
}

function pythonLiteral(value) {
    switch (typeOf(value)) {
        case "boolean": return value ? "True" : "False";
        case "data": return `bytes.fromhex("${hex(value)}")`;
        case "date":
            return /^\d{4}-[^+]*Z$/.test(value.$date)
                ? `datetime.fromisoformat("${value.$date.replace("Z", "+00:00")}")` : null;
        case "array": return joined(value.map(pythonLiteral), "[]", "[", "]");
        case "dictionary": {
            const parts = entries(value).map(([key, part]) => {
                const literal = pythonLiteral(part);
                return literal === null ? null : `${JSON.stringify(key)}: ${literal}`;
            });
            return joined(parts, "{}", "{", "}");
        }
        case "string": return JSON.stringify(value);
        case "real": return /^-?\d/.test(value.$real) ? value.$real : `float("${value.$real}")`;
        case "uid": return null;
        default: return text(value, Infinity);
    }
}
