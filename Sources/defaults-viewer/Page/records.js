// Change sets and other events, as the feed and the history show them.

import { button, confirm, h, notify, time } from "./dom.js";
import { change } from "./difference.js";
import { isSecret, sentence, shown } from "./manifests.js";
import { revision } from "./model.js";
import { parse, run } from "./server.js";
import { areSame, bytes, text, visible } from "./values.js";

const base = (path) => path.split("/").pop();

// Returns who made a change, for people.
export function writer({ source, origin }) {
    if (!source) return "";
    const purposes = { undo: "undo", redo: "redo", profile: `profile ${origin?.of ?? ""}`,
        reset: `reset of ${origin?.of ?? ""}` };
    const reason = purposes[origin?.purpose] ?? (origin?.program ? `for ${base(origin.program)}` : "");
    const names = { file: "a program that wrote the file", agent: "the agent" };
    const name = names[source.kind] ?? base(source.executable ?? "");
    return reason ? `${name} (${reason})` : name;
}

// Returns the files of the program that made a change, and of the one for which it did.
function programs({ source, origin }) { return [source?.executable, origin?.program].filter(Boolean).join(" for "); }

// Returns the program that counts as the writer in figures.
export function program({ source, origin }) {
    if (!source) return "unknown";
    return base(origin?.program ?? { file: "files", agent: "agent" }[source.kind] ?? source.executable ?? "");
}

const notes = {
    damaged: "The file can't be used:",
    unsaved: "Edits can't be saved:",
    recovered: "The file can be read and saved again.",
    unknown: "The file changed while no agent was running, or keys changed that the history leaves out.",
    gap: "Changes are missing here: they are no longer in the log.",
};

// Returns the address of a place within the page: a view, a domain, or a key.
export function address({ view, domain, key, host, user, program, value, compare, since, until }) {
    const parts = Object.entries({ view, domain, key, host, user, program, value, compare, since, until });
    return `#${new URLSearchParams(parts.filter(([, part]) => part != null))}`;
}

export function link(record, key, name = visible(key ?? record.domain)) {
    return h("a", { href: address({ ...record, key }) }, name);
}

// Returns buttons that begin an edit with the old or the new value of a change, unless that is the current one.
function uses({ key, old, new: now }, { domain, revision: number }, use) {
    if (!use || isSecret(domain, key)) return null;
    const label = (value, side) => `Use ${text(value, 40)}, the value ${side} change ${number}`;
    return [["before", old], ["after", now]]
        .filter(([, value]) => value !== undefined && !areSame(value, use.current))
        .map(([side, value]) => button(`Use the value ${side}`, () => use.begin(value),
            { "aria-label": label(value, side), class: "quiet writing" }));
}

// Returns items for the first of many things, and one that makes the others when it is opened.
function listed(all, item, limit = 20) {
    const [first, others] = [all.slice(0, limit), all.slice(limit)];
    const more = () => {
        const place = h("details", { ontoggle: () => {
            if (place.children.length === 1) place.append(h("ul", listed(others, item, 1000)));
        } }, h("summary", `… and ${others.length.toLocaleString()} more`));
        return h("li", place);
    };
    return [...first.map(item), ...(others.length ? [more()] : [])];
}

// Returns an item of a list for a record. `use` has the current value, and a function that begins an edit with another.
export function recordItem(record, { names = true, use = null } = {}) {
    const changes = listed(record.changes ?? [], (one) =>
        h("li", names ? link(record, one.key) : h("span.key", visible(one.key)), " ",
            change(record.domain, one.key, one, `${record.revision} ${one.key}`), " ", uses(one, record, use)));
    const lost = (record.overruled ?? []).map(({ key, value }) =>
        h("li.lost", `${visible(key)}: another writer's ${shown(record.domain, key, value, 120)} didn't count`));
    const broken = (record.violations ?? []).map((one) => h("li.broken", sentence(one)));
    const canUndo = record.type === "change" && !record.user && record.changes?.length;
    return h(`li.record.is-${record.type}`,
        h("p.meta",
            record.time ? time(record.time) : null, " ", record.domain && names ? link(record) : null,
            " ", h("span.writer", { title: programs(record) || null }, writer(record)),
            record.revision ? h("span.number", { title: "The change's number, which `defaults undo` takes" },
                ` no. ${record.revision}`) : null,
            canUndo ? button("Undo…", () => undo(record),
                { "aria-label": `Undo change ${record.revision}…`, class: "writing" }) : null),
        notes[record.type] ? h("p.note", `${notes[record.type]} ${record.reason ?? ""}`) : null,
        changes.length + lost.length + broken.length ? h("ul", changes, lost, broken) : null);
}

// Returns the pattern that matches only a name.
export function pattern(name) { return name.replace(/[\\*?]/g, "\\$&"); }

// Returns the newest records of a domain, and of a key unless it is null.
export async function recentOf({ name, host }, key, count) {
    const asked = { domain: pattern(name), key: key === null ? "" : pattern(key), host, count };
    const found = [];
    for (let isEnd = false; !isEnd && found.length < count; asked.count = 1000) {
        const records = await recent(asked);
        found.push(...records.filter((record) => record.host === host && !record.user));
        isEnd = !records.hasMore;
        // Those of other hosts may be many. A range includes its end.
        if (!isEnd) asked.until = `${records.at(-1).revision - 1}`;
    }
    return found.slice(0, count);
}

// Returns the newest records that pass a filter, also those in the archive, and whether there may be more (`hasMore`):
// `domain` and `key` are patterns.
export async function recent({ domain = "", key = "", host, count, since = "", until = "" }) {
    const { status, output, errors } = await run({ verb: "log", domain, key, host, program: "", count, since, until });
    // Without records, the status is 1.
    if (status !== 0 && status !== 1 && !output) throw new Error(errors || "The history can't be read.");
    // The viewer cuts off a long output, even within a character, and ends a command that takes long.
    const all = typeof output === "string" ? output : new TextDecoder().decode(bytes(output));
    const whole = all.slice(0, all.lastIndexOf("\n") + 1);
    const isCut = status === null || whole.length < all.length;
    if (isCut && !whole) throw new Error("A change is too large to be shown.");
    const records = whole.split("\n").filter(Boolean).map((text) => fromLog(parse(text, true)));
    return Object.assign(records, { hasMore: isCut || records.length === count });
}

// Returns a line of `defaults log` as an event of the protocol.
function fromLog(line) {
    const changes = line.changes?.map(({ key, kind, old, new: now }) =>
        ({ key, ...(kind !== "added" && { old }), ...(kind !== "removed" && { new: now }) }));
    return {
        ...line, changes, host: line.host ?? undefined, time: Date.parse(line.time) * 1e6,
        revision: revision(line.cursor), type: line.type === "gap" && line.domain ? "unknown" : line.type,
    };
}

// Shows what an undo would do, and does it if that is wanted.
async function undo({ revision: number }) {
    try {
        const trial = await run({ verb: "undo", number, dryRun: true });
        // The errors name the changes that aren't undone.
        const action = trial.output ? "Undo" : null;
        const contents = h("pre", `${trial.output}\n${trial.errors}`.trim() || "Nothing would change.");
        const title = action ? `Undo change ${number}?` : `Change ${number} can't be undone`;
        if (!await confirm(title, contents, action)) return;
        const outcome = await run({ verb: "undo", number, dryRun: false });
        notify(outcome.errors || "Undone.");
    } catch (error) {
        notify(error.message);
    }
}
