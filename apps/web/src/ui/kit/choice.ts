/**
 * A field that chooses one of a company's agents, projects, goals or labels: a list of all of them while there are some dozens. If
 * there are more, a name is typed: the script offers those that fit (choice.js), and the server knows it by itself (choice-names.ts).
 */
import { findNames, type Named, namesOf, type NamedKind, offeredNames } from '@acp/core';
import { isUuid, notFound } from '@acp/kernel';
import { type ChoiceField, namedKinds, noneOf } from './choice-names.ts';
import { words } from './format.ts';
import { NONE } from './form-values.ts';
import { attributes, each, html, type Html, when } from './html.ts';
import { currentLocale, t } from './language.ts';
import { type Choice, type FieldOptions, input, select } from './parts.ts';
import { page, type UiContext, type UiRoute } from './ui-routes.ts';

/** A longer list is not read through. */
const MOST_LISTED = 50;
/** Offered for what has been typed. */
const MOST_OFFERED = 20;

type Place = Pick<UiContext, 'tx' | 'company_id'>;

export interface Offer {
  kind: NamedKind;
  /** All that can be chosen, and what was chosen before; if there are too many, only the latter. */
  listed: readonly Named[];
  /** Where names are asked for; null if all are listed. */
  source: string | null;
}

/** @param chosen ids of what the fields show now */
export async function offerOf(
  { tx, company_id }: Place,
  kind: NamedKind,
  ...chosen: readonly (string | null | undefined)[]
): Promise<Offer> {
  const all = await offeredNames(tx, company_id, kind, MOST_LISTED + 1);
  const isLong = all.length > MOST_LISTED;
  const rest = chosen.filter((id) => id && isUuid(id) && (isLong || !all.some((one) => one.id === id)));
  const former = await namesOf(tx, company_id, kind, rest as string[]);
  const listed = isLong ? former : [...all, ...former];
  return {
    kind,
    listed: kind === 'agent' ? byName(listed) : listed,
    source: isLong ? `/companies/${company_id}/names/part/${kind}` : null,
  };
}

const byName = (agents: readonly Named[]): Named[] =>
  agents.toSorted((a, b) => a.name.localeCompare(b.name, currentLocale()));

interface ChoiceOptions extends FieldOptions {
  name: ChoiceField;
  offer: Offer;
  /** Choices ahead of the offer. The label of the one with the value '' is what an empty field means. */
  fixed?: readonly Choice[];
  /** What a list calls each, if not by its name. */
  named?: (one: Named) => string;
}

export function choice({ offer, fixed = [], named = ({ name }) => name, ...options }: ChoiceOptions): Html {
  const { listed, source } = offer;
  if (source === null)
    return select({
      ...options,
      choices: [...fixed, ...listed.map((one) => ({ value: one.id, label: named(one) }))],
    });
  const value = String(options.value ?? '');
  return input({
    ...options,
    type: 'text',
    value:
      listed.find(({ id }) => id === value)?.unique_name ?? (value === NONE ? noneOf(offer.kind) : value),
    placeholder: fixed.find((one) => one.value === '')?.label ?? t`name`,
    source: fixed.some((one) => one.value === NONE) ? `${source}?none=yes` : source,
  });
}

/** Options for the script, and a mark if there are more. `none`: what stands for none of them is one, too. */
async function namesPart({ tx, company_id, params, query }: UiContext<'company'>): Promise<Html> {
  const kind = namedKinds.find((known) => known === params.kind);
  if (kind === undefined) throw notFound();
  const q = (query.q ?? '').replaceAll('\0', '').trim().slice(0, 200);
  const found = await findNames(tx, company_id, kind, q, MOST_OFFERED + 1);
  const none = noneOf(kind);
  const hasNone = query.none === 'yes' && none.toLowerCase().startsWith(q.toLowerCase());
  return html`!${when(hasNone, () => option('', none))}!${each(found.slice(0, MOST_OFFERED), (one) => option(one.id, one.unique_name, one))}!${when(found.length > MOST_OFFERED, () => html`<p data-more></p>`)}`;
}

function option(id: string, name: string, { detail, status }: Partial<Named> = {}): Html {
  const about = [detail && words(detail), status === 'paused' && words(status)].filter(Boolean).join(', ');
  return html`<div role="option" id="choice-${id || NONE}" !${attributes({ 'data-value': name })}>
    <span class="grow">${name}</span> !${when(about, (text) => html`<span class="soft small">${text}</span>`)}
  </div>`;
}

export const choiceRoutes: UiRoute[] = [
  page(
    '/companies/{companyId}/names/part/{kind}',
    { scope: { by: 'company', param: 'companyId' }, role: 'viewer' },
    namesPart,
  ),
];
