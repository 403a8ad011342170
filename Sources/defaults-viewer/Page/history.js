// The view of the history: earlier changes, the difference between two moments, and profiles.

import { change } from "./difference.js";
import { button, folded, form, h, input, notify, table, words } from "./dom.js";
import { saveProfile } from "./profiles.js";
import { program, recent, recordItem, writer } from "./records.js";
import { parse, run } from "./server.js";
import { shown } from "./manifests.js";
import { sortedDomains } from "./store.js";
import { unpacked, visible, zoned } from "./values.js";

const pageSize = 100;
// The number of rows of a table that are shown at first.
const rowLimit = 500;

export function history(go) {
    // The current request, with the number of the oldest record that is shown.
    let asked = {};
    // Counts the answers about two moments.
    let answers = 0;
    const field = (id, label, attributes) => h("p", h("label", { for: id }, label), input({ id, ...attributes }));
    const names = h("datalist", { id: "domain-names" });
    const complete = { list: names.id, onfocus: () => names.replaceChildren(
        ...[...new Set(sortedDomains().map(({ name }) => name))].map((value) => h("option", { value }))) };
    const search = form("fields", () => ask(),
        field("history-domain", "Domain", { placeholder: "org.example.*", ...complete }),
        field("history-key", "Key"), field("history-program", "Program"),
        h("button.main", "Show"));
    const list = h("ul.records", { "aria-label": "Earlier changes, newest first" });
    const status = h("p.count", { role: "status" });
    const older = button("Older", () => more(), { hidden: true });
    const compare = form("fields", () => ask(),
        field("compare-domain", "Domain", complete), field("compare-since", "From", { value: "1h", "aria-describedby": "times" }),
        field("compare-until", "To", { placeholder: "now", "aria-describedby": "times" }),
        h("button.main", "Compare"), button("Values then", () => answer(past)),
        button("Save as a profile", () => answer(async (asked) => ({ errors: await saveProfile(asked) }))));
    const outcome = h("div.outcome", { role: "region", "aria-label": "Outcome", tabindex: "0" });
    const view = h("section.page", { "aria-label": "History" },
        h("h2", "Compare two moments"), h("p", { id: "times" },
            "A moment is a time, such as 10m, yesterday, 10:15 or 2026-11-24, or a change's number."),
        compare, names, outcome, h("h2", "Earlier changes"), search, status, list, h("p.buttons", older));
    const value = (id) => view.querySelector(`#${id}`).value.trim();

    const fields = { domain: "history-domain", key: "history-key", program: "history-program",
        compare: "compare-domain", since: "compare-since", until: "compare-until" };

    // Asks for what the fields say, and makes it a place to which the browser can return.
    function ask() {
        const place = Object.fromEntries(Object.entries(fields).map(([name, id]) => [name, value(id)])
            .filter(([, text]) => text));
        if (!place.compare) { delete place.since; delete place.until; }
        if (!go({ view: "history", ...place })) show(place);
    }

    // Shows what a place asks for; a place that says nothing leaves the fields as they are.
    function show(place) {
        if (Object.keys(fields).some((name) => place[name] !== undefined)) {
            for (const [name, id] of Object.entries(fields)) {
                view.querySelector(`#${id}`).value = place[name] ?? (name === "since" ? "1h" : "");
            }
        }
        begin();
        if (place.compare) answer(difference);
    }

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
        return words.every((word) => folded(names.join(" ")).includes(word));
    }

    // Returns an error of the command with the names of the fields.
    function named(errors) {
        return errors.replace(/ See `defaults help .*/, "").replace("--until is before --since", "To is before From")
            .replace(/The value '(.*)' is invalid for '--(\w+) <time>':/, (_, text, option) =>
                `“${text}” in ${option === "until" ? "To" : "From"} isn't a moment.`);
    }

    // Does something with the named domain and the moments, and shows the outcome and errors.
    async function answer(act) {
        const domain = value("compare-domain");
        const [since, until] = [zoned(value("compare-since"), true), zoned(value("compare-until"), true)];
        const missing = !domain ? "Type a domain." : since ? "" : "Type a moment in From.";
        const mine = answers += 1;
        outcome.replaceChildren();
        notify(missing);
        if (missing) return;
        try {
            const { errors, contents = [] } = await act({ domain, since, until });
            // Something else may have been asked for meanwhile.
            if (mine !== answers) return;
            outcome.replaceChildren(...contents, ...(errors ? [h("p.note", named(errors))] : []));
        } catch (error) {
            notify(error.message);
        }
    }

    // Runs a verb, and shows a table of what is found in its output; the first rows, if there are many.
    async function tabulate(request, names, find, cells, nothing) {
        const { output, errors } = await run(request);
        if (!output) return { errors };
        const found = find(parse(output, true));
        if (!found.length) return { errors, contents: [h("p", nothing)] };
        const rows = (count) => table(names, found.slice(0, count).map(cells));
        const all = button(`Show all ${found.length.toLocaleString()}`,
            () => outcome.replaceChildren(rows(found.length)));
        return { errors, contents: found.length > rowLimit ? [rows(rowLimit), all] : [rows(rowLimit)] };
    }

    const difference = (asked) => tabulate({ verb: "diff", ...asked }, ["Key", "Change"], ({ changes }) => changes,
        ({ key, kind, old, new: now }) => [visible(key), change(asked.domain, key,
            { old: kind === "added" ? undefined : old, new: kind === "removed" ? undefined : now }, key)],
        "Nothing differs.");

    const past = ({ domain, since }) => tabulate({ verb: "read", domain, at: since }, ["Key", "Value"],
        unpacked, ([key, value]) => [visible(key), shown(domain, key, value)], "There were no values.");

    return { view, show, update() {} };
}
