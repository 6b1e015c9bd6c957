import { count } from './format.ts';
import { html, type Html } from './html.ts';

/**
 * Placeholder for a long text. The script loads it when it is unfolded; without script there is the link.
 * @param source path of the page that shows only this text
 * @param length in characters
 */
export function foldedText(source: string, length: number): Html {
  return html`<details class="folded" data-text="${source}" data-fold="${source}">
    <summary>Long text (${count(length)} characters)</summary>
    <p><a href="${source}">Show it on a separate page</a></p>
  </details>`;
}
