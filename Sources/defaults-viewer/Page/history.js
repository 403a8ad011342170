// The view of the history: earlier changes, the difference between two moments, and profiles.

import { button, h, notify, table } from "./dom.js";
import { saveProfile } from "./detail.js";
import { run } from "./model.js";
import { change, recent, recordItem } from "./records.js";
import { parse, text } from "./values.js";

const pageSize = 100;

export function history() {
    // What is asked for, with the number of the oldest record that is shown.
    let asked = {};
    const field = (id, label, attributes) => h("p", {}, h("label", { for: id }, label),
        h("input", { id, type: "text", autocomplete: "off", spellcheck: "false", ...attributes }));
    const form = h("form", { class: "fields", onsubmit: (event) => { event.preventDefault(); begin(); } },
        field("history-domain", "Domain", { placeholder: "org.example.*" }), field("history-key", "Key"),
            field("history-program", "Program"),
        h("button", { class: "main" }, "Show"));
    const list = h("ul", { class: "records", "aria-label": "Earlier changes, newest first" });
    const status = h("p", { role: "status", class: "count" });
    const older = button("Older", () => more(), { hidden: true });
    const compare = h("form", { class: "fields", onsubmit: (event) => { event.preventDefault(); difference(); } },
        field("compare-domain", "Domain", { required: true }),
        field("compare-since", "From", { value: "1h", required: true, "aria-describedby": "times" }),
        field("compare-until", "To", { placeholder: "now", "aria-describedby": "times" }),
        h("button", { class: "main" }, "Compare"), button("Values then", () => past()),
            button("Save as a profile",
            () => value("compare-domain") ? saveProfile(value("compare-domain"), value("compare-since"))
            : notify("Type a domain.")));
    const outcome = h("div", { class: "outcome", role: "region", "aria-label": "Outcome", tabindex: "0" });
    const view = h("section", { class: "page", "aria-label": "History" }, h("h2", {}, "History"), form, status, list,
        h("p", { class: "buttons" }, older),
        h("h2", {}, "Compare two moments"),
            h("p", { id: "times" },
            "A moment is a time, such as 10m, yesterday, 10:15 or 2026-11-24, or a change's number."),
        compare, outcome);
    const value = (id) => view.querySelector(`#${id}`).value.trim();

    function begin() {
        asked = { domain: value("history-domain"), key: value("history-key"), program: value("history-program"),
            count: pageSize };
        list.replaceChildren();
        return more();
    }

    async function more() {
        const mine = asked;
        older.disabled = true;
        status.textContent = "Reading…";
        try {
            const records = await recent(mine);
            if (mine !== asked) return;
            list.append(...records.map((record) => recordItem(record)));
            // A range includes its end.
            if (records.length) mine.until = `${records.at(-1).revision - 1}`;
            older.hidden = records.length < pageSize;
            status.textContent = list.children.length ? "" : "No matches.";
        } catch (error) {
            if (mine === asked) status.textContent = error.message;
        }
        older.disabled = false;
    }

    // Runs a verb about the named domain, and shows its output unless it fails.
    async function answer(request, statuses, show) {
        const domain = value("compare-domain");
        if (!domain) return notify("Type a domain.");
        try {
            const { status, output, errors } = await run({ ...request, domain });
            if (!statuses.includes(status)) return outcome.replaceChildren(h("p", { class: "problem" }, errors));
            show(parse(output, true));
            if (errors) outcome.append(h("p", { class: "note" }, errors));
        } catch (error) {
            notify(error.message);
        }
    }

    function difference() {
        return answer({ verb: "diff", since: value("compare-since"), until: value("compare-until") }, [0, 1],
            ({ changes }) => {
            outcome.replaceChildren(changes.length
                ? table(["Key", "Change"], changes.map(({ key, kind, old, new: now }) =>
                [key, change(kind === "added" ? undefined : old, kind === "removed" ? undefined : now)]))
                    : h("p", {}, "Nothing differs."));
        });
    }

    function past() {
        return answer({ verb: "read", at: value("compare-since") }, [0], (held) => {
            const values = Object.entries(held);
            outcome.replaceChildren(values.length
                ? table(["Key", "Value"], values.map(([key, value]) => [key, text(value)]))
                : h("p", {}, "There were no values."));
        });
    }

    return {
        view,
        show() { begin(); },
        update() {},
    };
}
