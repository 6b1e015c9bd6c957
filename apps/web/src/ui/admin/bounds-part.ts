/** The bounds of the instance: how many of each kind there may be. */
import { type BoundKind, boundKinds, bounds, type BoundSettings } from '@acp/contract';
import { asShown } from '../kit/as-shown.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { count } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { attributes, each, html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { formError, input } from '../kit/parts.ts';

const names: Readonly<Record<BoundKind, string>> = texts({
  agents: 'Agents',
  projects: 'Projects',
  goals: 'Goals',
  labels: 'Labels',
  skills: 'Skills',
  notes: 'Notes',
  routines: 'Routines',
  chats: 'Chats',
  secrets: 'Secrets',
  providers: 'Providers',
  budget_policies: 'Budgets',
  model_prices: 'Prices',
  webhooks: 'Outbound webhooks',
  a2a_peers: 'Peers',
  mcp_servers: 'MCP servers',
  channels: 'Channels',
  plugins: 'Plugins',
  members: 'Members',
  invites: 'Open invites',
  board_user_keys: 'Keys of integrations',
  approvals: 'Pending approvals',
  agent_keys: 'Keys per agent',
  routine_triggers: 'Triggers per routine',
  documents: 'Documents per issue',
  attachments: 'Attachments per issue',
  work_products: 'Work products per issue',
  execution_decisions: 'Decisions per issue',
  relations: 'Relations per issue',
  saved_views: 'Saved views',
});

const fieldOf = (kind: BoundKind): string => `bounds.${kind}`;

/** Undefined for another form; null if every field is empty. */
export function readBounds({ whole }: FormValues): BoundSettings | null | undefined {
  if (!whole.has('bounds')) return undefined;
  const given = boundKinds.flatMap((kind) => {
    const value = whole.number(fieldOf(kind));
    return value === undefined ? [] : [[kind, value] as const];
  });
  return given.length === 0 ? null : Object.fromEntries(given);
}

export async function boundsPart(
  path: string,
  settings: BoundSettings | null,
  error: string | null,
  form: FormValues | null,
): Promise<Html> {
  const mine = form?.has('bounds') === true ? form : null;
  const errors = new FieldErrors(
    mine && error,
    boundKinds.map((kind) => fieldOf(kind)),
  );
  const field = (kind: BoundKind): Html =>
    input({
      name: fieldOf(kind),
      label: names[kind],
      type: 'number',
      min: 1,
      value: mine?.sent(fieldOf(kind)) ?? String(settings?.[kind] ?? ''),
      hint: t`By default ${count(bounds[kind].most)}`,
      error: errors.of(fieldOf(kind)),
    });
  const fields = html`<form method="post" action="${path}">
    !${formError(errors.general)}<input type="hidden" name="bounds" value="on" />
    <div class="row">!${each(boundKinds, field)}</div>
    <button>Save</button>
  </form>`;
  return html`<details class="card" !${attributes({ open: mine !== null })}>
    <summary>Limits</summary>
    <p class="soft">Limits per company, including its trash. What already exists stays.</p>
    !${await asShown(fields, mine)}
  </details>`;
}
