// The outline of a dictionary or a list, in which its elements are edited in place.

import { button, h, input } from "./dom.js";
import {
    converted, editable, json, packed, read, scalar, text, typeName, typeOf, types, unpacked, visible,
} from "./values.js";

// The number of rows that are drawn at first, and by each request for more.
const rowLimit = 300;
// The number of edits that can be undone.
const undoLimit = 100;

const isList = ({ type }) => type === "array";
const isContainer = ({ type }) => type === "array" || type === "dictionary";

// Creates an element of the outline from a value. Its `value` is what it had at first, until it is edited as text:
// text can't represent some values exactly.
function element(value, name) {
    const type = typeOf(value);
    const parts = type === "array" ? value.map((part) => element(part))
        : type === "dictionary" ? unpacked(value).sort(([a], [b]) => a < b ? -1 : 1)
            .map(([name, part]) => element(part, name)) : undefined;
    return parts ? { name, type, parts } : { name, type, value, typed: editable(value) };
}

// Calls a function with all lists and dictionaries in one, and the path to each.
function visit(parent, act, path = []) {
    parent.parts.forEach((one, index) => {
        if (!isContainer(one)) return;
        const way = [...path, one.name ?? index];
        act(one, JSON.stringify(way));
        visit(one, act, way);
    });
}

// Returns the value of an element, with the typed text in place of each invalid value. Calls a function with the
// element, the reason, and the column for each.
function valueOf(one, complain = () => {}) {
    if (isList(one)) return one.parts.map((part) => valueOf(part, complain));
    if (isContainer(one)) {
        const names = new Set();
        for (const part of one.parts) {
            if (names.has(part.name)) complain(part, `The key “${visible(part.name)}” is there twice.`, 0);
            names.add(part.name);
        }
        return packed(Object.fromEntries(one.parts.map((part) => [part.name, valueOf(part, complain)])));
    }
    if (one.value !== undefined) return one.value;
    try { return scalar(one.typed, one.type); } catch (error) {
        complain(one, error.message, 2);
        return one.typed;
    }
}

// Returns the elements in one that were typed as dates.
function datesIn(one) {
    return isContainer(one) ? one.parts.flatMap(datesIn) : one.type === "date" && one.value === undefined ? [one] : [];
}

// Returns what was typed in a field for a text that had other line ends, which a field can't hold.
export function withLineEnds(former, typed) {
    if (!former.includes("\r")) return typed;
    if (typed === former.replace(/\r\n?/g, "\n")) return former;
    return /^([^\r\n]|\r\n)*$/.test(former) ? typed.replaceAll("\n", "\r\n") : typed;
}

