// The view of the history: earlier changes, the difference between two moments, and profiles.

import { button, form, h, input, notify, table, words } from "./dom.js";
import { saveProfile } from "./detail.js";
import { change, program, recent, recordItem, writer } from "./records.js";
import { parse, run } from "./server.js";
import { shown } from "./manifests.js";

const pageSize = 100;

export function history() {
    // What is asked for, with the number of the oldest record that is shown.
    let asked = {};
    const field = (id, label, attributes) => h("p", h("label", { for: id }, label), input({ id, ...attributes }));
    const search = form("fields", () => begin(),
        field("history-domain", "Domain", { placeholder: "org.example.*" }), field("history-key", "Key"),
        field("history-program", "Program"),
        h("button.main", "Show"));
    const list = h("ul.records", { "aria-label": "Earlier changes, newest first" });
    const status = h("p.count", { role: "status" });
    const older = button("Older", () => more(), { hidden: true });
    const compare = form("fields", () => answer(difference),
        field("compare-domain", "Domain"), field("compare-since", "From", { value: "1h", "aria-describedby": "times" }),
        field("compare-until", "To", { placeholder: "now", "aria-describedby": "times" }),
        h("button.main", "Compare"), button("Values then", () => answer(past)),
        button("Save as a profile", () => answer(saveProfile)));
    const outcome = h("div.outcome", { role: "region", "aria-label": "Outcome", tabindex: "0" });
    const view = h("section.page", { "aria-label": "History" }, h("h2", "History"), search, status, list,
        h("p.buttons", older),
        h("h2", "Compare two moments"), h("p", { id: "times" },
            "A moment is a time, such as 10m, yesterday, 10:15 or 2026-11-24, or a change's number."),
        compare, outcome);
    const value = (id) => view.querySelector(`#${id}`).value.trim();

    function begin() {
        asked = { domain: value("history-domain"), key: value("history-key"),
            words: words(value("history-program")) };
        list.replaceChildren();
        return more();
    }

    async function more() {
        const mine = asked;
        older.disabled = true;
        status.textContent = "Reading…";
        try {
            const count = mine.words.length ? 20 * pageSize : pageSize;
            let records;
            let shown = 0;
            do {
                records = await recent({ ...mine, count });
                if (mine !== asked) return;
                const found = records.filter((record) => isBy(record, mine.words));
                list.append(...found.map((record) => recordItem(record)));
                shown += found.length;
                // A range includes its end.
                if (records.length) mine.until = `${records.at(-1).revision - 1}`;
            } while (records.length === count && shown < pageSize);
            older.hidden = records.length < count;
            status.textContent = list.children.length ? ""
                : mine.domain || mine.key || mine.words.length ? "No matches." : "There are no changes yet.";
        } catch (error) {
            if (mine === asked) status.textContent = error.message;
        }
        older.disabled = false;
    }

    // Returns whether a record has all words in what the page shows or knows about its program.
    function isBy(record, words) {
        const names = [writer(record), program(record), record.source?.executable, record.origin?.program];
        return words.every((word) => names.join(" ").toLowerCase().includes(word));
    }

    // Returns an error of the command with the names of the fields.
    function named(errors) {
        return errors.replace(/ See `defaults help .*/, "").replace("--until is before --since", "To is before From")
            .replace(/The value '(.*)' is invalid for '--(\w+) <time>':/, (_, text, option) =>
                `“${text}” in ${option === "until" ? "To" : "From"} isn't a moment.`);
    }

    // Does something with the named domain and the moments, and shows the outcome and errors.
    async function answer(act) {
        const [domain, since, until] = ["domain", "since", "until"].map((name) => value(`compare-${name}`));
        const missing = !domain ? "Type a domain." : since ? "" : "Type a moment in From.";
        outcome.replaceChildren();
        notify(missing);
        if (missing) return;
        try {
            const errors = await act({ domain, since, until });
            if (errors) outcome.append(h("p.note", named(errors)));
        } catch (error) {
            notify(error.message);
        }
    }

    // Runs a verb, and shows a table of its output.
    async function show(request, names, rowsOf, nothing) {
        const { output, errors } = await run(request);
        const rows = output && rowsOf(parse(output, true));
        if (output) outcome.append(rows.length ? table(names, rows) : h("p", nothing));
        return errors;
    }

    const difference = (asked) => show({ verb: "diff", ...asked }, ["Key", "Change"], ({ changes }) =>
        changes.map(({ key, kind, old, new: now }) => [key,
            change(asked.domain, key, kind === "added" ? undefined : old, kind === "removed" ? undefined : now)]),
    "Nothing differs.");

    const past = ({ domain, since }) => show({ verb: "read", domain, at: since }, ["Key", "Value"], (held) =>
        Object.entries(held).map(([key, value]) => [key, shown(domain, key, value)]), "There were no values.");

    return { view, show: begin, update() {} };
}
