/**
 * Fields that choose an agent, a project, a goal or a label may say its name instead of its id: where there are many, it is typed
 * (choice.ts). Each name is resolved here, before the endpoint is called and before a list is filtered.
 */
import { findNames, namedExactly, type NamedKind } from '@acp/core';
import type { Tx } from '@acp/db';
import { invalid, isUuid } from '@acp/kernel';
import { type FormValues, NONE } from './form-values.ts';
import { t } from './language.ts';
import type { UiContext } from './ui-routes.ts';

/** Of forms that are posted. */
const posted = {
  agent: [
    'agent_id',
    'agent_ids',
    'assignee_agent_id',
    'default_agent_id',
    'lead_agent_id',
    'owner_agent_id',
    'reports_to',
  ],
  project: ['project_id'],
  goal: ['goal_id', 'parent_goal_id'],
  label: ['label_id', 'add_label', 'remove_label'],
} as const satisfies Record<NamedKind, readonly string[]>;

/** Of filters, in addresses. */
const sought = {
  agent: ['agent', 'assignee'],
  project: ['project'],
  goal: ['goal'],
  label: ['label'],
} as const satisfies Record<NamedKind, readonly string[]>;

export type ChoiceField = (typeof posted | typeof sought)[NamedKind][number];
export const namedKinds = Object.keys(posted) as NamedKind[];

type Place = Pick<UiContext, 'tx' | 'company_id'>;

/** As many as an error names. */
const MOST_NAMED = 4;

/** More than anybody types into one form: each is looked up. */
const MOST_TYPED = 100;

/** Longer than any name. */
const LONGEST = 500;

/** What stands for none of them in the reader's language. */
export const noneOf = (kind: NamedKind): string => (kind === 'agent' ? t`nobody` : t`none`);

/** @throws invalid for a name that nothing has, or several, and for more than somebody may have typed */
export async function resolveNames({ tx, company_id }: Place, form: FormValues): Promise<FormValues> {
  const resolved: Record<string, readonly string[]> = {};
  for (const [field, kind] of fieldsOf(posted)) {
    const values = form.all(field);
    const typed = values.filter((value) => !isResolved(value));
    if (company_id === '' || typed.length === 0) continue;
    if (typed.length > MOST_TYPED) throw invalid(t`${field}: At most ${MOST_TYPED} can be named at once.`);
    const ids = [];
    for (const value of values) ids.push(await idOf({ tx, company_id }, kind, field, value));
    resolved[field] = ids;
  }
  return Object.keys(resolved).length === 0 ? form : form.replaced(resolved);
}

const fieldsOf = (fields: Record<NamedKind, readonly string[]>): [field: string, kind: NamedKind][] =>
  namedKinds.flatMap((kind) => fields[kind].map((field) => [field, kind] as [string, NamedKind]));

const isResolved = (value: string): boolean => value.trim() === '' || value === NONE || isUuid(value);

async function idOf(
  { tx, company_id }: Place,
  kind: NamedKind,
  field: string,
  value: string,
): Promise<string> {
  if (isResolved(value)) return value;
  const text = value.replaceAll('\0', '').trim().slice(0, LONGEST);
  const found = await namedExactly(tx, company_id, kind, text);
  if (found.length === 1) return found[0]!.id;
  if (found.length === 0 && text.toLowerCase() === noneOf(kind).toLowerCase()) return NONE;
  throw invalid(
    t`${field}: ${found.length === 0 ? await unknownName(tx, company_id, kind, text) : sharedName(text, found)}`,
  );
}

async function unknownName(tx: Tx, company_id: string, kind: NamedKind, text: string): Promise<string> {
  const similar = await findNames(tx, company_id, kind, text, MOST_NAMED + 1);
  const named = similar.slice(0, MOST_NAMED).map(({ unique_name }) => unique_name);
  if (named.length === 0) return t`Nothing here is called “${text}”.`;
  if (similar.length > MOST_NAMED)
    return t`Nothing here is called “${text}”; there are ${named.join(', ')} and more.`;
  return t`Nothing here is called “${text}”; there are: ${named.join(', ')}.`;
}

function sharedName(text: string, found: readonly { unique_name: string }[]): string {
  const named = found.slice(0, MOST_NAMED).map(({ unique_name }) => unique_name);
  return t`Several are called “${text}”: ${named.join(', ')}.`;
}

/**
 * A query whose names of the fields are ids. What is not found is left out, as if it had not been asked for.
 * @returns `error` says what is wrong with the first such field
 */
export async function resolveQuery(
  place: Place,
  query: Readonly<Record<string, string>>,
): Promise<{ query: Record<string, string>; error: string | null }> {
  const resolved = { ...query };
  let error: string | null = null;
  for (const [field, kind] of fieldsOf(sought)) {
    const value = query[field];
    if (value === undefined) continue;
    try {
      resolved[field] = await idOf(place, kind, field, value);
    } catch (refused) {
      delete resolved[field];
      error ??= (refused as Error).message;
    }
  }
  return { query: resolved, error };
}