// Returns an element that edits a dictionary or a list. Its function `read` returns the value as JSON, and `check`
// throws an Error if an element is wrong. `place` is that of a former outline of the same key.
export function outline(value, attributes, former) {
    let root = element(value);
    const { open = new Set(), index: start = 0, column: startColumn = 2 } = former?.() ?? {};
    visit(root, (one, way) => { one.isOpen = open.has(way); });
    // The rows that are drawn: elements with the one that has them, and how deep they are.
    let rows = [];
    let shown = rowLimit;
    let current = start;
    let column = startColumn;
    // Earlier and later states, and the field in which is being typed.
    let past = [];
    let future = [];
    let typing = null;
    const body = h("div", { role: "rowgroup" });
    const undoButton = button("Undo", () => restore(past, future), { title: "Ctrl-Z" });
    const redoButton = button("Redo", () => restore(future, past), { title: "Ctrl-Shift-Z" });
    const grid = h("div.grid",
        { role: "treegrid", "aria-label": "Contents", onkeydown: onKey, onfocusin: onFocus }, body);
    const field = h("div.outline", attributes, grid, h("p.buttons.quiet",
        button("Add", () => add(root)), undoButton, redoButton));
    field.read = () => json(valueOf(root));
    field.check = async () => {
        const fail = (one, message, column) => {
            show(one, column);
            throw new Error(one.name === undefined ? message : `${visible(one.name)}: ${message}`);
        };
        valueOf(root, fail);
        for (const one of datesIn(root)) {
            const error = await read(one.typed, "date").then(() => null, (error) => error);
            if (error?.isLost) throw error;
            if (error) fail(one, error.message, 2);
        }
    };
    field.focus = () => focusRow(current, column);
    field.place = () => {
        const open = new Set();
        visit(root, (one, way) => { if (one.isOpen) open.add(way); });
        return { open, index: current, column };
    };

    // MARK: Edits

    // Remembers the state before an edit; typing in one field is one edit.
    function remember(field = null) {
        if (field && typing === field) return;
        typing = field;
        past.push(structuredClone(root));
        if (past.length > undoLimit) past.shift();
        future = [];
    }

    function restore(from, to) {
        if (!from.length) return;
        to.push(structuredClone(root));
        root = from.pop();
        typing = null;
        edited();
        focusRow(current);
    }

    // Tells the editor, and draws what has changed.
    function edited(isDrawn = false) {
        if (!isDrawn) draw();
        state();
        field.dispatchEvent(new Event("input", { bubbles: true }));
    }

    function add(parent) {
        remember();
        let name = "new";
        for (let number = 2; parent.parts.some((one) => one.name === name); number += 1) name = `new ${number}`;
        const made = { name: isList(parent) ? undefined : name, type: "string", typed: "" };
        parent.parts.push(made);
        parent.isOpen = true;
        edited();
        show(made);
    }

    function remove({ one, parent }) {
        remember();
        parent.parts.splice(parent.parts.indexOf(one), 1);
        edited();
        focusRow(current);
    }

    // Moves an element within its list.
    function move({ one, parent }, step) {
        const index = parent.parts.indexOf(one);
        if (!isList(parent) || !parent.parts[index + step]) return;
        remember();
        parent.parts.splice(index, 1);
        parent.parts.splice(index + step, 0, one);
        edited();
        show(one);
    }

    function change(one, type) {
        remember();
        const typed = isContainer(one) ? "" : one.typed;
        const [name, from] = [one.name, one.type];
        for (const key of Object.keys(one)) delete one[key];
        if (/array|dictionary/.test(type)) {
            Object.assign(one, element(type === "array" ? [] : {}, name), { isOpen: true });
        } else {
            const begun = converted(typed, isContainer({ type: from }) ? "string" : from, type);
            Object.assign(one, { name, type, typed: begun });
        }
        edited();
        focusRow(current);
    }

    function toggle(one, isOpen = !one.isOpen) {
        one.isOpen = isOpen;
        draw();
        focusRow(current);
    }

    function type(one, typed, field = null) {
        remember(field);
        Object.assign(one, { typed, value: undefined });
        edited(true);
    }

    // MARK: Rows

    function find() {
        rows = [];
        const collect = (parent, level) => parent.parts.forEach((one, index) => {
            rows.push({ one, parent, level, index });
            if (one.isOpen) collect(one, level + 1);
        });
        collect(root, 1);
    }

    function draw() {
        find();
        current = Math.max(0, Math.min(current, rows.length - 1));
        const more = rows.length > shown ? [button(`Show ${rows.length - shown} more`, () => {
            shown += rowLimit;
            draw();
        })] : [];
        body.replaceChildren(...rows.slice(0, shown).map(drawRow));
        if (!rows.length) body.append(h("div", { role: "row" },
            h("span.note", { role: "gridcell" }, isList(root) ? "The array is empty." : "The dictionary is empty.")));
        grid.nextSibling?.querySelector(".more")?.remove();
        for (const one of more) { one.classList.add("more"); grid.nextSibling.append(one); }
        setTabs();
    }

    function drawRow(row, index) {
        const { one, parent, level } = row;
        const label = isList(parent) ? `Element ${row.index + 1}` : visible(one.name);
        const isOpen = isContainer(one) ? one.isOpen === true : null;
        const name = isList(parent) ? h("span.index", `${row.index + 1}`)
            : input({ value: one.name, class: "name", "aria-label": `Key ${label}`, oninput: (event) => {
                remember(event.target);
                one.name = event.target.value;
                edited(true);
            } });
        // A field drops line ends.
        if (!isList(parent) && /[\r\n]/.test(one.name)) {
            name.readOnly = true;
            name.value = visible(one.name);
        }
        const menu = h("select", { "aria-label": `Type of ${label}`, disabled: one.type === "uid",
            onchange: (event) => change(one, event.target.value) },
        [...types, ...(one.type === "uid" ? ["uid"] : [])].map((type) =>
            h("option", { value: type, selected: type === one.type }, typeName(type))));
        const actions = [
            isContainer(one) ? button("Add", () => add(one), { "aria-label": `Add to ${label}` }) : null,
            ...(isList(parent) ? [
                button("↑", () => move(row, -1), { "aria-label": `Move ${label} up`, disabled: row.index === 0 }),
                button("↓", () => move(row, 1), { "aria-label": `Move ${label} down`,
                    disabled: row.index === parent.parts.length - 1 }),
            ] : []),
            button("×", () => remove(row), { "aria-label": `Remove ${label}` }),
        ];
        const chevron = isContainer(one) ? button(isOpen ? "▾" : "▸", () => toggle(one),
            { class: "chevron", "aria-label": `${isOpen ? "Close" : "Open"} ${label}` }) : h("span.chevron");
        const cells = [[chevron, name], [menu], [drawValue(one, label)], actions];
        const attributes = { role: "row", "aria-level": level, "aria-expanded": isOpen, "data-index": index,
            "data-level": Math.min(level, 8) };
        return h("div.entry", attributes,
            cells.map((cell, column) => h("span", { role: "gridcell", class: "cell", "data-column": column }, cell)));
    }

    function drawValue(one, label) {
        const attributes = { "aria-label": `Value of ${label}` };
        if (isContainer(one)) {
            const count = one.parts.length;
            return h("span.note", isList(one) ? `${count} ${count === 1 ? "element" : "elements"}`
                : `${count} ${count === 1 ? "key" : "keys"}`);
        }
        if (one.type === "uid" || one.typed.length > 20_000) return h("code", text(one.value ?? one.typed, 60));
        if (one.type === "boolean") {
            return h("input", { type: "checkbox", role: "switch", ...attributes, checked: one.typed === "true",
                onchange: (event) => type(one, `${event.target.checked}`) });
        }
        if (one.type !== "string") {
            return input({ ...attributes, value: one.typed, oninput: (event) => {
                event.target.removeAttribute("aria-invalid");
                type(one, event.target.value, event.target);
            } });
        }
        const former = one.typed;
        return h("textarea", { rows: Math.min(6, former.split("\n").length), spellcheck: "false", ...attributes,
            value: former, oninput: (event) => {
                event.target.rows = Math.min(6, event.target.value.split("\n").length);
                type(one, withLineEnds(former, event.target.value), event.target);
            } });
    }

    function state() {
        undoButton.disabled = !past.length;
        redoButton.disabled = !future.length;
    }

    // MARK: Keyboard

    // Only the controls of one row are reached with Tab.
    function setTabs() {
        for (const row of body.children) {
            const tabIndex = Number(row.dataset.index) === current ? 0 : -1;
            for (const one of row.querySelectorAll("button, input, select, textarea")) one.tabIndex = tabIndex;
        }
    }

    function onFocus(event) {
        const row = event.target.closest(".entry");
        if (!row) return;
        column = columnOf(event.target);
        if (Number(row.dataset.index) === current) return;
        current = Number(row.dataset.index);
        setTabs();
    }

    function columnOf(control) { return Number(control.closest(".cell").dataset.column); }

    // Focuses a row's control in a column, or its first one.
    function focusRow(index, column = 2) {
        current = Math.max(0, Math.min(index, rows.length - 1));
        while (current >= shown) shown += rowLimit;
        if (current >= body.children.length) draw();
        setTabs();
        const row = body.children[current];
        const found = row?.querySelector(`[data-column="${column}"] :is(button, input, select, textarea)`)
            ?? row?.querySelector("button, input");
        (found ?? field.querySelector(".buttons button"))?.focus();
        return found;
    }

    // Opens what an element is in, and focuses its control in a column: its name if it is new, or else its value.
    function show(one, column = one.name !== undefined && one.typed === "" ? 0 : 2) {
        const open = (parent) => parent.parts.some((part) => {
            const isFound = part === one || part.parts !== undefined && open(part);
            if (isFound && parent !== root) parent.isOpen = true;
            return isFound;
        });
        open(root);
        draw();
        focusRow(rows.findIndex((row) => row.one === one), column);
        const name = column === 0 ? body.children[current]?.querySelector(".name") : null;
        name?.focus();
        name?.select();
    }

    function onKey(event) {
        if (event.isComposing) return;
        const { target, key } = event;
        const row = target.closest(".entry");
        const command = event.ctrlKey || event.metaKey;
        if (command && key === "Enter") field.closest("form").requestSubmit();
        else if (command && key.toLowerCase() === "z") {
            if (event.shiftKey) restore(future, past); else restore(past, future);
        } else if (command && key.toLowerCase() === "y") restore(future, past);
        else if (!row || command) return;
        else if (/^Arrow(Up|Down)$/.test(key)) {
            const step = key === "ArrowUp" ? -1 : 1;
            const { one, parent } = rows[current];
            // There, the arrows have a meaning of their own.
            const isOwn = target.localName === "select"
                || target.localName === "textarea" && target.value.includes("\n");
            if (event.altKey) move({ one, parent }, step);
            else if (isOwn) return;
            else if (rows[current + step]) focusRow(current + step, columnOf(target));
        } else if (/^Arrow(Left|Right)$/.test(key) && isContainer(rows[current].one) && target.matches(".chevron")) {
            toggle(rows[current].one, key === "ArrowRight");
            focusRow(current, 0);
        } else if (key === "Enter" && target.localName === "input") {
            // Enter would save; here it goes on.
            if (rows[current + 1]) focusRow(current + 1, columnOf(target));
        } else return;
        event.preventDefault();
    }

    draw();
    state();
    return field;
}
