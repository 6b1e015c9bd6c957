// Texts that are copied by a button.
import { t } from './texts.js';

/** For a button that has copied. */
const COPIED_MS = 1500;

/** Shows a copy button in the corner of a code block while the pointer is over it. */
export function offerCopy(code) {
  if (!code.matches(':hover') || code.querySelector('[data-copy]')) return;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'quiet small copy-code';
  button.dataset.copy = '';
  button.textContent = t`Copy`;
  button.addEventListener(
    'click',
    () => void copyText(code.querySelector('code')?.textContent ?? '', button),
  );
  code.append(button);
  code.addEventListener('pointerleave', () => button.remove(), { once: true });
}

/** Copies a text, and says so on the button that did it. Without a secure connection a browser has no clipboard: nothing is said. */
export async function copyText(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    return;
  }
  button.textContent = t`Copied`;
  setTimeout(() => (button.textContent = t`Copy`), COPIED_MS);
}
