// The view of changes as they happen.

import { announce, button, folded, h, input, words } from "./dom.js";
import { shown } from "./manifests.js";
import { recordItem, writer } from "./records.js";
import { litTime, store } from "./store.js";

// The number of events that are shown.
const shownLimit = 200;

export function changes() {
    // The events that are shown while the list is paused.
    let paused = null;
    // The number of the last event that is shown, and of all that match.
    let seen = 0;
    let found = 0;
    const filter = input({ type: "search", id: "filter", "aria-label": "Filter", placeholder: "Filter",
        oninput: () => redraw() });
    const pause = button("Pause", () => {
        paused = paused ? null : [...store.feed];
        seen = store.total;
        pause.setAttribute("aria-pressed", `${paused !== null}`);
        redraw();
    }, { "aria-pressed": "false" });
    const status = h("p.count", { role: "status" });
    const list = h("ul.records.feed", { "aria-label": "Changes, newest first" });
    const view = h("section.page", { "aria-label": "Changes" }, h("h2", "Changes"),
        h("div.fields", filter, pause), status, list);

    function matches(event) {
        const sought = words(filter.value);
        if (!sought.length) return true;
        event.searched ??= folded([event.type, event.domain, writer(event),
            ...(event.changes ?? []).flatMap(({ key, old, new: now }) =>
                [key, shown(event.domain, key, old), shown(event.domain, key, now)])].join(" "));
        return sought.every((word) => event.searched.includes(word));
    }

    // Returns the matching events after those that have been seen.
    const fresh = () => store.feed.slice(Math.max(0, store.feed.length - (store.total - seen))).filter(matches);

    function redraw() {
        const all = (paused ?? store.feed).filter(matches);
        list.replaceChildren(...all.slice(-shownLimit).reverse().map((event) => recordItem(event)));
        found = all.length;
        if (!paused) seen = store.total;
        state();
    }

    function state() {
        const missed = paused ? fresh().length : 0;
        const total = store.feed.length;
        announce(status, [
            paused && `Paused: ${missed.toLocaleString()} new ${missed === 1 ? "change" : "changes"}.`,
            found > shownLimit && `The newest ${shownLimit} of ${found.toLocaleString()} are shown.`,
            store.total > total && `Changes before the newest ${total.toLocaleString()} are in the history only.`,
            !found && !paused && total && "No matches.",
            !paused && !total && "Nothing has changed since this page was opened. Earlier changes are in the history.",
        ].filter(Boolean).join(" "));
    }

    return {
        view,
        show() { redraw(); },
        // Called also while another view is shown.
        update() {
            if (paused) return state();
            if (!view.isConnected) return;
            const all = fresh();
            found = Math.min(store.feed.length, found + all.length);
            seen = store.total;
            const items = all.slice(-shownLimit).map((event) => recordItem(event));
            list.prepend(...items.reverse());
            for (const item of items) item.classList.add("lit");
            // Without motion, the light would stay.
            setTimeout(() => { for (const item of items) item.classList.remove("lit"); }, litTime);
            // An item with the focus stays.
            for (const item of [...list.children].slice(shownLimit)) {
                if (!item.contains(document.activeElement)) item.remove();
            }
            state();
        },
    };
}
