// Elements, made without markup: what comes from preferences is always text.

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

// Creates a form with a class and what it does.
export function form(name, submit, ...children) {
    return h("form", { class: name, onsubmit: (event) => { event.preventDefault(); submit(); } }, ...children);
}

// Returns the words that a search is for.
export function words(text) { return text.toLowerCase().split(/\s+/).filter(Boolean); }

// Shows a line at the bottom of the page, which is also read aloud; or none.
export function notify(text) {
    const place = document.getElementById("message");
    place.textContent = text;
    place.hidden = !text;
    clearTimeout(notify.timer);
    notify.timer = setTimeout(() => { place.hidden = true; }, 8000);
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

// Asks with a dialog; resolves to whether the action was chosen.
export function confirm(title, contents, action = null) {
    return new Promise((resolve) => {
        const finish = (answer) => { dialog.close(); dialog.remove(); resolve(answer); };
        const contained = form("", () => finish(action !== null),
            h("h2", { id: "dialog-title" }, title), contents,
            h("p.buttons",
                button(action ? "Cancel" : "Close", () => finish(false)),
                action ? h("button.main", action) : null));
        const dialog = h("dialog", { "aria-labelledby": "dialog-title", oncancel: () => finish(false) }, contained);
        document.body.append(dialog);
        dialog.showModal();
    });
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
