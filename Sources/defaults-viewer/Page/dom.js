// Elements, made without markup: contents of preferences are always text.

// Creates an element with classes ("p.note"), attributes and event handlers ({ onclick: … }), if any, and children.
export function h(name, ...children) {
    const [tag, ...classes] = name.split(".");
    const element = document.createElement(tag);
    element.classList.add(...classes);
    const attributes = children[0]?.constructor === Object ? children.shift() : {};
    for (const [key, value] of Object.entries(attributes)) {
        // The states of ARIA are words.
        const isState = key.startsWith("aria-") && typeof value === "boolean";
        if (value === undefined || value === null || value === false && !isState) continue;
        if (isState) element.setAttribute(key, `${value}`);
        else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
        else if (key === "value") element.value = value;
        else element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
}

export function button(label, action, attributes) {
    return h("button", { type: "button", onclick: action, ...attributes }, label);
}

export function input(attributes) {
    return h("input", { type: "text", autocomplete: "off", spellcheck: "false", ...attributes });
}

// Creates a form with a class and an action.
export function form(name, submit, ...children) {
    return h("form", { class: name, onsubmit: (event) => { event.preventDefault(); submit(); } }, ...children);
}

// Returns a text as a search compares it: without capitals and accents.
export function folded(text) { return text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase(); }

// Returns the words that a search is for.
export function words(text) { return folded(text).split(/\s+/).filter(Boolean); }

// Shows a line at the bottom of the page, which is also read aloud; or none. Buttons may follow it.
export function notify(text, ...buttons) {
    const place = document.getElementById("message");
    const hide = () => { place.hidden = true; };
    place.replaceChildren(text, ...buttons, button("", hide, { class: "close", "aria-label": "Close" }));
    place.hidden = !text;
    clearTimeout(notify.timer);
    notify.timer = setTimeout(hide, 8000);
}

const pauses = new WeakMap();

// Writes what a status says: at once, but then at most every three seconds, since it is also read aloud.
export function announce(status, text) {
    const pause = pauses.get(status);
    if (pause) {
        pause.text = text;
        return;
    }
    if (status.textContent === text) return;
    status.textContent = text;
    pauses.set(status, { text });
    setTimeout(() => {
        const { text } = pauses.get(status);
        pauses.delete(status);
        announce(status, text);
    }, 3000);
}

// Asks with a dialog; resolves to the number of the action that was chosen, or to 0.
// A button that is pressed twice before its dialog opens asks once.
export function confirm(title, contents, ...actions) {
    if (document.querySelector("dialog")) return Promise.resolve(0);
    return new Promise((resolve) => {
        const former = document.activeElement;
        const finish = (answer) => {
            dialog.close();
            dialog.remove();
            resolve(answer);
            if (!former.isConnected) refocus(former);
        };
        const [main, ...others] = actions.filter(Boolean).map((action, index) => ({ action, number: index + 1 }));
        const contained = form("", () => finish(main ? 1 : 0),
            h("h2", { id: "dialog-title" }, title), contents,
            h("p.buttons",
                button(main ? "Cancel" : "Close", () => finish(0)),
                others.map(({ action, number }) => button(action, () => finish(number))),
                main ? h("button.main", main.action) : null));
        const dialog = h("dialog", { "aria-labelledby": "dialog-title", oncancel: () => finish(0) }, contained);
        document.body.append(dialog);
        dialog.showModal();
    });
}

const nameOf = (element) => element.getAttribute("aria-label") ?? element.textContent;

// Moves the focus to what has the name of an element that was drawn anew, or else to the heading.
function refocus(former, place = document.getElementById("main")) {
    const all = [...place.querySelectorAll("a, button, summary, [tabindex]")];
    const found = all.find((one) => nameOf(one) === nameOf(former));
    (found ?? document.querySelector("#main h2[tabindex]"))?.focus();
}

// Replaces the contents of an element, and leaves open and focused what was so, by its name.
export function redraw(element, ...contents) {
    const details = () => [...element.querySelectorAll("details")];
    const named = (one) => one.dataset.name ?? one.querySelector("summary").textContent;
    const open = new Set(details().filter((one) => one.open).map(named));
    const active = document.activeElement;
    const isFocused = element.contains(active);
    element.replaceChildren(...contents);
    for (const one of details()) if (open.has(named(one))) one.open = true;
    if (isFocused) refocus(active, element);
}

// Returns the heading of what is selected, which gets the focus.
export function heading(name, ...about) {
    return h("header", h("h2", { tabindex: "-1" }, name),
        h("p.about", about.filter(Boolean).flatMap((part) => [part, " "])));
}

// Returns a table of columns' names and rows of cells, each of which is a text or an element.
export function table(names, rows, caption = null) {
    return h("table", caption ? h("caption", caption) : null,
        h("thead", h("tr", names.map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", rows.map((cells) => h("tr", cells.map((cell) => h("td", cell))))));
}

// Returns an element that scrolls, also with the keyboard.
export function scroll(label, contents) {
    return h("div.scroll", { tabindex: "0", role: "region", "aria-label": label }, contents);
}

// Returns a time for people, with the seconds.
export function time(nanoseconds) {
    const date = new Date(nanoseconds / 1e6);
    const day = date.toDateString() === new Date().toDateString() ? "" : `${date.toLocaleDateString()} `;
    return h("time", { datetime: date.toISOString(), title: date.toLocaleString() }, day + date.toLocaleTimeString());
}
