// The view of changes as they happen.

import { button, h } from "./dom.js";
import { recordItem, writer } from "./records.js";
import { store } from "./store.js";
import { text } from "./values.js";

// The number of events that are shown.
const shownLimit = 200;

export function changes() {
    // The events that are shown while the list is paused.
    let paused = null;
    let missed = 0;
    const filter = h("input",
        { type: "search", id: "filter", placeholder: "Only with these words", autocomplete: "off",
        oninput: () => redraw() });
    const pause = button("Pause", () => {
        paused = paused ? null : [...store.feed];
        pause.setAttribute("aria-pressed", `${paused !== null}`);
        missed = 0;
        redraw();
    }, { "aria-pressed": "false" });
    const status = h("p", { role: "status", class: "count" });
    const list = h("ul", { class: "records feed", "aria-label": "Changes, newest first" });
    const view = h("section", { class: "page", "aria-label": "Changes" }, h("h2", {}, "Changes"),
        h("div", { class: "fields" }, h("label", { for: "filter", class: "hidden" }, "Filter"), filter, pause), status,
            list);

    function matches(event) {
        const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
        if (!words.length) return true;
        const all = [event.type, event.domain, writer(event),
            ...(event.changes ?? []).flatMap((change) => [change.key, text(change.old), text(change.new)])];
        const joined = all.join(" ").toLowerCase();
        return words.every((word) => joined.includes(word));
    }

    function redraw() {
        list.replaceChildren(...(paused ?? store.feed).filter(matches).slice(-shownLimit).reverse().map((event) =>
            recordItem(event)));
        state();
    }

    function state() {
        status.textContent = paused ? `Paused. ${missed} more since.`
            : store.feed.length ? ""
                : "Nothing has changed since this page was opened. Earlier changes are in the history.";
    }

    return {
        view,
        show() { redraw(); },
        // Called also while another view is shown.
        update(update) {
            if (paused) {
                missed += update.events.filter(matches).length;
                return state();
            }
            if (!view.isConnected) return;
            const items = update.events.filter(matches).slice(-shownLimit).map((event) => recordItem(event));
            list.prepend(...items.reverse());
            for (const item of items) item.classList.add("lit");
            while (list.children.length > shownLimit) list.lastChild.remove();
            state();
        },
    };
}
