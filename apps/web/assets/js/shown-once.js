// Copies a value that is shown only once.
import { copyText } from './copying.js';

for (const button of document.querySelectorAll('[data-copy-once]')) {
  // Without a secure connection a browser has no clipboard: one click on the value selects it.
  button.hidden = navigator.clipboard === undefined;
  button.addEventListener(
    'click',
    () => void copyText(button.closest('.once').querySelector('code').textContent, button),
  );
}
