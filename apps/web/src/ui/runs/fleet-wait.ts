/** A run that waits for a remote worker. */
import type { FleetWait } from '@acp/core';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';

/** Companies learn of no worker by an event: the part asks again until one has taken the task. */
export function fleetPart(waits: FleetWait | undefined, sees_fleet: boolean): Html {
  if (waits === undefined) return '';
  const { served, tags_required: tags, model } = waits;
  if (served !== false) return html`<p class="soft small" data-awaits>Waiting for a remote worker.</p>`;
  return html`<p class="notice" data-awaits="unserved">
    ${t`No remote worker that may take this run is online.`}
    !${when(tags.length > 0, () => html`It needs the tags ${tags.join(', ')}.`)}
    !${when(model, (name) => html`It needs the model ${name}.`)}
    !${when(sees_fleet, () => html`<a href="/admin/workers">Workers</a>`)}
  </p>`;
}
