// The view of all domains and keys: a tree, which is searched as one types, and what is selected in it.

import { button, folded, h, input, words } from "./dom.js";
import { detail } from "./detail.js";
import { identity } from "./model.js";
import { described, shown as shownValue } from "./manifests.js";
import {
    absence, addressOf, isDraft, label, litTime, place, replacement, searched, sortedDomains, sortedKeys, store,
    unsetKeys,
} from "./store.js";
import { visible } from "./values.js";

export function browse(go) {
    let rows = [];
    // The height of a row, which depends on the browser's fonts.
    let rowHeight = 30;
    // The elements of the visible rows, by the domain and the key.
    let elements = new Map();
    // The one timer that draws when the next key's light ends, and how long the drawn ones are lit at least.
    let unlighting = null;
    let lightLeft = Infinity;
    let selected = 0;
    // The tree's scroll position, which an element loses when it is taken out of the page.
    let top = 0;
    let current = { id: null, key: null };
    // Whether a row of the tree is being chosen.
    let isOwn = false;
    // Whether the tree is to show what was chosen elsewhere, which may not have arrived yet.
    let isSought = false;
    const open = new Set();
    // The text typed to find a row, and its time.
    let typed = "";
    let typedAt = -Infinity;

    const search = input({
        type: "search", id: "search", "aria-label": "Search", "aria-controls": "tree",
        placeholder: "Search names, keys and values",
        oninput: () => {
            rows = [];
            rebuild();
            const index = search.value === "" ? rows.findIndex(isCurrent) : -1;
            if (index >= 0) jump(index); else tree.scrollTop = 0;
        },
        onkeydown: (event) => {
            if (event.isComposing) return;
            if (event.key === "ArrowDown") { event.preventDefault(); tree.focus(); }
            // The first domain that is named, or the first key that is found.
            if (event.key === "Enter") activate(rows[0]?.isNamed ? rows[0] : rows[1]);
        },
    });
    const count = h("p", { id: "count", role: "status" });
    const space = h("div", { role: "none", class: "space" });
    const measure = h("div.row.measure", { "aria-hidden": true }, h("span.name", "Ag"), h("span.value", "Ag"));
    const tree = h("div", {
        id: "tree", role: "tree", tabindex: "0", "aria-label": "Domains and keys", onkeydown: onKey,
        onscroll: () => { top = tree.scrollTop; draw(); }, onclick: onClick,
    }, space, measure);
    const side = h("div.side");
    const view = h("section.browse", { "aria-label": "Browse", "data-shows": "list" },
        h("div.list", search, count, tree),
        h("article.detail", { "aria-label": "Selection" },
            button("‹ All domains", () => { go({}); tree.focus(); }, { class: "back" }), side));
    const shown = detail(side, go);
    new ResizeObserver(() => draw()).observe(tree);

    // Finds the rows of the tree: those that match the search, or all.
    function rebuild() {
        const sought = words(search.value);
        const previous = rows[selected];
        rows = [];
        let keyCount = 0;
        let domainCount = 0;
        for (const domain of sortedDomains({ withDescribed: sought.length > 0 })) {
            const name = folded(`${label(domain)} ${domain.name} ${place(domain)} ${domain.host ?? ""}`);
            const isNamed = sought.every((word) => name.includes(word));
            let keys = sortedKeys(domain);
            if (!isNamed) {
                keys = [...keys, ...unsetKeys(domain)].filter((key) =>
                    sought.every((word) => name.includes(word) || searched(domain, key).includes(word)));
                if (keys.length === 0) continue;
            }
            domainCount += 1;
            keyCount += keys.length;
            const isOpen = isNamed ? open.has(domain.id) : true;
            rows.push({ domain, isOpen, isNamed, count: keys.length });
            if (isOpen) keys.forEach((key, index) => rows.push({ domain, key, index, isKey: true,
                count: keys.length }));
        }
        const domains = rows.filter((row) => !row.isKey);
        // Those of one name, which differ in their places, stand together as a group.
        domains.forEach((row, index) => Object.assign(row, { index, size: domains.length,
            isFurther: domains[index - 1]?.domain.name === row.domain.name }));
        const found = previous
            && rows.findIndex((row) => row.domain.id === previous.domain.id && row.key === previous.key);
        if (found >= 0) selected = found;
        selected = Math.max(0, Math.min(selected, rows.length - 1));
        const counted = (number, name) => `${number.toLocaleString()} ${name}${number === 1 ? "" : "s"}`;
        const text = domainCount ? `${counted(keyCount, "key")} in ${counted(domainCount, "domain")}`
            : sought.length ? "No matches." : absence("There are no preferences yet.");
        if (count.textContent !== text) count.textContent = text;
        draw();
    }

    // Draws the visible rows. Elements stay where they are, since a click that began on one must end on it.
    function draw() {
        rowHeight = Math.max(30, measure.offsetHeight);
        space.style.height = `${rows.length * rowHeight}px`;
        const first = Math.max(0, Math.floor(tree.scrollTop / rowHeight) - 4);
        const last = Math.min(rows.length, first + Math.ceil(tree.clientHeight / rowHeight) + 9);
        const indexes = Array.from({ length: Math.max(0, last - first) }, (_, index) => first + index);
        // The selected row is read aloud, so it is drawn even if it is out of sight.
        if (rows.length && (selected < first || selected >= last)) indexes.push(selected);
        const old = elements;
        elements = new Map();
        let next = space.firstChild;
        lightLeft = Infinity;
        for (const index of indexes) {
            const name = JSON.stringify([rows[index].domain.id, rows[index].key]);
            const element = old.get(name) ?? h("div", { role: "treeitem" });
            elements.set(name, element);
            old.delete(name);
            if (element === next) next = next.nextSibling; else space.insertBefore(element, next);
            drawRow(element, rows[index], index);
        }
        for (const element of old.values()) element.remove();
        tree.setAttribute("aria-activedescendant", rows.length ? `row-${selected}` : "");
        clearTimeout(unlighting);
        if (lightLeft < Infinity) unlighting = setTimeout(draw, Math.max(100, lightLeft));
    }

    function drawRow(element, row, index) {
        const { domain, key, isKey } = row;
        const other = isKey ? replacement(domain, key) : undefined;
        const value = isKey ? shownValue(domain.name, key, other ? other.value : domain.values.get(key), 80) : "";
        const parts = isKey
            ? [["name", visible(key)], ["title", described(domain.name, key)?.title ?? ""],
                [other?.reason === "forced" ? "lock" : "place", other?.reason ?? ""],
                ["draft", isDraft(`${domain.id}\n${key}`) ? "not saved" : ""], ["value", value]]
            : [["chevron", row.isOpen ? "▾" : "▸"], ["name", label(domain)],
                ["place", shortPlace(domain), [domain.host, domain.user].filter(Boolean).join(", ")],
                ["damage", domain.damage ? "damaged" : ""], ["count", `${row.count}`]];
        const attributes = {
            id: `row-${index}`, "aria-level": isKey ? 2 : 1, "aria-selected": isCurrent(row),
            "aria-setsize": isKey ? row.count : row.size, "aria-posinset": row.index + 1,
            "aria-expanded": isKey ? null : row.isOpen,
        };
        for (const [name, value] of Object.entries(attributes)) {
            if (value === null) element.removeAttribute(name);
            else if (element.getAttribute(name) !== `${value}`) element.setAttribute(name, value);
        }
        element.classList.add("row", isKey ? "key" : "domain");
        element.classList.toggle("cursor", index === selected);
        element.classList.toggle("further", row.isFurther === true);
        element.style.top = `${index * rowHeight}px`;
        element.style.height = `${rowHeight}px`;
        const shown = parts.filter(([name, text]) => text !== "" || name === "name" || name === "value");
        const names = shown.map(([name]) => name).join(" ");
        if (element.dataset.parts !== names) {
            element.dataset.parts = names;
            element.replaceChildren(...shown.map(([name]) =>
                h("span", { class: name, "aria-hidden": name === "chevron" ? true : null })));
        }
        shown.forEach(([, text, title = text], index) => {
            const part = element.children[index];
            if (part.textContent !== text) part.textContent = text;
            if (part.title !== title) part.title = title;
        });
        const time = (isKey ? domain.lit?.get(key) : row.isOpen ? undefined : domain.litLast) ?? -Infinity;
        const elapsed = performance.now() - time;
        element.classList.toggle("lit", elapsed < litTime);
        if (elapsed < litTime) lightLeft = Math.min(lightLeft, litTime - elapsed);
        if (elapsed < litTime && element.dataset.lit !== `${time}`) {
            element.dataset.lit = time;
            // Another name begins the animation anew.
            element.classList.toggle("again");
            element.style.animationDelay = `${-elapsed}ms`;
        }
    }

    // Returns where a domain is; the rest of a long number says nothing.
    function shortPlace(domain) { return place(domain).replace(/(host .{8}).{4,}/, "$1…"); }

    // MARK: Selecting

    function select(index) {
        selected = Math.max(0, Math.min(index, rows.length - 1));
        const top = selected * rowHeight;
        const below = top + rowHeight - tree.clientHeight;
        tree.scrollTop = Math.max(below, Math.min(top, tree.scrollTop));
        draw();
    }

    // Selects a row from elsewhere: in the upper third, with what follows, unless it is in sight.
    function jump(index) {
        const place = index * rowHeight - tree.scrollTop;
        const isInSight = place >= 0 && place + rowHeight * (rows[index].isKey ? 1 : 4) <= tree.clientHeight;
        if (!isInSight) tree.scrollTop = index * rowHeight - tree.clientHeight / 3;
        select(index);
    }

    function find() {
        if (!isSought) return;
        // Domains that arrive later move it.
        isSought = store.state.name === "reading";
        const index = rows.findIndex(isCurrent);
        if (index >= 0) jump(index);
    }

    function toggle(row, isOpen = !row.isOpen) {
        if (isOpen) open.add(row.domain.id); else open.delete(row.domain.id);
        rebuild();
    }

    // Shows a row beside the tree, by the page's address, so that "back" works.
    function activate(row) {
        if (!row) return;
        isOwn = true;
        go({ ...addressOf(row.domain), key: row.key });
        isOwn = false;
    }

    function onClick(event) {
        const element = event.target.closest("[role=treeitem]");
        if (!element) return;
        const index = Number(element.id.slice("row-".length));
        const row = rows[index];
        select(index);
        const isToggle = !row.isOpen || event.target.className === "chevron" || isCurrent(row);
        if (!row.isKey && isToggle) toggle(row);
        activate(row);
    }

    function isCurrent(row) { return row.domain.id === current.id && (row.key ?? null) === current.key; }

    function onKey(event) {
        const row = rows[selected];
        const page = Math.max(1, Math.floor(tree.clientHeight / rowHeight) - 1);
        const end = rows.length;
        const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -end, End: end };
        if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || !row) return;
        const { key } = event;
        if (key in moves) select(selected + moves[key]);
        else if (key === "ArrowRight" && !row.isKey) row.isOpen ? select(selected + 1) : toggle(row, true);
        else if (key === "ArrowLeft") row.isKey ? select(selected - row.index - 1) : toggle(row, false);
        else if (key === "Enter" || key === " ") {
            if (!row.isKey && !row.isOpen) toggle(row, true);
            activate(row);
        } else if (key === "/") search.focus();
        else if (key.length === 1) seek(key);
        else return;
        event.preventDefault();
    }

    // Selects the next row whose name begins with what was typed within a second.
    function seek(key) {
        const now = performance.now();
        typed = now - typedAt < 1000 ? typed + key : key;
        typedAt = now;
        const start = typed.length > 1 ? selected : selected + 1;
        const begins = ({ domain, key }) =>
            folded(key === undefined ? label(domain) : visible(key)).startsWith(folded(typed));
        for (let step = 0; step < rows.length; step += 1) {
            const index = (start + step) % rows.length;
            if (begins(rows[index])) return select(index);
        }
    }

    return {
        view,
        // Shows what the page's address names.
        show(place) {
            const former = current;
            current = { id: place.domain ? identity(place) : null, key: place.key ?? null };
            view.dataset.shows = current.id ? "detail" : "list";
            if (current.id) open.add(current.id);
            shown.show(current.id, current.key);
            rebuild();
            tree.scrollTop = top;
            isSought = !isOwn && (former.id !== current.id || former.key !== current.key);
            find();
            draw();
        },
        update(update) {
            if (!view.isConnected) return;
            if (update.isReset || update.domains.size) {
                rebuild();
                find();
            } else draw();
            shown.update(update);
        },
    };
}
