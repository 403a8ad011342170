// The editor of a value, for each type.

import { beginning, differences, excerpts, merged, pathText, whole as inFull } from "./difference.js";
import { announce, button, form, h, input, notify, redraw, table } from "./dom.js";
import { described, isSecret, shown as secretly } from "./manifests.js";
import { revision } from "./model.js";
import { outline, withLineEnds } from "./outline.js";
import { save as saveFile } from "./profiles.js";
import { send, valuesNow } from "./send.js";
import { parse } from "./server.js";
import { receive, store } from "./store.js";
import { areSame, converted, editable, read, text, typeOf, types, visible } from "./values.js";

// The length of a text above which typing in a field would be slow.
const largest = 1_000_000;
// The number of differences that are shown of a conflict.
const shownDifferences = 12;

// Returns whether JSON contains null, which isn't a value.
function hasNull(value) {
    return value === null || typeof value === "object" && Object.values(value).some(hasNull);
}

// Returns a form that edits a value of a key, and a function to call when the value has changed elsewhere.
//
// `value` is undefined for a new key, whose name the function `name` returns.
export function editor(domain, { key, value, name = () => key, done = () => {} }) {
    const isNew = value === undefined;
    let shown = value;
    let latest = value;
    let isDirty = false;
    // Whether a dictionary or a list is edited as JSON.
    let isJSON = false;
    // The text typed last, and its type: other types begin with it.
    let original;
    // The form's initial text.
    let begun;
    // The value that is being saved, whether to save once more, and the number of the change that was last seen here:
    // values from before it may still arrive.
    let saving = null;
    let isQueued = false;
    let awaited = 0;
    // The conflict that the user decides, if another program was quicker.
    let asked = null;
    const type = h("select", { "aria-label": "Type", onchange: () => convert() },
        types.map((type) => h("option", type)));
    const formButton = button("As JSON", () => changeForm(), { class: "quiet" });
    const control = h("div.control");
    const problem = h("p.problem", { role: "alert", hidden: true });
    const news = h("p.note", { role: "status", hidden: true });
    const conflict = h("div.conflict", { role: "alert", hidden: true });
    const saveButton = button("Save", () => submit(), { class: "main" });
    const revert = button("Revert", () => {
        isDirty = false;
        reset();
        update(latest);
    });
    const actions = h("p.buttons", saveButton, isNew ? null : revert);
    const whole = form("editor", () => submit(), h("div.fields", type, formButton, control), problem, news, conflict,
        actions);
    whole.addEventListener("input", () => {
        isDirty = true;
        asked?.limit();
        state();
    });
    let field;
    let wasHidden;

    // Draws the control of the chosen type, with a text.
    function draw(typed) {
        const isFocused = control.contains(document.activeElement);
        const change = () => { original = { type: type.value, typed: textOf() }; };
        const attributes = { "aria-label": "Value", oninput: change };
        const found = about();
        const choices = (found?.choices ?? []).map(({ value, title }) => [editable(value), title]);
        const isHidden = wasHidden = isSecret(domain.name, name());
        if (typed.length > largest) {
            field = large(typed, attributes);
        } else if (found?.flags && choices.length && !isHidden) {
            field = flags(typed, choices, attributes);
        } else if (choices.length && !found.custom && !isHidden) {
            field = menu(typed, choices, attributes);
        } else if (choices.length && !/\n/.test(typed)) {
            field = input({ ...attributes, value: typed, list: "choices" });
        } else if (type.value === "boolean") {
            field = h("input", { type: "checkbox", role: "switch", ...attributes, checked: converted(typed) === "true",
                onchange: () => {
                    if (isNew) return;
                    submit();
                    // They are there again if that takes long or fails.
                    actions.hidden = true;
                } });
        } else if (/integer|real|date/.test(type.value)) {
            const placeholder = type.value === "date" ? "2026-11-27 10:15" : "";
            field = input({ ...attributes, value: typed, placeholder });
        } else if (hasOutline(typed, isHidden)) {
            field = outline(parse(typed, true), { oninput: change }, field?.place);
        } else {
            const rows = Math.min(16, Math.max(2, typed.split("\n").length));
            field = h("textarea", { rows, spellcheck: "false", ...attributes, value: typed, onkeydown: (event) => {
                if (event.isComposing || event.key !== "Enter" || !event.ctrlKey && !event.metaKey) return;
                event.preventDefault();
                submit();
            } });
            // A text field has line feeds only. Other line ends stay, unless they are mixed and the text changes.
            field.read = () => withLineEnds(typed, field.value);
        }
        control.replaceChildren(field, ...beside(found));
        const isNested = /array|dictionary/.test(type.value) && typed.length <= largest && !isHidden;
        formButton.hidden = !isNested;
        formButton.textContent = isJSON ? "As an outline" : "As JSON";
        if (isFocused) field.focus();
        state();
    }

    // Returns what the manifest says about the key, if it is about a single value of the chosen type.
    function about() {
        const found = described(domain.name, name());
        return found?.type === type.value && !/array|dictionary/.test(found.type) ? found : undefined;
    }

    // Returns whether a text can be shown as an outline.
    function hasOutline(typed, isHidden) {
        if (isJSON || isHidden || !/array|dictionary/.test(type.value)) return false;
        try {
            const value = parse(typed, true);
            return !hasNull(value) && typeOf(value) === type.value;
        } catch { return false; }
    }

    // Changes between JSON and the outline, with what was typed.
    async function changeForm() {
        const typed = textOf();
        const former = field;
        try {
            await field.check?.();
            if (isJSON) await read(typed, type.value);
        } catch (error) {
            return complain(error.message);
        }
        // Text typed meanwhile isn't checked.
        if (field !== former || textOf() !== typed) return;
        // A text that can't be an outline stays as it is.
        const begun = field.place ? editable(parse(typed, true)) : typed;
        isJSON = !isJSON;
        draw(begun);
        field.focus();
    }

    // Returns the beginning of a value that is too large for a field, which a file can replace.
    function large(typed, attributes) {
        let now = typed;
        const isData = type.value === "data";
        const start = h("pre", beginning(typed.slice(0, 2000)));
        const size = () => `${now.length.toLocaleString()} characters${isData ? " (two for each byte)" : ""}. `
            + "A value of this size can't be edited in the page.";
        const note = h("p.note", size());
        const chosen = h("input", { type: "file", "aria-label": "Replace by a file", onchange: async () => {
            const [file] = chosen.files;
            if (!file) return;
            const octets = await file.arrayBuffer();
            try {
                now = isData ? Array.from(new Uint8Array(octets), (one) => one.toString(16).padStart(2, "0")).join("")
                    : new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(octets);
            } catch {
                chosen.value = "";
                return complain("This file isn't text in UTF-8.");
            }
            start.textContent = beginning(now.slice(0, 2000));
            note.textContent = size();
            whole.dispatchEvent(new Event("input"));
        } });
        const download = () => saveFile(`${name()}.${isData ? "bin" : "txt"}`,
            isData ? Uint8Array.from({ length: now.length / 2 }, (_, index) =>
                parseInt(now.slice(2 * index, 2 * index + 2), 16)) : now, isData ? undefined : "text/plain");
        const place = h("div.large", attributes, note, start, h("p.buttons", button("Save as a file", download),
            h("label", "Replace by a file ", chosen)));
        place.read = () => now;
        return place;
    }

    // Returns a menu; a value that isn't in it stays until another is chosen.
    function menu(typed, choices, attributes) {
        const isListed = choices.some(([value]) => value === typed);
        const options = choices.map(([value, title]) => h("option", { value }, title ?? value));
        if (!isListed) options.unshift(shown === undefined ? h("option", { value: "", disabled: true }, "Choose one")
            : h("option", { value: typed }, typed));
        const select = h("select", attributes, options);
        select.value = isListed || shown !== undefined ? typed : "";
        return select;
    }

    // Returns a box for each bit of a number. Other bits stay as they are.
    function flags(typed, choices, attributes) {
        const all = BigInt(/^-?\d+$/.test(typed) ? typed : 0);
        const boxes = choices.map(([bit]) =>
            h("input", { type: "checkbox", value: bit, checked: bit !== "0" && (all & BigInt(bit)) === BigInt(bit) }));
        const set = h("fieldset", { ...attributes, tabindex: "-1" },
            choices.map(([bit, title], index) => h("label", boxes[index], ` ${title ?? bit}`)));
        // Bits of untouched boxes stay, since choices may share bits.
        const isFirst = new Map(boxes.map((box) => [box, box.checked]));
        set.read = () => `${boxes.reduce((sum, box) => box.checked === isFirst.get(box) ? sum
            : box.checked ? sum | BigInt(box.value) : sum & ~BigInt(box.value), all)}`;
        return set;
    }

    // Returns what is beside a field: a button that shows a secret, or a slider for a range and the unit of a number.
    function beside(found) {
        if (isSecret(domain.name, name() ?? "") && field.matches("input[type=text], textarea")) {
            field.classList.add("secret");
            const shows = button("Show", () => {
                shows.textContent = field.classList.toggle("secret") ? "Show" : "Hide";
            });
            return [shows];
        }
        if (!found || field.type !== "text") return [];
        const parts = found.unit ? [h("span.unit", found.unit)] : [];
        if (found.choices) parts.push(h("datalist", { id: "choices" }, found.choices.map(({ value, title }) =>
            h("option", { value: editable(value) }, title ?? ""))));
        const [min, max] = [found.minimum, found.maximum].map((bound) => Number(bound?.$real ?? bound));
        if (!(max - min <= 1000)) return parts;
        const slider = h("input", { type: "range", min, max, step: type.value === "integer" ? 1 : "any",
            "aria-label": "Value, as a slider", value: field.value });
        slider.addEventListener("input", () => {
            field.value = slider.value;
            field.dispatchEvent(new Event("input", { bubbles: true }));
        });
        field.addEventListener("input", () => { slider.value = field.value; });
        return [...parts, slider];
    }

    function textOf() { return field.type === "checkbox" ? `${field.checked}` : field.read?.() ?? field.value; }

    function convert() {
        isDirty = true;
        draw(converted(original.typed, original.type, type.value));
    }

    function reset() {
        const found = shown === undefined ? described(domain.name, name()) : undefined;
        const now = shown !== undefined ? typeOf(shown) : types.includes(found?.type) ? found.type : "string";
        const first = shown ?? found?.default;
        if (now === "uid") {
            whole.replaceChildren(h("p", text(shown)));
            return;
        }
        type.value = now;
        original = { type: now, typed: first === undefined ? "" : editable(first) };
        news.hidden = true;
        decided();
        draw(original.typed);
        begun = textOf();
    }

    function state() {
        saveButton.disabled = !isNew && !isDirty;
        revert.disabled = !isDirty;
        // A switch takes effect at once.
        actions.hidden = !isNew && !isDirty && field.type === "checkbox";
        problem.hidden = true;
        field.removeAttribute("aria-invalid");
    }

    async function submit() {
        if (saving) { isQueued = true; return; }
        const key = name();
        const typed = textOf();
        saving = {};
        try {
            // Only an existing key may be without a name.
            if (key === "" && isNew) throw new Error("Type a key.");
            await field.check?.();
            if (field.selectedOptions?.[0]?.disabled) throw new Error("Choose a value.");
            saving.wanted = await read(typed, type.value);
        } catch (error) {
            saving = null;
            complain(error.message);
            return field.setAttribute("aria-invalid", "true");
        }
        save(key, typed, shown === undefined ? { absent: [key] } : { expected: { [key]: shown } });
    }

    // Saves a value, and then what was typed and saved meanwhile: each edit expects the former.
    async function save(key, typed, condition) {
        const isFocused = whole.contains(document.activeElement);
        const { wanted } = saving;
        decided();
        problem.hidden = news.hidden = true;
        const late = setTimeout(() => {
            saveButton.textContent = "Saving…";
            actions.hidden = false;
        }, 200);
        try {
            const { cursor } = await send(domain, { set: { [key]: wanted }, ...condition });
            awaited = revision(cursor);
            shown = wanted;
            if (textOf() === typed) {
                isDirty = false;
                if (!isNew) reset();
            }
            const rest = store.unsaved.has(domain.id) ? ", but can't be saved yet" : "";
            notify(`${visible(key)} is ${secretly(domain.name, key, wanted, 60)} now${rest}.`);
            done(key);
        } catch (error) {
            isQueued = false;
            if (error.code === "changed") await decide(key, wanted, typed); else complain(error.message);
        }
        clearTimeout(late);
        saveButton.textContent = "Save";
        saving = null;
        const active = document.activeElement;
        if (isFocused && whole.isConnected && (active === document.body || active.disabled)) field.focus();
        if (!isNew) update(latest);
        // The list says what isn't saved.
        receive([]);
        if (isQueued && isDirty) submit();
        isQueued = false;
    }

    function complain(reason) {
        problem.textContent = reason;
        problem.hidden = actions.hidden = false;
        // The earlier notice is over.
        notify(whole.isConnected ? "" : reason);
    }

    // Shows both values, which stay up to date, and lets the user decide.
    async function decide(key, wanted, typed) {
        let theirs;
        try {
            const [values, last] = await valuesNow(domain, [key]);
            [theirs, awaited] = [values.get(key), last];
        } catch (error) { return complain(error.message); }
        const keep = () => {
            [shown, isDirty] = [asked.theirs, false];
            if (isNew) return done(key);
            reset();
            field.focus();
        };
        const base = shown;
        const there = h("div");
        const set = (value, text, condition) => {
            saving = { wanted: value };
            save(key, text, condition);
        };
        const condition = () => asked.theirs === undefined ? { absent: [key] } : { expected: { [key]: asked.theirs } };
        const both = button("Both", () => {
            const value = merged(base, asked.theirs, wanted);
            shown = asked.theirs;
            isDirty = true;
            type.value = typeOf(value);
            original = { type: type.value, typed: editable(value) };
            draw(original.typed);
            set(value, textOf(), condition());
        }, { title: "Your changes, and those of the other program, which are about other parts." });
        asked = {
            show(now) {
                asked.theirs = now;
                asked.canMerge = merged(base, now, wanted) !== undefined;
                asked.limit();
                const begin = isNew ? `${visible(key)} exists already` : "Another program has changed this key";
                redraw(there, h("p", begin, ...compared(key, now, wanted)));
            },
            // *Both* would discard what was typed since.
            limit() { both.hidden = !asked.canMerge || textOf() !== typed; },
        };
        asked.show(theirs);
        conflict.replaceChildren(there, h("p.buttons", button("Keep theirs", keep),
            button("Set mine", () => set(wanted, typed, condition())), both));
        conflict.hidden = false;
    }

    // Returns the rest of a sentence that says what differs between another program's value and the user's.
    function compared(key, theirs, mine) {
        const isHidden = isSecret(domain.name, key);
        const all = isHidden ? [] : differences(theirs, mine);
        if (all.length && all[0].path.length) {
            const rows = all.slice(0, shownDifferences).map((part) =>
                [pathText(part.path), ...excerpts(part.old, part.new).map((text) => h("code", text))]);
            const left = all.length - rows.length;
            return [". Its value differs from yours:", table(["Part", "Theirs", "Yours"], rows),
                left > 0 ? `and ${left.toLocaleString()} more differences.` : "",
                inFull(theirs, mine, "conflict", ["Theirs", "Yours"])];
        }
        const [other, own] = isHidden || !all.length ? [theirs, mine].map((one) => secretly(domain.name, key, one))
            : excerpts(theirs, mine);
        const isCut = !isHidden && [other, own].some((text) => text.includes("…"));
        return [": its value is ", h("code", other), " now. Yours is ", h("code", own), ".",
            isCut ? inFull(theirs, mine, "conflict", ["Theirs", "Yours"]) : null];
    }

    function decided() {
        asked = null;
        conflict.hidden = true;
    }

    // Shows a new value, or says that there is one: typed text stays.
    function update(now) {
        latest = now;
        if (saving && areSame(now, saving.wanted) || store.revision < awaited) return;
        awaited = 0;
        if (asked) {
            if (!areSame(now, asked.theirs)) asked.show(now);
        } else if (areSame(now, shown)) news.hidden = true;
        else if (isDirty) {
            announce(news, now === undefined ? "Meanwhile, the key was removed." : meanwhile(now));
            news.hidden = false;
        } else {
            shown = now;
            if (now !== undefined) reset();
        }
    }

    function meanwhile(now) {
        const [part, ...more] = isSecret(domain.name, name()) ? [] : differences(shown, now);
        const others = more.length ? `, and ${more.length.toLocaleString()} more` : "";
        const change = part?.new === undefined ? "removed" : `set to ${text(part.new, 60)}`;
        return part?.path.length ? `Meanwhile, ${pathText(part.path)} was ${change}${others}.`
            : `Meanwhile, the value was set to ${secretly(domain.name, name(), now, 60)}.`;
    }

    reset();
    return {
        form: whole, update,
        // Begins an edit with a value, which isn't saved yet.
        use(value) {
            type.value = typeOf(value);
            original = { type: type.value, typed: editable(value) };
            isDirty = true;
            draw(original.typed);
            field.focus();
        },
        // Shows what was typed, or hides it, once it is known whether the key is secret.
        reveal() {
            if (isSecret(domain.name, name()) !== wasHidden) draw(textOf());
        },
        get isDirty() { return isDirty || saving !== null; },
        focus() { field?.focus(); },
        // Begins with the type and the default of a new key, once it is named.
        describe() {
            if (described(domain.name, name()) && textOf() === begun) reset();
            else if (isSecret(domain.name, name()) !== field.classList.contains("secret")) draw(textOf());
        },
    };
}
