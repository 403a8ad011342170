// The view of all domains and keys: a tree, which is searched as one types, and what is selected in it.

import { h } from "./dom.js";
import { detail } from "./detail.js";
import { forced, label, place, searched, sortedDomains, sortedKeys, store } from "./store.js";
import { text } from "./values.js";

const rowHeight = 30;
// The time for which a changed key is lit, in milliseconds.
const litTime = 3000;

export function browse(go) {
    let rows = [];
    // The elements of the visible rows, by the domain and the key.
    let elements = new Map();
    let selected = 0;
    let current = { id: null, key: null };
    const open = new Set();

    const search = h("input", {
        type: "search", id: "search", placeholder: "Search names, keys and values", autocomplete: "off",
        spellcheck: "false", "aria-controls": "tree",
        oninput: () => { selected = 0; rebuild(); tree.scrollTop = 0; },
        onkeydown: (event) => {
            if (event.key === "ArrowDown") { event.preventDefault(); tree.focus(); }
            if (event.key === "Enter" && rows.length) { activate(rows[Math.min(selected, rows.length - 1)]); }
        },
    });
    const count = h("p", { id: "count", role: "status" });
    const space = h("div", { role: "none", class: "space" });
    const tree = h("div", {
        id: "tree", role: "tree", tabindex: "0", "aria-label": "Domains and keys", onkeydown: onKey,
        onscroll: () => draw(), onclick: onClick,
    }, space);
    const side = h("div", { class: "side" });
    const view = h("section", { class: "browse", "aria-label": "Browse", "data-shows": "list" },
        h("div", { class: "list" }, h("label", { for: "search", class: "hidden" }, "Search"), search, count, tree),
        h("article", { class: "detail", "aria-label": "Selection" },
            h("button", { type: "button", class: "back", onclick: () => { go({}); tree.focus(); } }, "‹ All domains"),
            side));
    const shown = detail(side, go);
    new ResizeObserver(() => draw()).observe(tree);

    // Finds the rows of the tree: those that match the search, or all.
    function rebuild() {
        const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
        const previous = rows[selected];
        rows = [];
        let keyCount = 0;
        let domainCount = 0;
        for (const domain of sortedDomains()) {
            const name = `${label(domain)} ${place(domain)}`.toLowerCase();
            const isNamed = words.every((word) => name.includes(word));
            let keys = sortedKeys(domain);
            if (!isNamed) {
                keys = keys.filter((key) =>
                    words.every((word) => name.includes(word) || searched(domain, key).includes(word)));
                if (keys.length === 0) continue;
            }
            domainCount += 1;
            keyCount += keys.length;
            const isOpen = isNamed ? open.has(domain.id) : true;
            rows.push({ domain, isOpen, count: keys.length });
            if (isOpen) keys.forEach((key, index) => rows.push({ domain, key, index, count: keys.length }));
        }
        const found = previous
            && rows.findIndex((row) => row.domain.id === previous.domain.id && row.key === previous.key);
        if (found >= 0) selected = found;
        selected = Math.max(0, Math.min(selected, rows.length - 1));
        const counted = (number, name) => `${number.toLocaleString()} ${name}${number === 1 ? "" : "s"}`;
        count.textContent = domainCount ? `${counted(keyCount, "key")} in ${counted(domainCount, "domain")}`
            : store.state.name === "reading" ? "Reading…" : words.length ? "No matches."
                : "There are no preferences yet.";
        space.style.height = `${rows.length * rowHeight}px`;
        draw();
    }

    // Draws the rows that are visible. Elements stay where they are, since a click that began on one must end on it.
    function draw() {
        const first = Math.max(0, Math.floor(tree.scrollTop / rowHeight) - 4);
        const last = Math.min(rows.length, first + Math.ceil(tree.clientHeight / rowHeight) + 9);
        const old = elements;
        elements = new Map();
        let next = space.firstChild;
        for (let index = first; index < last; index += 1) {
            const name = `${rows[index].domain.id} ${rows[index].key === undefined ? "" : `/${rows[index].key}`}`;
            const element = old.get(name) ?? h("div", { role: "treeitem" });
            elements.set(name, element);
            old.delete(name);
            if (element === next) next = next.nextSibling; else space.insertBefore(element, next);
            drawRow(element, rows[index], index);
        }
        for (const element of old.values()) element.remove();
        if (rows.length) tree.setAttribute("aria-activedescendant", `row-${selected}`);
        else tree.removeAttribute("aria-activedescendant");
    }

    function drawRow(element, row, index) {
        const { domain, key } = row;
        const isKey = key !== undefined;
        const lock = isKey ? forced(domain, key) : null;
        const parts = isKey
            ? [["name", key], ["lock", lock ? "forced" : ""],
                ["value", text(lock ? lock.value : domain.values.get(key), 80)]]
            : [["chevron", row.isOpen ? "▾" : "▸"], ["name", label(domain)], ["place", place(domain)],
                ["damage", domain.damage ? "damaged" : ""], ["count", `${row.count}`]];
        const attributes = {
            id: `row-${index}`, "aria-level": isKey ? 2 : 1,
            "aria-selected": index === selected, "aria-setsize": isKey ? row.count : null,
            "aria-posinset": isKey ? row.index + 1 : null, "aria-expanded": isKey ? null : row.isOpen,
        };
        for (const [name, value] of Object.entries(attributes)) {
            if (value === null) element.removeAttribute(name);
            else if (element.getAttribute(name) !== `${value}`) element.setAttribute(name, value);
        }
        element.classList.add("row", isKey ? "key" : "domain");
        element.style.top = `${index * rowHeight}px`;
        const shown = parts.filter(([name, text]) => text !== "" || name === "name" || name === "value");
        const names = shown.map(([name]) => name).join(" ");
        if (element.dataset.parts !== names) {
            element.dataset.parts = names;
            element.replaceChildren(...shown.map(([name]) =>
                h("span", { class: name, "aria-hidden": name === "chevron" ? true : null })));
        }
        shown.forEach(([, text], index) => {
            if (element.children[index].textContent !== text) element.children[index].textContent = text;
        });
        const times = isKey ? [domain.lit?.get(key)] : row.isOpen ? [] : [...domain.lit?.values() ?? []];
        const time = Math.max(-Infinity, ...times.filter((time) => time !== undefined));
        const elapsed = performance.now() - time;
        element.classList.toggle("lit", elapsed < litTime);
        if (elapsed < litTime && element.dataset.lit !== `${time}`) {
            element.dataset.lit = time;
            // Another name begins the animation anew.
            element.classList.toggle("again");
            element.style.animationDelay = `${-elapsed}ms`;
        }
    }

    // MARK: Selecting

    function select(index) {
        selected = Math.max(0, Math.min(index, rows.length - 1));
        const top = selected * rowHeight;
        const below = top + rowHeight - tree.clientHeight;
        tree.scrollTop = Math.max(below, Math.min(top, tree.scrollTop));
        draw();
    }

    function toggle(row, isOpen = !row.isOpen) {
        if (isOpen) open.add(row.domain.id); else open.delete(row.domain.id);
        rebuild();
    }

    // Shows a row beside the tree, by the page's address, so that "back" works.
    function activate(row) { if (row) go({ domain: row.domain.name, host: row.domain.host, user: row.domain.user,
        key: row.key }); }

    function onClick(event) {
        const element = event.target.closest("[role=treeitem]");
        if (!element) return;
        const index = Number(element.id.slice("row-".length));
        const row = rows[index];
        select(index);
        if (row.key === undefined
            && (!row.isOpen || event.target.classList.contains("chevron") || isCurrent(row))) toggle(row);
        activate(row);
    }

    function isCurrent(row) { return row.domain.id === current.id && (row.key ?? null) === current.key; }

    function onKey(event) {
        const row = rows[selected];
        const page = Math.max(1, Math.floor(tree.clientHeight / rowHeight) - 1);
        const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows.length,
            End: rows.length };
        if (event.ctrlKey || event.metaKey || event.altKey || !row) return;
        if (event.key in moves) select(selected + moves[event.key]);
        else if (event.key === "ArrowRight" && row.key === undefined) row.isOpen ? select(selected + 1)
            : toggle(row, true);
        else if (event.key === "ArrowLeft" && row.key === undefined) { if (row.isOpen) toggle(row, false); }
        else if (event.key === "ArrowLeft") select(selected - row.index - 1);
        else if (event.key === "Enter" || event.key === " ") {
            if (row.key === undefined && !row.isOpen) toggle(row, true);
            activate(row);
        } else if (event.key === "/") search.focus();
        else return;
        event.preventDefault();
    }

    return {
        view,
        // Shows what the page's address names.
        show(place) {
            rebuild();
            current = { id: place.domain ? JSON.stringify([place.domain, place.host ?? "", place.user ?? ""]) : null,
                key: place.key ?? null };
            view.dataset.shows = current.id ? "detail" : "list";
            if (current.id && !open.has(current.id)) {
                open.add(current.id);
                rebuild();
            }
            const index = rows.findIndex(isCurrent);
            if (index >= 0) select(index);
            shown.show(current.id, current.key, place);
        },
        update(update) {
            if (!view.isConnected) return;
            if (update.isReset || search.value || update.domains.size) rebuild();
            else draw();
            shown.update(update);
        },
    };
}
