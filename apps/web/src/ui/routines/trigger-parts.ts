/** Triggers on their routine's page: when they fire, and how they are called. */
import { type RoutineTrigger, type SigningMode, signingModes } from '@acp/contract';
import { asShown } from '../kit/as-shown.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { attributes, html, type Html, when } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { formError, input, postButton, select, status } from '../kit/parts.ts';
import type { Refused } from './routine-form.ts';
import { scheduleFields } from './schedule-fields.ts';
import { cronWords, fireList } from './schedule-words.ts';

type TriggerKind = RoutineTrigger['kind'];

export interface TriggerView {
  trigger: RoutineTrigger;
  /** The next five fires of an enabled schedule, while its routine is active. */
  fires: readonly Date[];
  /** Why there are none, if that is an error. */
  problem: string | null;
  /** Null for a schedule, and where it is not shown to the user: the URL alone may be enough to fire it. */
  url: string | null;
  /** Of a webhook: who answers for it. */
  by: Html;
}

export interface TriggerForms {
  can_write: boolean;
  /** Whether secrets can be stored: an encryption key is set. */
  signable: boolean;
  /** Default of a new schedule. */
  time_zone: string;
  /** The rejected form, if any: `schedule`, `webhook`, or the id of a trigger. */
  refused: (Refused & { at: string }) | null;
}

const modeWords: Readonly<Record<SigningMode, string>> = texts({
  none: 'not signed',
  hmac: 'signed (hmac)',
  hmac_ts: 'signed, with the time (hmac_ts)',
});

const calls: Readonly<Record<SigningMode, () => Html>> = {
  none: () => html`Not signed: anyone who knows the URL can fire it.`,
  hmac: () => html`Signed: <code>X-Service-Signature</code> is the hex HMAC-SHA256 of the body.`,
  hmac_ts: () =>
    html`Signed: <code>X-Service-Timestamp</code> is the time in Unix seconds,
      <code>X-Service-Signature</code> the hex HMAC-SHA256 of that time, a dot, and the body.`,
};

export async function triggerCard(view: TriggerView, forms: TriggerForms): Promise<Html> {
  const { trigger } = view;
  const { kind, enabled, label } = trigger;
  const path = `/routine-triggers/${trigger.id}`;
  return html`<article class="card" id="trigger-${trigger.id}">
    <div class="comment-head">
      !${status(enabled ? 'on' : 'off')}
      <strong>${label ?? (kind === 'schedule' ? t`Schedule` : t`Webhook`)}</strong>
      <span class="grow"></span>
      !${when(forms.can_write, () => postButton(`${path}/enabled`, enabled ? 'Switch off' : 'Switch on', { class: 'quiet small', fields: { enabled: enabled ? '' : 'on' } }))}
    </div>
    !${kind === 'schedule' ? scheduleFacts(view) : webhookFacts(view, forms.can_write)}
    !${forms.can_write ? await changes(trigger, forms) : ''}
  </article>`;
}

function scheduleFacts({ trigger, fires, problem }: TriggerView): Html {
  const zone = trigger.timezone ?? 'UTC';
  const expression = trigger.cron_expression ?? '';
  return html`<p>${cronWords(expression)} <code>${expression}</code> <span class="soft">${zone}</span></p>
    !${formError(new FieldErrors(problem, ['timezone']).of('timezone') ?? problem)}!${when(fires.length > 0, () => fireList(fires, zone))}`;
}

function webhookFacts({ trigger, url, by }: TriggerView, can_write: boolean): Html {
  const { signing_mode, replay_window_sec: window } = trigger;
  return html`!${when(url, (address) => html`<p><span class="soft">POST</span> <code class="address">${address}</code></p>`)}
    !${when(url === null && can_write, () => html`<p class="soft small">The URL is shown only to whoever created it. With a new one, this one stops working.</p>`)}
    <p class="soft small">
      !${calls[signing_mode]()}
      ${window === 0 ? t`The same body may be sent again at any time.` : t`The same body again within ${window} s is refused.`}
      !${when(by, (name) => html`By !${name}.`)}
    </p>`;
}

/** The forms that change a trigger, folded by default. */
async function changes(trigger: RoutineTrigger, { refused, signable }: TriggerForms): Promise<Html> {
  const mine = refused?.at === trigger.id ? refused : null;
  const path = `/routine-triggers/${trigger.id}`;
  return html`<details class="edit" !${attributes({ open: mine !== null })}>
    <summary>Change</summary>
    !${await asShown(changeForm(trigger, mine), mine?.form)}
    !${trigger.kind === 'webhook' ? await asShown(signingForm(trigger, signable)) : ''}
    <div class="buttons">
      !${when(trigger.kind === 'webhook', () => postButton(`${path}/rotate-url`, 'New URL', { class: 'quiet small', confirm: 'The old URL stops working immediately. Continue?' }))}
      !${when(trigger.signing_mode !== 'none' && signable, () => postButton(`${path}/rotate-secret`, 'New secret', { class: 'quiet small', confirm: 'The old secret stops working immediately. Continue?' }))}
      !${postButton(`${path}/delete`, 'Remove', { class: 'danger small', confirm: 'Delete this trigger permanently?' })}
    </div>
  </details>`;
}

