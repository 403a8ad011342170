// Change sets and other events, as the feed and the history show them.

import { button, confirm, h, notify, time } from "./dom.js";
import { revision } from "./model.js";
import { sentence, shown } from "./manifests.js";
import { parse, run } from "./server.js";

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
export function address({ view, domain, key, host, user, program, compare, since, until }) {
    const parts = Object.entries({ view, domain, key, host, user, program, compare, since, until });
    return `#${new URLSearchParams(parts.filter(([, part]) => part != null))}`;
}

export function link(record, key, name = key ?? record.domain) {
    return h("a", { href: address({ ...record, key }) }, name);
}

// Returns an old and a new value with an arrow.
export function change(domain, key, old, now) {
    return h("span.change",
        h("span.old", shown(domain, key, old, 120)), h("span", { "aria-label": "became" }, " → "),
        h("span.new", shown(domain, key, now, 120)));
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

// Returns an item of a list for a record.
export function recordItem(record, { names = true } = {}) {
    const changes = listed(record.changes ?? [], ({ key, old, new: now }) =>
        h("li", names ? link(record, key) : h("span.key", key), " ", change(record.domain, key, old, now)));
    const lost = (record.overruled ?? []).map(({ key, value }) =>
        h("li.lost", `${key}: another writer's ${shown(record.domain, key, value, 120)} didn't count`));
    const broken = (record.violations ?? []).map((one) => h("li.broken", sentence(one)));
    const canUndo = record.type === "change" && !record.user && record.changes?.length;
    return h(`li.record.is-${record.type}`,
        h("p.meta",
            record.time ? time(record.time) : null, " ", record.domain && names ? link(record) : null,
            " ", h("span.writer", writer(record)),
            record.revision ? h("span.number", ` no. ${record.revision}`) : null,
            canUndo ? button("Undo…", () => undo(record),
                { "aria-label": `Undo change ${record.revision}…`, class: "writing" }) : null),
        notes[record.type] ? h("p.note", `${notes[record.type]} ${record.reason ?? ""}`) : null,
        changes.length + lost.length + broken.length ? h("ul", changes, lost, broken) : null);
}

// Returns the newest records that pass a filter, also those in the archive: `domain` and `key` are patterns.
export async function recent({ domain = "", key = "", count, since = "", until = "" }) {
    const { status, output, errors } = await run({ verb: "log", domain, key, program: "", count, since, until });
    // Without records, the status is 1.
    if (status !== 0 && status !== 1 && !output) throw new Error(errors || "The history can't be read.");
    return output.split("\n").filter(Boolean).map((text) => fromLog(parse(text, true)));
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
        // What isn't undone is in the errors.
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
