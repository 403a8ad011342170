// The view of the history: earlier changes, the difference between two moments, and profiles.

import { change } from "./difference.js";
import { button, folded, form, h, input, notify, table, words } from "./dom.js";
import { saveProfile } from "./profiles.js";
import { pattern, program, recent, recordItem, writer } from "./records.js";
import { parse, run } from "./server.js";
import { shown } from "./manifests.js";
import { searchedValue, sortedDomains, sortedKeys, store } from "./store.js";
import { unpacked, visible, zoned } from "./values.js";

const pageSize = 100;
// The number of rows of a table that are shown at first.
const rowLimit = 500;

export function history(go) {
    // The current request, with the number of the oldest record that is shown.
    let asked = {};
    // Counts the answers about two moments.
    let answers = 0;
    // Answers about the same moments again, if the outcome has values.
    let repeat = () => {};
    // The manifests by which values are shown.
    let manifests;
    const field = (id, label, attributes) => h("p", h("label", { for: id }, label), input({ id, ...attributes }));
    // Returns a field for a moment, with a calendar that fills it.
    const moment = (id, label, attributes) => {
        const typed = input({ id, "aria-describedby": "times", oninput: () => { chosen.value = ""; }, ...attributes });
        const chosen = h("input", { type: "datetime-local", step: "1", "aria-label": `${label}, in a calendar`,
            onchange: () => { if (chosen.value) typed.value = chosen.value.replace("T", " "); } });
        return h("p", h("label", { for: id }, label), h("span.moment", typed, chosen));
    };
    const names = h("datalist", { id: "domain-names" });
    const keys = h("datalist", { id: "key-names" });
    const complete = (list, all) => ({ list: list.id, onfocus: () =>
        list.replaceChildren(...[...new Set(all())].map((value) => h("option", { value }))) });
    const completeDomain = complete(names, () => sortedDomains().map(({ name }) => name));
    const completeKey = complete(keys, () => sortedDomains()
        .filter(({ name }) => pattern(name) === value("history-domain"))
        .flatMap((domain) => sortedKeys(domain).slice(0, 1000).map(pattern)));
    const search = form("fields", () => ask(),
        field("history-domain", "Domain", { placeholder: "org.example.*", ...completeDomain }),
        field("history-key", "Key", completeKey), field("history-value", "Value"),
        field("history-program", "Program"), h("button.main", "Show"));
    const list = h("ul.records", { "aria-label": "Earlier changes, newest first" });
    const status = h("p.count", { role: "status" });
    const older = button("Older", () => more(), { hidden: true });
    const compare = form("fields", () => ask(),
        field("compare-domain", "Domain", completeDomain), moment("compare-since", "From", { value: "1h" }),
        moment("compare-until", "To", { placeholder: "now" }),
        h("button.main", "Compare"), button("Values then", () => answer(past)),
        button("Save as a profile", () => answer(async (asked) => ({ errors: await saveProfile(asked) }))));
    const outcome = h("div.outcome", { role: "region", "aria-label": "Outcome", tabindex: "0" });
    const view = h("section.page", { "aria-label": "History" },
        h("h2", "Compare two moments"), h("p", { id: "times" },
            "A moment is a time, such as 10m, yesterday, 10:15 or 2026-11-24, or a change's number."),
        compare, names, keys, outcome, h("h2", "Earlier changes"), search, status, list, h("p.buttons", older));
    const value = (id) => view.querySelector(`#${id}`).value.trim();

    const fields = { domain: "history-domain", key: "history-key", program: "history-program",
        value: "history-value", compare: "compare-domain", since: "compare-since", until: "compare-until" };

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
            for (const calendar of view.querySelectorAll("[type=datetime-local]")) calendar.value = "";
        }
        // Which values may be shown can have changed meanwhile.
        const again = manifests === store.manifests ? () => {} : repeat;
        begin();
        if (place.compare) answer(difference); else again();
    }

    // Returns what the fields of the search ask for.
    function typed() {
        return { domain: value("history-domain"), key: value("history-key"),
            program: words(value("history-program")), values: words(value("history-value")) };
    }

    function begin(wanted = typed()) {
        asked = wanted;
        manifests = store.manifests;
        list.replaceChildren();
        return more();
    }

    async function more() {
        const mine = asked;
        older.disabled = true;
        status.textContent = "Reading…";
        try {
            const isFiltered = mine.program.length + mine.values.length > 0;
            const count = isFiltered ? 20 * pageSize : pageSize;
            let records;
            let shown = 0;
            do {
                records = await recent({ domain: mine.domain, key: mine.key, until: mine.until, count });
                if (mine !== asked) return;
                const found = records.filter((record) => isBy(record, mine.program) && has(record, mine.values));
                list.append(...found.map((record) => recordItem(record)));
                shown += found.length;
                // A range includes its end.
                if (records.length) mine.until = `${records.at(-1).revision - 1}`;
            } while (records.hasMore && shown < pageSize);
            older.hidden = !records.hasMore;
            status.textContent = list.children.length ? ""
                : mine.domain || mine.key || isFiltered ? "No matches." : "There are no changes yet.";
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

    // Returns whether an old or a new value of a record has all words.
    function has(record, words) {
        return !words.length || (record.changes ?? []).some(({ key, old, new: now }) => [old, now].some((one) => {
            const text = folded(searchedValue(record.domain, key, one));
            return words.every((word) => text.includes(word));
        }));
    }

    // Returns an error of the command with the names of the fields.
    function named(errors) {
        return errors.replace(/ See `defaults help .*/, "").replace("--until is before --since", "To is before From")
            .replace(/The value '(.*)' is invalid for '--(\w+) <time>':/, (_, text, option) =>
                `“${text}” in ${option === "until" ? "To" : "From"} isn't a moment.`);
    }

    // Returns the domain and the moments that the fields name.
    function twoMoments() {
        return { domain: value("compare-domain"), since: zoned(value("compare-since"), true),
            until: zoned(value("compare-until"), true) };
    }

    // Does something with a domain and two moments, and shows the outcome and errors.
    async function answer(act, asked = twoMoments()) {
        const missing = !asked.domain ? "Type a domain." : asked.since ? "" : "Type a moment in From.";
        const mine = answers += 1;
        repeat = () => {};
        outcome.replaceChildren();
        notify(missing);
        if (missing) return;
        try {
            const { errors, contents = [] } = await act(asked);
            // Something else may have been asked for meanwhile.
            if (mine !== answers) return;
            if (contents.length) repeat = () => answer(act, asked);
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

    return {
        view, show,
        // Until the manifests are known, everything is secret.
        update() {
            if (!view.isConnected || manifests === store.manifests) return;
            // A half-typed search isn't asked for yet.
            begin({ ...asked, until: undefined });
            repeat();
        },
    };
}
