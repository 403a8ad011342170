// Elements, made without markup: what comes from preferences is always text.

// Creates an element with attributes, event handlers ("onclick") and children.
export function h(name, attributes = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes ?? {})) {
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

export function button(label, action, attributes = {}) {
    return h("button", { type: "button", onclick: action, ...attributes }, label);
}

// Shows a line at the bottom of the page, which is also read aloud.
export function notify(text) {
    const place = document.getElementById("message");
    place.textContent = text;
    place.hidden = false;
    clearTimeout(notify.timer);
    notify.timer = setTimeout(() => { place.hidden = true; }, 8000);
}

// Asks with a dialog; resolves to whether the action was chosen.
export function confirm(title, contents, action = null) {
    return new Promise((resolve) => {
        const finish = (answer) => { dialog.close(); dialog.remove(); resolve(answer); };
        const form = h("form", { onsubmit: (event) => { event.preventDefault(); finish(action !== null); } },
            h("h2", { id: "dialog-title" }, title), contents,
            h("p", { class: "buttons" },
                button("Cancel", () => finish(false)),
                action ? h("button", { class: "main" }, action) : null));
        const dialog = h("dialog", { "aria-labelledby": "dialog-title", oncancel: () => finish(false) }, form);
        document.body.append(dialog);
        dialog.showModal();
    });
}

// Returns a table of columns' names and rows of cells, each of which is a text or an element.
export function table(names, rows, caption = null) {
    return h("table", {}, caption ? h("caption", {}, caption) : null,
        h("thead", {}, h("tr", {}, names.map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, rows.map((cells) => h("tr", {}, cells.map((cell) => h("td", {}, cell))))));
}

// Returns an element that scrolls, also with the keyboard.
export function scroll(label, contents) {
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, contents);
}

// Returns a time for people, with the seconds.
export function time(nanoseconds) {
    const date = new Date(nanoseconds / 1e6);
    const day = date.toDateString() === new Date().toDateString() ? "" : `${date.toLocaleDateString()} `;
    return h("time", { datetime: date.toISOString(), title: date.toLocaleString() }, day + date.toLocaleTimeString());
}
