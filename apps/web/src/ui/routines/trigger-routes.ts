/** Handlers of the trigger forms, which are on the routine's page. */
import {
  AddRoutineTrigger,
  type NewRoutineTrigger,
  routineEndpoints,
  routineTriggerEndpoints as rows,
  SetSigningMode,
} from '@acp/contract';
import { createTrigger, findRoutine, findRoutineTrigger, setSigningMode } from '@acp/core';
import { notFound } from '@acp/kernel';
import type { Context } from '../../http/handle.ts';
import type { FormValues } from '../kit/form-values.ts';
import type { Html } from '../kit/html.ts';
import { action, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { type Outcome, routinePage } from './routine-view.ts';

type TriggerContext = UiContext<'routine_trigger'>;

/** Like `routines.createTrigger`, but accepts `hmac_ts` too. */
const addRow = { ...routineEndpoints.createTrigger, body: AddRoutineTrigger };
/** No API endpoint sets the mode (specification, Trigger management). */
const signingRow = { ...rows.rotateSecret, body: SetSigningMode };

/** The page of the trigger's routine. */
async function pageOfRoutine(context: TriggerContext, outcome: Outcome): Promise<Html> {
  const routine = await findRoutine(context.tx, context.subject.routine_id);
  if (!routine) throw notFound();
  return routinePage(context, routine, outcome);
}

const back = (what: string) => (context: TriggerContext) =>
  `/routines/${context.subject.routine_id}?done=${what}`;
const edits = (context: TriggerContext): Promise<Html> => pageOfRoutine(context, {});
const failed = (context: TriggerContext, error: string): Promise<Html> => pageOfRoutine(context, { error });
const changeFailed = (context: TriggerContext, error: string, form: FormValues): Promise<Html> =>
  pageOfRoutine(context, { refused: { at: context.subject.id, error, form } });

async function addTrigger(context: Context<typeof addRow>): Promise<NewRoutineTrigger> {
  const { tx, actor, subject, body, services } = context;
  const { signing_mode: mode, ...input } = body;
  if (mode !== 'hmac_ts')
    return createTrigger(
      tx,
      actor,
      subject,
      { ...input, ...(mode ? { signing_mode: mode } : {}) },
      services.vault,
    );
  const made = await createTrigger(tx, actor, subject, { ...input, signing_mode: 'hmac' }, services.vault);
  const trigger = await findRoutineTrigger(tx, made.id);
  if (!trigger) throw notFound();
  return { ...(await setSigningMode(tx, actor, trigger, mode, services.vault)), secret: made.secret };
}

const readTrigger = (form: FormValues) => ({
  kind: form.text('kind'),
  label: form.cleared('label'),
  signing_mode: form.given('signing_mode'),
  ...readSchedule(form),
});

/** Empty for a webhook's form. */
const readSchedule = (form: FormValues) => ({
  cron_expression: form.has('cron_expression') ? form.text('cron_expression').trim() : undefined,
  timezone: form.has('timezone') ? form.text('timezone').trim() : undefined,
});

export const triggerRoutes: UiRoute[] = [
  action('/routines/{routineId}/triggers', addRow, {
    read: readTrigger,
    handler: addTrigger,
    // A secret is shown only in this response.
    next: (c, { secret }) =>
      secret === null ? `/routines/${c.subject.id}?done=trigger` : routinePage(c, c.subject, { secret }),
    failed: (c, error, form) =>
      routinePage(c, c.subject, {
        refused: { at: form.text('kind') === 'webhook' ? 'webhook' : 'schedule', error, form },
      }),
  }),
  action('/routine-triggers/{triggerId}', rows.update, {
    read: (form) => ({
      label: form.cleared('label'),
      replay_window_sec: form.number('replay_window_sec'),
      ...readSchedule(form),
    }),
    edits,
    next: back('changed'),
    failed: changeFailed,
  }),
  action('/routine-triggers/{triggerId}/enabled', rows.update, {
    read: (form) => ({ enabled: form.checked('enabled') }),
    next: back('changed'),
    failed,
  }),
  action('/routine-triggers/{triggerId}/signing-mode', signingRow, {
    read: ({ whole }) => ({ signing_mode: whole.text('signing_mode') }),
    edits,
    handler: (c) => setSigningMode(c.tx, c.actor, c.subject, c.body.signing_mode, c.services.vault),
    next: (c, { secret }) => (secret === null ? back('signing')(c) : pageOfRoutine(c, { secret })),
    failed,
  }),
  action('/routine-triggers/{triggerId}/rotate-secret', rows.rotateSecret, {
    next: (c, { secret }) => pageOfRoutine(c, { secret }),
    failed,
  }),
  action('/routine-triggers/{triggerId}/rotate-url', rows.rotateUrl, {
    next: back('url'),
    failed,
  }),
  action('/routine-triggers/{triggerId}/delete', rows.delete, {
    next: back('removed'),
    failed,
  }),
];
