import { each, html, type Html } from './html.ts';

/** Id of the list, for fields that use it. */
export const ZONES = 'zones';

/** Names of time zones for fields to choose from, once per page; some 20 kB. */
export function zoneList(): Html {
  const zones = new Set(['UTC', ...Intl.supportedValuesOf('timeZone')]);
  return html`<datalist id="${ZONES}">
    !${each([...zones], (zone) => html`<option value="${zone}"></option>`)}
  </datalist>`;
}
