/** What an approval would do, in readable form: fields by name, long texts verbatim. */
import { readableJson } from '@acp/kernel';
import { each, html, type Html } from '../kit/html.ts';
import { t } from '../kit/language.ts';

/** Deeper levels are shown as JSON. */
const DEPTH = 3;

export function payloadPart(payload: Record<string, unknown>): Html {
  if (Object.keys(payload).length === 0)
    return html`<p class="soft">Nothing is carried out: only the decision was requested.</p>`;
  return html`!${fields(payload, DEPTH)}
    <details class="edit">
      <summary>As JSON</summary>
      <pre>${readableJson(payload)}</pre>
    </details>`;
}

function fields(value: object, depth: number): Html {
  return html`<dl class="payload">
    !${each(
      Object.entries(value),
      ([name, field]) =>
        html`<dt>${name.replaceAll('_', ' ')}</dt>
          <dd>!${shown(field, depth - 1)}</dd>`,
    )}
  </dl>`;
}

function shown(value: unknown, depth: number): Html {
  if (value === null || value === '') return html`<span class="soft">none</span>`;
  if (typeof value === 'boolean') return value ? t`yes` : t`no`;
  if (typeof value === 'string')
    return value.includes('\n') ? html`<pre class="wrapped">${value}</pre>` : html`${value}`;
  if (typeof value !== 'object') return html`${JSON.stringify(value) ?? ''}`;
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object'))
    return html`${value.join(', ') || t`none`}`;
  if (Array.isArray(value) || depth <= 0) return html`<pre class="wrapped">${readableJson(value)}</pre>`;
  if (Object.keys(value).length === 0) return html`<span class="soft">none</span>`;
  return fields(value, depth);
}
