import { t } from './texts.js';

/** How long a button says that it has copied. */
const SAID_MS = 1500;

/** Copies a text, and says so on the button that did it. Without a secure connection a browser has no clipboard: nothing is said. */
export async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return;
  }
  button.textContent = t`Copied`;
  setTimeout(() => (button.textContent = t`Copy`), SAID_MS);
}
