/** Putting off what waits: for an hour up to a week. */
import { each, html, type Html } from '../kit/html.ts';
import { say, texts } from '../kit/language.ts';

const SPANS: readonly [minutes: number, label: string][] = texts([
  [60, 'for an hour'],
  [4 * 60, 'for 4 hours'],
  [24 * 60, 'for a day'],
  [7 * 24 * 60, 'for a week'],
]);

/**
 * Opened by `h` as well. One form, and one line: an inbox has hundreds of them.
 * @param path where the number of minutes is sent
 * @param named what is put off, for those who do not see the row
 */
export const laterMenu = (path: string, { id, named }: { id: string; named: string }): Html => {
  const span = ([minutes, label]: (typeof SPANS)[number]): Html =>
    html`<button class="quiet small" name="minutes" value="${minutes}">${say(label)}</button>`;
  return html`<details class="later" data-menu data-fold="later-${id}">
    <summary class="small">Later<span class="sr-only">: ${named}</span></summary>
    <form class="buttons" method="post" action="${path}">!${each(SPANS, span)}</form>
  </details>`;
};
