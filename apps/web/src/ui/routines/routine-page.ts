/** One routine: what it creates, what fires it, and its runs. */
import type { Routine } from '@acp/contract';
import type { IssueName } from '@acp/core';
import { FieldErrors } from '../kit/field-errors.ts';
import { exactTime, exactTimeTo, words } from '../kit/format.ts';
import { attributes, html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { markdown } from '../kit/markdown.ts';
import { formError, postButton, priority, shownOnce, status, textarea } from '../kit/parts.ts';
import { zoneList } from '../kit/zone-list.ts';
import { trashCard } from '../kit/write-access.ts';
import { issueLink } from '../runs/runs-pages.ts';
import { policyWords, type Refused } from './routine-form.ts';
import { routineRunsPart, type RoutineRunsView } from './run-table.ts';
import { newTriggers, triggerCard, type TriggerForms, type TriggerView } from './trigger-parts.ts';

/** Something referenced by the routine; undefined if it references none, null if that is gone. */
export type Named = { name: string; path: string } | null | undefined;

export interface RoutineView extends TriggerForms {
  routine: Routine;
  agent: Named;
  project: Named;
  goal: Named;
  triggers: readonly TriggerView[];
  runs: RoutineRunsView;
  /** Where the runs are refreshed from: the same page of them. */
  runs_source: string;
  /** What was done, what went wrong, and a newly created secret. */
  said: string | undefined;
  /** The issue that it is about. */
  about: Pick<IssueName, 'id' | 'identifier' | 'title'> | undefined;
  error: string | null;
  secret: string | null;
}

type FactsView = Pick<RoutineView, 'routine' | 'can_write' | 'agent' | 'project' | 'goal' | 'refused'>;

export async function routineBody(view: RoutineView): Promise<Html> {
  const { routine, can_write } = view;
  const here = `/routines/${routine.id}`;
  // A payload that was refused stays as it was typed.
  const live =
    view.refused?.at === 'fire'
      ? {}
      : { 'data-live': 'routine_fired issues', 'data-source': `${here}/part/facts` };
  return html`!${formError(new FieldErrors(view.error).general)}!${when(view.said, (text) => html`<p class="notice good" role="status">${text} !${when(view.about, issueLink)}</p>`)}
    !${when(view.secret, (secret) => shownOnce('The secret, shown only once:', secret))}
    <div class="columns">
      <div>
        !${template(routine)}!${await triggerSection(view)}
        <section class="card">
          <h2>Fires</h2>
          <div data-live="issues comments runs" data-source="${view.runs_source}">
            !${routineRunsPart(here, view.runs)}
          </div>
        </section>
      </div>
      <aside class="card" !${attributes(live)}>!${routineFacts(view)}</aside>
    </div>
    !${when(can_write, () => trashCard(`${here}/delete`, routine.name, t`Its triggers no longer fire; the issues it created stay. An admin can restore the routine from the trash for a while.`))}`;
}

function template({ description, title_template, body_template }: Routine): Html {
  return html`<section class="card">
    !${when(description, markdown)}
    <h2>The issue it creates</h2>
    <p><strong>${title_template}</strong></p>
    !${body_template ? html`<pre class="wrapped">${body_template}</pre>` : html`<p class="soft">No description.</p>`}
  </section>`;
}

async function triggerSection(view: RoutineView): Promise<Html> {
  const { routine, triggers, can_write } = view;
  const first = triggers.length === 0;
  const idle =
    routine.status === 'active'
      ? ''
      : html`<p class="notice">The routine is ${words(routine.status)}: no trigger fires it.</p>`;
  const none = html`<p class="soft">Only people and agents can fire it.</p>`;
  const cards = await Promise.all(triggers.map((trigger) => triggerCard(trigger, view)));
  return html`<section aria-label="Triggers" class="triggers">
    <h2>Triggers</h2>
    !${idle}!${first ? none : cards.join('')}
    !${when(can_write, () => html`!${newTriggers(routine.id, view, first)}!${zoneList()}`)}
  </section>`;
}

/** What it is set to, and when it fires. */
export function routineFacts(view: FactsView): Html {
  const { routine, can_write } = view;
  return html`<p>!${status(routine.status)}</p>
    <dl class="facts">
      <dt>Agent</dt>
      <dd>!${named(view.agent, t`nobody`)}</dd>
      <dt>Project</dt>
      <dd>!${named(view.project, t`none`)}</dd>
      <dt>Goal</dt>
      <dd>!${named(view.goal, t`none`)}</dd>
      <dt>Priority</dt>
      <dd>!${priority(routine.priority)}</dd>
      <dt>While one is open</dt>
      <dd>${policyWords[routine.concurrency_policy]}</dd>
      <dt>Next fire</dt>
      <dd>
        !${routine.next_fire_at === null ? html`<span class="soft">no schedule</span>` : exactTimeTo(routine.next_fire_at)}
      </dd>
      <dt>Last fired</dt>
      <dd>!${exactTime(routine.last_fired_at)}</dd>
    </dl>
    !${when(can_write, () => acts(view))}`;
}

const named = (of: Named, none: string): Html =>
  of
    ? html`<a href="${of.path}">${of.name}</a>`
    : html`<span class="soft">${of === null ? t`gone` : none}</span>`;

function acts({ routine, refused }: FactsView): Html {
  const turn = (state: Routine['status'], label: string): Html =>
    postButton(`/routines/${routine.id}/status`, label, { class: 'quiet small', fields: { status: state } });
  const active = routine.status === 'active';
  return html`!${when(active, () => fireForm(routine.id, refused?.at === 'fire' ? refused : null))}
    <div class="buttons">
      !${active ? turn('paused', t`Pause`) : turn('active', t`Activate`)}
      !${when(routine.status !== 'archived', () => turn('archived', t`Archive`))}
    </div>`;
}

function fireForm(id: string, refused: Refused | null): Html {
  const errors = new FieldErrors(refused?.error ?? null, ['payload']);
  return html`<details class="edit" !${attributes({ open: refused !== null })}>
    <summary>Fire with a payload</summary>
    <form method="post" action="/routines/${id}/fire">
      !${formError(errors.general)}
      !${textarea({ name: 'payload', label: 'Payload', rows: 4, mono: true, value: refused?.form.text('payload') ?? '', hint: 'JSON', error: errors.of('payload') })}
      <button class="quiet small">Fire</button>
    </form>
  </details>`;
}
