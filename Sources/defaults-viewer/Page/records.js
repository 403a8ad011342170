// Change sets and other events, as the feed and the history show them.

import { button, confirm, h, notify, time } from "./dom.js";
import { run } from "./model.js";
import { store } from "./store.js";
import { parse, text } from "./values.js";

const base = (path) => path.split("/").pop();

// Returns who made a change, for people.
export function writer({ source, origin }) {
    if (!source) return "";
    const purposes = { undo: "undo", redo: "redo", profile: `profile ${origin?.of ?? ""}`,
        reset: `reset of ${origin?.of ?? ""}` };
    const reason = purposes[origin?.purpose] ?? (origin?.program ? `for ${base(origin.program)}` : "");
    const name = { file: "a program that wrote the file",
        agent: "the agent" }[source.kind] ?? base(source.executable ?? "");
    return reason ? `${name} (${reason})` : name;
}

// Returns the program that counts as the writer in figures.
export function program({ source, origin }) {
    if (!source) return "unknown";
    if (origin?.program) return base(origin.program);
    return source.kind === "app" ? base(source.executable ?? "") : source.kind === "file" ? "files" : "agent";
}

const notes = {
    damaged: (event) => `The file can't be used: ${event.reason}`,
    unsaved: (event) => `Edits can't be saved: ${event.reason}`,
    recovered: () => "The problem is over.",
    unknown: () => "The file changed while no agent was running, or keys changed that the history leaves out.",
    gap: () => "Changes are missing here: they are no longer in the log.",
};

export function link(record, key) {
    const values = new URLSearchParams({ domain: record.domain, ...(key ? { key } : {}) });
    if (record.host) values.set("host", record.host);
    if (record.user) values.set("user", record.user);
    return h("a", { href: `#${values}` }, key ?? record.domain);
}

// Returns an old and a new value with an arrow.
export function change(old, now) {
    return h("span", { class: "change" },
        h("span", { class: "old" }, text(old, 120)), h("span", { "aria-label": "became" }, " → "),
        h("span", { class: "new" }, text(now, 120)));
}

// Returns an item of a list for a record.
export function recordItem(record, { names = true } = {}) {
    const changes = (record.changes ?? []).map(({ key, old, new: now }) =>
        h("li", {}, names ? link(record, key) : h("span", { class: "key" }, key), " ", change(old, now)));
    const lost = (record.overruled ?? []).map(({ key, value }) =>
        h("li", { class: "lost" }, `${key}: another writer's ${text(value, 120)} didn't count`));
    const canUndo = record.type === "change" && !record.user && record.changes?.length;
    return h("li", { class: `record is-${record.type}` },
        h("p", { class: "meta" },
            record.time ? time(record.time) : null, " ", record.domain && names ? link(record) : null,
            " ", h("span", { class: "writer" }, writer(record)),
            record.revision ? h("span", { class: "number" }, ` no. ${record.revision}`) : null,
            canUndo ? button("Undo…", () => undo(record), { "aria-label": `Undo change ${record.revision}…` })
                : null),
        notes[record.type] ? h("p", { class: "note" }, notes[record.type](record)) : null,
        changes.length + lost.length ? h("ul", {}, changes, lost) : null);
}

// Returns the newest records that pass a filter, also those in the archive: `domain` and `key` are patterns.
export async function recent({ domain = "", key = "", program = "", count, since = "", until = "" }) {
    const { status, output, errors } = await run({ verb: "log", domain, key, program, count, since, until });
    // Without records, the status is 1.
    if (status !== 0 && !output) { if (status === 1) return []; throw new Error(errors
        || "The history can't be read."); }
    return output.split("\n").filter(Boolean).map((text) => fromLog(parse(text, true)));
}

// Returns a line of `defaults log` as an event of the protocol.
function fromLog(line) {
    const changes = line.changes?.map(({ key, kind, old, new: now }) =>
        ({ key, ...(kind !== "added" && { old }), ...(kind !== "removed" && { new: now }) }));
    return {
        ...line, changes, host: line.host ?? undefined, time: Date.parse(line.time) * 1e6,
        revision: Number(line.cursor.split(":")[1]), type: line.type === "gap" && line.domain ? "unknown" : line.type,
    };
}

// Shows what an undo would do, and does it if that is wanted.
async function undo(record) {
    try {
        const trial = await run({ verb: "undo", number: record.revision, dryRun: true });
        // What isn't undone is in the errors.
        const action = store.info.readOnly || !trial.output ? null : "Undo";
        const contents = h("pre", {},
            [trial.output, trial.errors].filter(Boolean).join("\n") || "Nothing would change.");
        if (!await confirm(`Undo change ${record.revision}?`, contents, action)) return;
        const outcome = await run({ verb: "undo", number: record.revision, dryRun: false });
        notify(outcome.errors || "Undone.");
    } catch (error) {
        notify(error.message);
    }
}
