// Keys as manifests describe them: their titles, their possible values, and which are secret.

import { parse, run } from "./server.js";
import { text } from "./values.js";

// The descriptions of keys, by the domain's name and the key; patterns apply to domains without a manifest.
let exact = new Map();
let patterns = [];
// The patterns of secret keys, and of domains whose manifests can't be used: everything, until it is known.
let secrets = [];
let unknown = ["*"];
// The titles of domains that have one.
let titles = new Map();

// The output that was read last.
let known = "";

// Reads all manifests, and calls a function if they have changed.
export async function learn(done) {
    const { output } = await run({ verb: "describe", domain: "" });
    if (output === known) return;
    known = output;
    const [about, ...all] = output.split("\n").filter(Boolean).map((line) => parse(line, true));
    const isPattern = ({ domain }) => /[*?]/.test(domain);
    // Of a key that is described twice, the first description counts.
    const keys = (manifest) => Object.assign(new Map(manifest.keys.toReversed().map((key) => [key.key, key])),
        { isEnforced: manifest.enforced, order: manifest.keys.map((key) => key.key) });
    secrets = about.sensitive.map((text) =>
        [text.slice(0, text.indexOf("/")), text.slice(text.indexOf("/") + 1)]);
    ({ unknown } = about);
    isSecretKey.clear();
    exact = new Map(all.filter((one) => !isPattern(one)).map((one) => [one.domain, keys(one)]));
    titles = new Map(all.filter((one) => one.title).map((one) => [one.domain, one.title]));
    patterns = all.filter(isPattern).map((one) => [one.domain, keys(one)]);
    done();
}

// Returns whether a name matches a pattern with * and ?, in which a backslash stands before what is meant literally.
function matches(pattern, name) {
    const parts = [...pattern.matchAll(/\\(.)|(.)/gsu)].map(([, literal, other]) =>
        ({ text: literal ?? other, isRun: other === "*", isOne: other === "?" }));
    const text = [...name];
    // Only the last run may have to be longer.
    let [part, place, run, end] = [0, 0, -1, 0];
    while (place < text.length) {
        if (parts[part]?.isRun) [run, end, part] = [part, place, part + 1];
        else if (part < parts.length && (parts[part].isOne || parts[part].text === text[place])) {
            part += 1;
            place += 1;
        } else if (run >= 0) [part, place, end] = [run + 1, end + 1, end + 1];
        else return false;
    }
    return parts.slice(part).every(({ isRun }) => isRun);
}

// Returns the descriptions of a domain's keys, by their names.
function manifest(name) {
    const own = exact.get(name);
    if (own?.isEnforced) return own;
    const others = patterns.filter(([pattern]) => matches(pattern, name)).map(([, keys]) => keys);
    return others.find(({ isEnforced }) => isEnforced) ?? own ?? others[0];
}

export function titleOf(name) { return titles.get(name); }

// Returns the names of the domains that have a manifest of their own.
export function describedDomains() { return [...exact.keys()]; }

// Returns the descriptions of the keys that people choose from, in the manifest's order.
export function settings(name) {
    const keys = manifest(name);
    return keys ? listed([...new Set(keys.order)].map((key) => keys.get(key))) : [];
}

function listed(keys) { return [...keys].filter(({ key, hidden }) => !hidden && !key.startsWith("{{")); }

const scopes = { roaming: "Settings", machine: "Of this machine", noise: "Not settings, but what the app remembers" };

// Returns what a scope other than the usual one means.
export function scopeNote({ scope }) {
    return { machine: "depends on the machine", noise: "not a setting, but what the app remembers" }[scope];
}

// Returns a domain's settings in groups: titles, and descriptions with the ways to them (a key, and names inside its
// dictionary, whose entries are a group).
export function groups(name) {
    const all = new Map(Object.values(scopes).map((title) => [title, []]));
    const entries = (about, path) => {
        const inner = about.type === "dictionary" && !about.sensitive ? listed(about.subkeys ?? []) : [];
        return inner.length ? inner.flatMap((one) => entries(one, [...path, one.key])) : [{ about, path }];
    };
    for (const about of settings(name)) {
        const found = entries(about, [about.key]);
        const title = found[0].path.length > 1 ? about.title ?? about.key : scopes[about.scope];
        all.set(title, [...all.get(title) ?? [], ...found]);
    }
    return [...all].filter(([, rows]) => rows.length);
}

// Returns a sentence about a value that breaks its manifest.
export function sentence({ message, key, path = [], rule, limit }) {
    const place = path.reduce((all, step) => typeof step === "number" ? `${all}[${step}]` : `${all}.${step}`, key);
    return message ?? `"${place}" breaks the manifest (${[rule, limit && text(limit, 60)].filter(Boolean).join(" ")}).`;
}

// Returns the description of a key, if there is one.
export function described(name, key) {
    const keys = manifest(name);
    return keys?.get(key) ?? keys?.get("{{value}}");
}

const isSecretKey = new Map();

// Returns whether a value must not be shown; nor is one whose manifest can't be used.
export function isSecret(name, key) {
    const id = JSON.stringify([name, key]);
    if (!isSecretKey.has(id)) isSecretKey.set(id, unknown.some((domain) => matches(domain, name))
        || secrets.some(([domain, pattern]) =>
            matches(domain, name) && matches(pattern.normalize(), key.normalize())));
    return isSecretKey.get(id);
}

// Returns a key's value as a text that doesn't show secrets.
export function shown(name, key, value, limit) {
    return value !== undefined && isSecret(name, key) ? "••••••" : text(value, limit);
}