function changeForm(trigger: RoutineTrigger, refused: Refused | null): Html {
  const { id, kind } = trigger;
  const errors = new FieldErrors(refused?.error ?? null, triggerFields);
  const value = (name: 'label' | 'cron_expression' | 'timezone' | 'replay_window_sec'): string =>
    refused?.form.has(name) ? refused.form.text(name) : String(trigger[name] ?? '');
  const own =
    kind === 'schedule'
      ? scheduleFields({
          form: id,
          cron_expression: value('cron_expression'),
          timezone: value('timezone'),
          errors,
        })
      : input({
          name: 'replay_window_sec',
          id: `replay_window_sec-${id}`,
          label: 'Refuse the same body for',
          type: 'number',
          min: 0,
          value: value('replay_window_sec'),
          hint: 'Seconds; 0 refuses none',
          error: errors.of('replay_window_sec'),
        });
  return html`<form method="post" action="/routine-triggers/${id}">
    !${formError(errors.general)}
    <div class="row">
      !${input({ name: 'label', id: `label-${id}`, label: 'Label', value: value('label'), error: errors.of('label') })}
      !${own}
    </div>
    <button class="quiet">Save</button>
  </form>`;
}

const signingForm = ({ id, signing_mode }: RoutineTrigger, signable: boolean): Html =>
  html`<form method="post" action="/routine-triggers/${id}/signing-mode" class="row">
    !${select({ name: 'signing_mode', id: `signing_mode-${id}`, label: 'Signature', value: signing_mode, choices: modes(signable), hint: signable ? 'Switching to a signed mode creates a secret, shown once' : unsignable })}
    <button class="quiet">Save</button>
  </form>`;

const triggerFields = ['label', 'cron_expression', 'timezone', 'replay_window_sec', 'signing_mode'] as const;
const unsignable = 'Signing needs SERVICE_ENCRYPTION_KEY, which this instance does not have';
const modes = (signable: boolean) =>
  signingModes
    .filter((mode) => signable || mode === 'none')
    .map((mode) => ({ value: mode, label: modeWords[mode] }));

/** Forms that add a schedule or a webhook, folded; the schedule is unfolded if the routine has no trigger yet. */
export function newTriggers(routine_id: string, forms: TriggerForms, first: boolean): Html {
  const { refused, signable, time_zone } = forms;
  const back = (kind: TriggerKind) => (refused?.at === kind ? refused : null);
  const [schedule, webhook] = [back('schedule'), back('webhook')];
  const scheduleErrors = new FieldErrors(schedule?.error ?? null, triggerFields);
  const webhookErrors = new FieldErrors(webhook?.error ?? null, triggerFields);
  const cron = scheduleFields({
    form: 'schedule',
    cron_expression: schedule?.form.text('cron_expression') ?? '0 9 * * 1',
    timezone: schedule?.form.text('timezone') ?? time_zone,
    errors: scheduleErrors,
  });
  const signature = select({
    name: 'signing_mode',
    id: 'signing_mode-webhook',
    label: 'Signature',
    value: webhook?.form.text('signing_mode') || (signable ? 'hmac' : 'none'),
    choices: modes(signable),
    hint: signable ? 'The secret is shown once' : unsignable,
    error: webhookErrors.of('signing_mode'),
  });
  const add = (kind: TriggerKind, title: string, errors: FieldErrors, content: Html, open: boolean): Html => {
    const label = {
      name: 'label',
      id: `label-${kind}`,
      label: 'Label',
      value: back(kind)?.form.text('label') ?? '',
      error: errors.of('label'),
    };
    return html`<details class="edit" !${attributes({ open })}>
      <summary>${title}</summary>
      <form method="post" action="/routines/${routine_id}/triggers">
        <input type="hidden" name="kind" value="${kind}" />
        !${formError(errors.general)}
        <div class="row">!${content}!${input(label)}</div>
        <button>Add</button>
      </form>
    </details>`;
  };
  const inviting = first && refused === null;
  return html`<div class="card adds">
    !${add('schedule', t`Add a schedule`, scheduleErrors, cron, inviting || schedule !== null)}
    !${add('webhook', t`Add a webhook`, webhookErrors, signature, webhook !== null)}
  </div>`;
}
