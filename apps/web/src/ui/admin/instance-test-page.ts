/** Result of POST /admin/operations/providers/test, for a browser. */
import type { InstanceProviderTests, UserActor } from '@acp/contract';
import { html, type Html } from '../kit/html.ts';
import { say, t, texts } from '../kit/language.ts';
import { status } from '../kit/parts.ts';
import { shell } from '../kit/shell.ts';
import { type Column, table } from '../kit/table.ts';

type Tested = InstanceProviderTests['providers'][number];

const probes: Record<Tested['probe'], string> = texts({
  list_models: 'model list',
  message: 'a one-token message',
  caller_identity: 'caller identity',
});

const columns: Column<Tested>[] = [
  { label: 'Family', cell: ({ provider }) => html`<code>${provider}</code>` },
  {
    label: 'State',
    cell: ({ configured, ok }) => status(configured ? (ok ? 'ok' : 'failed') : 'not configured'),
  },
  { label: 'Probe', cell: ({ probe }) => html`${probes[probe]}` },
  { label: 'Models', kind: 'number', cell: ({ model_count }) => html`${model_count ?? '–'}` },
  {
    label: 'Time',
    kind: 'number',
    cell: ({ latency_ms }) => html`${latency_ms === null ? '–' : t`${latency_ms} ms`}`,
  },
  { label: 'Error', cell: ({ error }) => html`${say(error ?? '')}` },
];

export function instanceTestPage(user: UserActor, { providers }: InstanceProviderTests): Html {
  const body = html`<div class="card">!${table('Providers of the instance', columns, providers)}</div>
    <form method="post" action="/admin/operations/providers/test"><button>Test again</button></form>`;
  const trail = [{ label: t`Health`, path: '/admin/health' }];
  return shell({ title: t`Instance providers`, user, company: null, active: '/admin/health', trail, body });
}
