// Questions to the viewer, and the proof that it is the viewer that answers.

export const ended = "The viewer has ended. Run `defaults view` again.";
const expired = "The browser has lost this page's cookie. Run `defaults view` again.";

// The viewer's number, while its stream is open; null while no viewer is known to listen. It is never sent: another
// program that takes the viewer's port can't learn it.
let proof = null;
// The functions to call when it is known.
let waiting = [];
// The reason why nothing is asked anymore.
let over = null;
let report = () => {};

// The milliseconds by which the browser's clock is ahead of the viewer's: the browser may run on another machine.
let skew = 0;

// Returns the viewer's time in milliseconds.
export function now() { return Date.now() - skew; }

// Calls a function with the reason when an answer shows that this page can't go on.
export function whenOver(listener) { report = listener; }

// Takes the number of the viewer that is listening now, or null.
export function prove(number) {
    proof = number;
    if (number === null) return;
    for (const resolve of waiting) resolve();
    waiting = [];
}

// Ends all questions.
export function giveUp(reason) {
    [over, proof] = [reason, null];
    for (const resolve of waiting) resolve();
    waiting = [];
}

function lost(message, fields) { return Object.assign(new Error(message), { isLost: true, ...fields }); }

// Returns the number of the viewer that is listening; throws if there is none for five seconds.
async function listener() {
    if (proof === null && over === null) {
        await new Promise((resolve) => {
            waiting.push(resolve);
            setTimeout(resolve, 5000);
        });
    }
    if (over !== null || proof === null) throw lost(over ?? ended);
    return proof;
}

async function post(path, body, limit = null) {
    // Another program that has taken the viewer's port mustn't get what is typed.
    const number = await listener();
    const headers = { "Content-Type": "application/json" };
    const signal = limit && AbortSignal.timeout(limit);
    let response;
    let text;
    try {
        response = await fetch(path, { method: "POST", headers, body, signal });
        text = await response.text();
    } catch {
        // The page's state says so, too.
        if (signal?.aborted) throw lost("The viewer is not answering.", { silent: "viewer" });
        throw lost(ended);
    }
    if (response.headers.get("Viewer") !== number) {
        // The viewer couldn't ask the kernel whose connection this is.
        if (response.status === 503) throw new Error("The viewer can't answer at the moment. Try again.");
        giveUp(response.status === 403 ? expired : ended);
        report(over);
        throw lost(over);
    }
    skew = Date.now() - Number(response.headers.get("Viewer-Time"));
    // The viewer waits for the agent a little less long than this page waits for the viewer. If the bridge has ended,
    // the status is 502.
    if (response.status === 504) throw lost(text.trim(), { silent: "agent" });
    if (!response.ok) throw new Error(text.trim());
    return text;
}

// Parses JSON, and keeps reals apart from integers: 2.0 becomes {"$real": "2.0"}. With `isExact`, integers that
// JavaScript can't hold become {"$integer": …}, as the bridge writes those of preferences by itself.
export function parse(text, isExact = false) {
    // Most have no such numbers.
    if (!/[[:,]\s*-?\d+(\.|e|\d{10})/i.test(text)) return JSON.parse(text);
    const token = /"|-?\d[\d.eE+-]*/g;
    const parts = [];
    let start = 0;
    for (let found; (found = token.exec(text));) {
        const [word] = found;
        if (word === '"') {
            token.lastIndex = afterString(text, token.lastIndex);
            continue;
        }
        const mark = /[.eE]/.test(word) ? "$real" : isExact && !Number.isSafeInteger(Number(word)) ? "$integer" : null;
        if (!mark) continue;
        parts.push(text.slice(start, found.index), `{"${mark}":"${word}"}`);
        start = token.lastIndex;
    }
    return JSON.parse(parts.join("") + text.slice(start));
}

// Returns where a text in JSON has ended. A regular expression for it would exhaust the stack of a long one.
function afterString(text, start) {
    for (let end = text.indexOf('"', start); end >= 0; end = text.indexOf('"', end + 1)) {
        let slashes = 0;
        while (text[end - 1 - slashes] === "\\") slashes += 1;
        if (slashes % 2 === 0) return end + 1;
    }
    return text.length;
}

// The times for the viewer to answer, in milliseconds. Edits have none: a stopped agent may still make them.
const limits = { status: 5000, read: 95_000 };

// Asks the agent; throws an Error with a `code` if it refuses.
export async function ask(request) {
    return checked(parse(await post("ask", JSON.stringify(request), limits[request.type] ?? null)));
}

function checked(answer) {
    if (answer.type !== "failure") return answer;
    throw Object.assign(new Error(answer.message), { code: answer.code });
}

// Runs a verb of the command, and returns its `status`, its `output` and its `errors`.
export async function run(request) {
    const outcome = JSON.parse(await post("run", JSON.stringify(request)));
    // Some are there twice.
    const errors = new Set(outcome.errors.trim().split("\n").map((line) => line.replace(/^defaults: /, "")));
    return { ...outcome, errors: [...errors].join("\n") };
}

// Reads JSON as the command does, with exact integers; throws an Error that says where it is wrong.
export async function readJSON(text) { return checked(parse(await post("value", text), true)).value; }
