// What the page knows, and the views that are told of changes.

import { apply, identity } from "./model.js";
import { areSame, json, text } from "./values.js";

// The number of events that the page remembers.
const feedLimit = 1000;

export const store = { domains: new Map(), info: {}, state: { name: "reading" }, feed: [] };

const listeners = [];
let update = null;

// Calls a function after changes, at most once a frame, with what has changed: `isReset`, `domains` (their identities)
// and `events`.
export function onUpdate(listener) { listeners.push(listener); }

export function receive(batch) {
    if (!update) {
        update = { isReset: false, domains: new Set(), events: [] };
        // A hidden page has no frames.
        if (document.hidden) setTimeout(publish, 500); else requestAnimationFrame(publish);
    }
    for (const message of batch) receiveOne(message);
}

function publish() {
    const done = update;
    update = null;
    for (const listener of listeners) listener(done);
}

function receiveOne(message) {
    switch (message.kind) {
        case "all":
            store.domains = new Map(message.domains.map((domain) => [domain.id, domain]));
            Object.assign(store, { info: message.info, state: message.state });
            update.isReset = true;
            break;
        case "clear":
            store.domains = new Map();
            update.isReset = true;
            break;
        case "domain":
            replace(message.domain);
            update.isReset = true;
            break;
        case "info": store.info = message.info; update.isReset = true; break;
        case "state": store.state = message.state; break;
        case "event": receiveEvent(message.message); break;
    }
}

// Replaces a domain by one with the values that were read again, and lights what differs.
function replace(domain) {
    const old = store.domains.get(domain.id);
    store.domains.set(domain.id, domain);
    if (!old) return;
    domain.lit = old.lit ?? new Map();
    for (const key of new Set([...old.values.keys(), ...domain.values.keys()])) {
        if (!areSame(old.values.get(key), domain.values.get(key))) domain.lit.set(key, performance.now());
    }
}

// Returns an event for the feed, in which large values are only their beginnings.
function shortened(event) {
    const short = (value) => JSON.stringify(value).length < 2000 ? value : { $shown: text(value, 120) };
    const changes = event.changes?.map((change) =>
        Object.fromEntries(Object.entries(change).map(([name, value]) => [name,
            name === "key" ? value : short(value)])));
    return { ...event, ...(changes && { changes }), arrived: Date.now() };
}

function receiveEvent(event) {
    store.feed.push(shortened(event));
    if (store.feed.length > feedLimit) store.feed.splice(0, store.feed.length - feedLimit);
    update.events.push(event);
    if (event.type === "gap") return;
    const count = store.domains.size;
    const domain = event.isApplied ? store.domains.get(identity(event))
        : apply(store.domains, event);
    if (!domain) return;
    if (store.domains.size !== count) update.isReset = true;
    update.domains.add(domain.id);
    domain.order = undefined;
    domain.lit ??= new Map();
    for (const { key } of event.changes ?? []) {
        domain.texts?.delete(key);
        domain.lit.set(key, performance.now());
    }
}

// MARK: Questions

// Returns a domain's name for people.
export function label(domain) { return domain.name === "NSGlobalDomain" ? "Global domain" : domain.name; }

// Returns where a domain is, if it isn't the user's own for any host.
export function place(domain) {
    const user = domain.user === "managed" ? "managed" : domain.user;
    return [domain.host ? `host ${domain.host}` : "", user ?? ""].filter(Boolean).join(", ");
}

export function isEditable(domain) { return !domain.user && !store.info.readOnly; }

// Returns the domains in the order of their names, those of the user first.
export function sortedDomains() {
    return [...store.domains.values()].filter((domain) => domain.values.size > 0 || domain.damage).sort((a, b) =>
        (a.name !== "NSGlobalDomain") - (b.name !== "NSGlobalDomain") || compare(label(a), label(b))
        || !!a.user - !!b.user || compare(place(a), place(b)));
}

const collator = new Intl.Collator(undefined, { numeric: true });
function compare(a, b) { return collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0); }

export function sortedKeys(domain) { return domain.order ??= [...domain.values.keys()].sort(compare); }

// Returns the text of a key and its value in which a search looks.
export function searched(domain, key) {
    domain.texts ??= new Map();
    let text = domain.texts.get(key);
    if (text === undefined) {
        domain.texts.set(key, text = `${key} ${json(domain.values.get(key))}`.toLowerCase());
    }
    return text;
}

// Returns the value that an administrator forces on a key, if there is one.
export function forced(domain, key) {
    for (const name of [domain.name, "NSGlobalDomain"]) {
        const value = store.domains.get(JSON.stringify([name, "", "managed"]))?.values.get(key);
        if (value !== undefined) return { value };
    }
    return null;
}
