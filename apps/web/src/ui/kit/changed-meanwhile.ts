/**
 * Applies the changes of a posted form to what is there now. If somebody else has changed the same field since the form was
 * shown, nothing is saved: the form comes back with what was typed, and says what the field is now.
 */
import { ServiceError } from '@acp/kernel';
import { AS_SHOWN, digestOf, isAsShown } from './as-shown.ts';
import type { Unsent } from './error-page.ts';
import { type Field, itemsOf, keyOf, type ReadForm, readForms, valuesOf } from './form-fields.ts';
import { FormValues } from './form-values.ts';
import { giveBack } from './give-back.ts';
import { each, html, type Html } from './html.ts';
import { t } from './language.ts';
import type { ActionRow, UiContext } from './ui-routes.ts';

export class ChangedMeanwhile extends ServiceError {
  /** As they are now. */
  readonly fields: readonly Field[];

  constructor(fields: readonly Field[]) {
    super('conflict', t`Somebody else has changed this in the meantime.`);
    this.fields = fields;
  }
}

/** @throws ChangedMeanwhile also if the form is no longer there: it can't be told what else it would say */
export async function applied(route: ActionRow, context: UiContext, sent: FormValues): Promise<FormValues> {
  if (route.edits === undefined || sent.shown === null) return sent;
  const now = formOf(await readForms(await route.edits(context)), context.request.path, sent);
  if (now === undefined) throw new ChangedMeanwhile([]);
  return appliedTo(now, sent);
}

/** Several forms of a page may post to the same path: their hidden fields distinguish them. */
const formOf = (forms: readonly ReadForm[], path: string, sent: FormValues): ReadForm | undefined =>
  forms.find(
    ({ action, fields, hidden }) =>
      action.split('?')[0] === path &&
      hidden.has(AS_SHOWN) &&
      sent.names.every((name) => fields.has(name) || hidden.has(name)) &&
      [...hidden].every(([name, value]) => name === AS_SHOWN || sent.all(name).includes(value)),
  );

function appliedTo(now: ReadForm, sent: FormValues): FormValues {
  const shown = sent.shown ?? new Map<string, unknown>();
  const changes: Record<string, readonly string[]> = Object.fromEntries(
    sent.names.map((name) => [name, sent.all(name)]),
  );
  const overtaken: Field[] = [];
  for (const [name, typed] of Object.entries(changes)) {
    const field = now.fields.get(name);
    const before = shown.get(name);
    if (field === undefined || before === undefined || isAsShown(field, before)) continue;
    if (digestOf(field.values) === digestOf(typed)) continue;
    const merged = field.list && Array.isArray(before) ? mergedList(field, before, typed) : null;
    if (merged === null) overtaken.push(field);
    else changes[name] = merged;
  }
  if (overtaken.length > 0) throw new ChangedMeanwhile(overtaken);
  const rest = Object.fromEntries([...now.fields.values()].map(({ name, values }) => [name, values]));
  return new FormValues(changes, {
    shown,
    whole: new FormValues({ ...rest, ...changes }),
  });
}

/** Longer than any list that an endpoint takes. */
const MOST_ITEMS = 5000;

/**
 * The list as it is now, without what was removed from the shown one and with what was added. Null if both gave a key a value, or it
 * can't be a list that a form has shown.
 */
function mergedList(
  { values, list }: Field,
  before: readonly unknown[],
  typed: readonly string[],
): string[] | null {
  if (list === null) return null;
  const now = itemsOf(values, list.separator);
  const wanted = itemsOf(typed, list.separator);
  if (wanted.length > MOST_ITEMS) return null;
  const [shown, isNow, isWanted] = [new Set(before), new Set(now), new Set(wanted)];
  const wasShown = (item: string): boolean => shown.has(digestOf([item]));
  const kept = now.filter((item) => isWanted.has(item) || !wasShown(item));
  const added = wanted.filter((item) => !isNow.has(item) && !wasShown(item));
  const others = new Set(kept.filter((item) => !wasShown(item)).map((item) => keyOf(item, list)));
  if (added.some((item) => others.has(keyOf(item, list)))) return null;
  return valuesOf([...kept, ...added], list.separator);
}

/** The form with what was typed: saved again, it replaces what the other person wrote. */
export async function overtakenPage(
  route: ActionRow,
  context: UiContext,
  { fields }: ChangedMeanwhile,
  { typed, secrets }: Unsent,
): Promise<Html | null> {
  if (route.edits === undefined) return null;
  const { path } = context.request;
  const page = await giveBack(await route.edits(context), path, typed, secrets);
  const form = formOf(await readForms(page), path, typed);
  if (form === undefined) return null;
  const shown = fields.filter(({ name }) => !secrets.includes(name));
  return page.slice(0, form.start) + said(shown) + page.slice(form.start);
}

const said = (fields: readonly Field[]): Html =>
  html`<div class="error form-error overtaken" role="alert" id="overtaken" tabindex="-1">
    <p>
      Somebody else has changed this in the meantime, so nothing was saved. What you typed is still here:
      saving again replaces what it says now.
    </p>
    <dl>
      !${each(
        fields,
        ({ label, name, values }) =>
          html`<dt>${label || name}</dt>
            <dd>${values.at(-1) ?? ''}</dd>`,
      )}
    </dl>
  </div>`;
