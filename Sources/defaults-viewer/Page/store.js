// The page's state, and the views that are notified of changes.

import { apply, identity } from "./model.js";
import { giveUp, prove } from "./server.js";
import { described, describedDomains, isSecret, settings } from "./manifests.js";
import { folded } from "./dom.js";
import { shortened } from "./difference.js";
import { areSame, hex, json, typeOf, visible } from "./values.js";

// The number of events that the page remembers.
const feedLimit = 1000;

// The time for which a changed key is lit, in milliseconds.
export const litTime = 3000;

// `silence` says why the agent doesn't answer; `unsaved` has the domains that can't be saved and the reasons; `total`
// counts all events; `revision` is the number of the last change; and `drafts` has the editors that were left before
// everything was saved.
export const store = { domains: new Map(), info: {}, state: { name: "reading" }, silence: "", unsaved: new Map(),
    feed: [], total: 0, revision: 0, drafts: new Map() };

// Returns whether what was typed for a key, or for a new one, isn't saved.
export function isDraft(name) { return store.drafts.get(name)?.isDirty === true; }

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
    if (message.kind === "event") return receiveEvent(message.message);
    if (message.kind === "proof") return prove(message.proof);
    update.isReset = true;
    switch (message.kind) {
        case "all":
            store.domains = new Map(message.domains.map((domain) => [domain.id, domain]));
            Object.assign(store, { info: message.info, state: message.state });
            prove(message.proof);
            break;
        case "clear": Object.assign(store, { domains: new Map(), revision: Infinity }); break;
        case "domain": replace(message.domain); break;
        // `info`, `state`, `silence` or `unsaved`.
        default: store[message.kind] = message[message.kind];
    }
    if (store.state.isOver) giveUp(store.state.reason);
}

// Replaces a domain by one with the values that were read again, and lights what differs.
function replace(domain) {
    const old = store.domains.get(domain.id);
    store.domains.set(domain.id, domain);
    if (!old) return;
    Object.assign(domain, { lit: old.lit, litLast: old.litLast });
    const keys = [...new Set([...old.values.keys(), ...domain.values.keys()])];
    light(domain, keys.filter((key) => !areSame(old.values.get(key), domain.values.get(key))));
}

// Lights keys of a domain, in the order of their times, and forgets those whose light has ended.
function light(domain, keys) {
    if (!keys.length) return;
    const now = performance.now();
    const lit = domain.lit ??= new Map();
    for (const [key, time] of lit) {
        if (now - time < litTime) break;
        lit.delete(key);
    }
    for (const key of keys) {
        lit.delete(key);
        lit.set(key, now);
    }
    domain.litLast = now;
}

function receiveEvent(event) {
    store.feed.push(event.changes ? { ...event, changes: event.changes.map(shortened) } : event);
    if (store.feed.length > feedLimit) store.feed.splice(0, store.feed.length - feedLimit);
    store.total += 1;
    update.events.push(event);
    if (event.type === "gap") return;
    store.revision = event.revision;
    if (event.type === "unsaved") store.unsaved.set(identity(event), event.reason);
    if (event.type === "recovered") store.unsaved.delete(identity(event));
    const count = store.domains.size;
    const domain = event.isApplied ? store.domains.get(identity(event)) : apply(store.domains, event);
    if (!domain) return;
    if (store.domains.size !== count) update.isReset = true;
    update.domains.add(domain.id);
    domain.order = undefined;
    const keys = (event.changes ?? []).map(({ key }) => key);
    for (const key of keys) domain.texts?.delete(key);
    light(domain, keys);
}

// MARK: Questions

// Says why there is nothing.
export function absence(text) { return { reading: "Reading…", live: text }[store.state.name] ?? "Not connected."; }

// Returns a domain as a part of the page's address.
export function addressOf({ name, host, user }) { return { domain: name, host, user }; }

// Returns a domain's name for people.
export function label(domain) { return domain.name === "NSGlobalDomain" ? "Global domain" : visible(domain.name); }

