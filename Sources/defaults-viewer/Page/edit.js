// The editor of a value, for each type.

import { button, h, notify } from "./dom.js";
import { ask } from "./model.js";
import { areSame, editable, packed, read, text, typeNames, typeOf, unpacked } from "./values.js";

const types = ["string", "boolean", "integer", "real", "date", "data", "array", "dictionary"];
const empty = { string: "", boolean: "false", integer: "0", real: "0", date: "", data: "", array: "[]",
    dictionary: "{}" };

// Sends an edit that applies only if the keys have the values that were shown; throws if another program has changed
// them.
export async function send(domain, { set = {}, remove = [], expected = {}, absent = [] }) {
    const request = { type: "edit", domain: domain.name, host: domain.host, set: packed(set), remove };
    try {
        return await ask({ ...request, expected: packed(expected), absent });
    } catch (error) {
        if (error.code !== "changed") throw error;
        // In JSON, a real of 32 bits looks like one of 64, which is another value. If everything looks as it was shown,
        // nobody has changed it.
        const now = await valuesNow(domain, [...Object.keys(expected), ...absent]);
        const isSame = Object.keys(expected).every((key) => areSame(now.get(key), expected[key]));
        if (!isSame || absent.some((key) => now.has(key))) throw error;
        return ask(request);
    }
}

// Returns the current values of keys.
async function valuesNow(domain, keys) {
    const { values } = await ask({ type: "read", domain: domain.name, host: domain.host, keys });
    return new Map(unpacked(values));
}

// Returns a form that edits a value of a key, and a function to call when the value has changed elsewhere.
//
// `value` is undefined for a new key, whose name the function `name` returns.
export function editor(domain, { key, value, name = () => key, done = () => {} }) {
    let shown = value;
    let isDirty = false;
    const type = h("select", { "aria-label": "Type", onchange: () => { convert(); draw(); } },
        types.map((type) => h("option", { value: type }, typeNames[type])));
    const control = h("div", { class: "control" });
    const problem = h("p", { class: "problem", role: "alert", hidden: true });
    const conflict = h("div", { class: "conflict", role: "alert", hidden: true });
    const save = button("Save", () => submit(), { class: "main" });
    const revert = button("Revert", () => { isDirty = false; reset(); });
    const form = h("form", { class: "editor", onsubmit: (event) => { event.preventDefault(); submit(); } },
        h("div", { class: "fields" }, type, control), problem, conflict,
            h("p", { class: "buttons" }, save, value === undefined ? null : revert));
    let field;

    // Draws the control of the chosen type, with a text.
    function draw(typed = field?.dataset.typed ?? "") {
        const change = () => { field.dataset.typed = textOf(); isDirty = true; state(); };
        const label = { "aria-label": "Value" };
        switch (type.value) {
            case "boolean":
                field = h("input", { type: "checkbox", role: "switch", ...label,
                    onchange: () => { change(); if (value !== undefined) submit(); } });
                field.checked = /^(true|yes|1)$/i.test(typed);
                break;
            case "integer": case "real":
                field = h("input", { type: "text", inputmode: "decimal", ...label, value: typed, oninput: change });
                break;
            case "date":
                field = h("input", { type: "text", placeholder: "2026-11-27T10:15:00Z", ...label, value: typed,
                    oninput: change });
                break;
            default:
                field = h("textarea",
                    { rows: Math.min(16, Math.max(2, typed.split("\n").length)), spellcheck: "false", ...label,
                    value: typed, oninput: change, onkeydown: (event) => {
                        if (event.key === "Enter"
                            && (event.ctrlKey || event.metaKey)) { event.preventDefault(); submit(); }
                    } });
        }
        field.dataset.typed = typed;
        control.replaceChildren(field);
        state();
    }

    function textOf() { return field.type === "checkbox" ? `${field.checked}` : field.value; }

    // Keeps what was typed if the new type can read it.
    function convert() {
        isDirty = true;
        let typed = textOf();
        try { read(typed, type.value); } catch { typed = empty[type.value]; }
        field.dataset.typed = typed;
    }

    function reset() {
        const now = shown === undefined ? "string" : typeOf(shown);
        if (now === "uid") {
            form.replaceChildren(h("p", {}, text(shown)));
            return;
        }
        type.value = now;
        conflict.hidden = true;
        draw(shown === undefined ? "" : editable(shown));
    }

    function state() {
        save.disabled = value !== undefined && !isDirty;
        revert.disabled = !isDirty;
        problem.hidden = true;
        field.removeAttribute("aria-invalid");
    }

    async function submit() {
        let wanted;
        const key = name();
        try {
            if (!key) throw new Error("Type a key.");
            wanted = read(textOf(), type.value);
        } catch (error) {
            complain(error.message);
            field.setAttribute("aria-invalid", "true");
            return;
        }
        const condition = shown === undefined ? { absent: [key] } : { expected: { [key]: shown } };
        try {
            await send(domain, { set: { [key]: wanted }, ...condition });
            isDirty = false;
            shown = wanted;
            if (value !== undefined) reset();
            notify(`${key} is ${text(wanted, 60)} now.`);
            done(key);
        } catch (error) {
            if (error.code === "changed") return decide(key, wanted);
            complain(error.message);
        }
    }

    function complain(reason) {
        problem.textContent = reason;
        problem.hidden = false;
    }

    // Shows both values, and lets the user decide. Each choice applies to the value that is shown here.
    async function decide(key, wanted) {
        let theirs;
        try { theirs = (await valuesNow(domain, [key])).get(key); } catch (error) { return complain(error.message); }
        const keep = () => {
            [shown, isDirty] = [theirs, false];
            if (value !== undefined) reset(); else if (theirs !== undefined) done(key);
        };
        const set = () => {
            shown = theirs;
            conflict.hidden = true;
            submit();
        };
        conflict.replaceChildren(
            h("p", {}, "Another program has changed this key: its value is ", h("code", {}, text(theirs)),
                " now. Yours is ", h("code", {}, text(wanted)), "."),
            h("p", { class: "buttons" }, button("Keep theirs", keep), button("Set mine", set)));
        conflict.hidden = false;
        problem.hidden = true;
    }

    reset();
    return {
        form,
        get isDirty() { return isDirty; },
        // Shows a new value, or says that there is one: what was typed stays.
        update(now) {
            if (areSame(now, shown)) return;
            if (!isDirty) {
                shown = now;
                if (now !== undefined) reset();
            } else if (conflict.hidden) {
                complain(now === undefined ? "Meanwhile, the key was removed."
                    : `Meanwhile, the value was set to ${text(now, 60)}.`);
            }
        },
    };
}
