// Issues that have changed, of which a page shows a card or a row: all of them are asked for by one request, at most once a second.
const WAIT_MS = 60;
const PACE_MS = 1000;
/** What the server gives in one answer. */
const MOST = 100;
/** A request that failed is repeated, each time after twice as long. */
const LATER_REPEATS_MS = 30_000;
const LONGEST_PRESS_MS = 1000;

let pressed = null;
addEventListener('pointerdown', () => (pressed ??= Promise.withResolvers()), { capture: true });
for (const name of ['pointerup', 'pointercancel'])
  addEventListener(
    name,
    // The click follows.
    () =>
      setTimeout(() => {
        pressed?.resolve();
        pressed = null;
      }),
    { capture: true },
  );

/** What is pressed would get no click if something else took its place meanwhile. */
export const released = async () =>
  pressed && Promise.race([pressed.promise, new Promise((done) => setTimeout(done, LONGEST_PRESS_MS))]);

/**
 * @param ask requests those with the ids. @returns whether there was an answer
 * @returns what takes the id of an issue that has changed
 */
export function changedIssues(ask) {
  const ids = new Set();
  let timer = null;
  let next = 0;
  let failures = 0;
  // Nobody looks at a page in the background: it catches up when it is shown.
  const plan = () => {
    if (ids.size === 0 || document.visibilityState !== 'visible') return;
    timer ??= setTimeout(() => void send(), Math.max(WAIT_MS, next - Date.now()));
  };
  const send = async () => {
    timer = null;
    next = Date.now() + PACE_MS;
    const asked = [...ids].slice(0, MOST);
    for (const id of asked) ids.delete(id);
    plan();
    if (await ask(asked)) {
      failures = 0;
      return;
    }
    for (const id of asked) ids.add(id);
    next = Date.now() + Math.min(PACE_MS * 2 ** failures, LATER_REPEATS_MS);
    failures += 1;
    plan();
  };
  document.addEventListener('visibilitychange', plan);
  return (id) => {
    ids.add(id);
    plan();
  };
}