// Returns where a domain is, if it isn't the user's own for any host.
export function place(domain) {
    return [domain.host && hostName(domain.host), domain.user].filter(Boolean).join(", ");
}

// Returns a file's path for people, with ~ for the home directory.
export function shortPath(path) {
    const { home } = store.info;
    return home && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

function hostName(host) { return host === store.info.host ? "this host" : `host ${host}`; }

export function isEditable(domain) { return !domain.user && !store.info.readOnly; }

// Returns a domain; also one without values that a manifest describes.
export function domainAt(id) {
    const known = store.domains.get(id);
    if (known || !id) return known;
    const [name, host, user] = JSON.parse(id);
    return host || user || !settings(name).length ? undefined : { id, name, values: new Map() };
}

// Returns the domains in the order of their names, those of the user first; with those that manifests describe, also
// domains without values.
export function sortedDomains({ withDescribed = false } = {}) {
    const described = withDescribed ? describedDomains().map((domain) => identity({ domain })) : [];
    const others = described.filter((id) => !store.domains.get(id)?.values.size).map(domainAt).filter(Boolean);
    return [...store.domains.values()].filter((domain) => domain.values.size > 0 || domain.damage).concat(others)
        .sort((a, b) =>
        (a.name !== "NSGlobalDomain") - (b.name !== "NSGlobalDomain") || compare(label(a), label(b))
        || !!a.user - !!b.user || compare(place(a), place(b)));
}

const collator = new Intl.Collator(undefined, { numeric: true });
function compare(a, b) { return collator.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0); }

export function sortedKeys(domain) { return domain.order ??= [...domain.values.keys()].sort(compare); }

// Returns the keys without a value that the domain's manifest describes.
export function unsetKeys(domain) {
    return domain.user || domain.host ? [] : settings(domain.name).map(({ key }) => key)
        .filter((key) => !domain.values.has(key));
}

// Returns the text of a key's value in which a search looks: that of a secret is empty.
export function searchedValue(name, key, value) {
    if (value === undefined || isSecret(name, key)) return "";
    return typeOf(value) === "data" ? `<${hex(value)}>` : json(value);
}

// Returns the text of a key and its value in which a search looks.
export function searched(domain, key) {
    const { texts } = Object.assign(domain, { texts: domain.texts ?? new Map() });
    if (!texts.has(key)) {
        const value = searchedValue(domain.name, key, domain.values.get(key));
        texts.set(key, folded(`${key} ${described(domain.name, key)?.title ?? ""} ${value}`));
    }
    return texts.get(key);
}

// Forgets what a search looks in, since titles have become known.
export function forgetTexts() { for (const domain of store.domains.values()) domain.texts = undefined; }

// Returns the places whose values programs see instead of a domain's, the winner first, with the reasons.
function placesAbove(domain) {
    if (domain.user) return [];
    const all = [domain.name, "NSGlobalDomain"].map((name) => ({ place: { name, user: "managed" }, reason: "forced" }));
    const { host } = store.info;
    return domain.host || !host ? all : [...all, { place: { name: domain.name, host }, reason: "for this host" }];
}

const identityOf = (place) => identity(addressOf(place));

// Returns the value that programs see instead of that of a domain's key, the reason, and its place; undefined if it is
// the domain's own.
export function replacement(domain, key) {
    for (const { place, reason } of placesAbove(domain)) {
        const value = store.domains.get(identityOf(place))?.values.get(key);
        if (value !== undefined) return { value, reason, place };
    }
    return undefined;
}

// Returns the identities of the domains on which the values in effect depend.
export function consulted(domain) { return [domain.id, ...placesAbove(domain).map(({ place }) => identityOf(place))]; }

// Returns the value of a domain's key that is in effect.
export function inEffect(domain, key) { return (replacement(domain, key) ?? { value: domain.values.get(key) }).value; }

// Returns whether an administrator forces the value of a key.
export function isForced(domain, key) { return replacement(domain, key)?.reason === "forced"; }
