/** The current state of a plugin. */
import type { Plugin, PluginBound, PluginHealth } from '@acp/contract';
import { boundWords } from '@acp/kernel';
import { timeAgo, timeTo } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { say, t, texts } from '../kit/language.ts';
import { postButton, status } from '../kit/parts.ts';
import { type Column, table } from '../kit/table.ts';

/** What each capability permits a plugin to do, for admins about to allow it. */
const meanings: Readonly<Record<string, string>> = texts({
  http_fetch: 'fetch from public addresses, through the service',
  log: 'write into its log',
  kv: 'store its own values',
  'issues.read': 'read the issues and comments of the company',
  'issues.comment': 'comment on issues of the company',
  metrics: 'publish metrics on the metrics endpoint',
});

export const capabilityMeaning = (capability: string): string =>
  capability.startsWith('secret:')
    ? t`read the secret ${capability.slice('secret:'.length)}`
    : (meanings[capability] ?? capability);

export function stateFacts(plugin: Plugin, health: PluginHealth): Html {
  const { state, approval_state, version, slug } = plugin;
  return html`<h2>State</h2>
    <dl class="facts">
      <dt>State</dt>
      <dd>!${status(state)}</dd>
      <dt>Approval</dt>
      <dd>!${status(approval_state)}</dd>
      <dt>Health</dt>
      <dd>!${healthOf(health)}</dd>
      !${when(
        health.started_at,
        (at) =>
          html`<dt>Started</dt>
            <dd>!${timeAgo(at)}</dd>`,
      )}
      !${when(
        health.next_start_at,
        (at) =>
          html`<dt>Restarts</dt>
            <dd>!${timeTo(at)}</dd>`,
      )}
      <dt>Crashes</dt>
      <dd>${health.recent_crashes} in five minutes</dd>
      <dt>Sandbox</dt>
      <dd>!${sandboxOf(plugin)}</dd>
      <dt>Version</dt>
      <dd>${version ?? '–'}</dd>
      <dt>Slug</dt>
      <dd><code>${slug}</code></dd>
    </dl>`;
}

function healthOf({ status: running, healthy, last_checked_at }: PluginHealth): Html {
  if (running === 'not_running') return html`<span class="soft">not running</span>`;
  if (healthy === null) return html`<span class="soft">not checked yet</span>`;
  return html`!${status(healthy ? 'healthy' : 'failing')}
    <span class="soft small">!${timeAgo(last_checked_at)}</span>`;
}

function sandboxOf({ sandbox }: Plugin): Html {
  if (sandbox === null) return html`<span class="soft">has not run yet</span>`;
  if (sandbox === 'bare')
    return html`!${status('warn')} <span class="small">none: a plain process of the scheduler</span>`;
  return html`${sandbox}`;
}

const boundColumns: Column<PluginBound>[] = [
  { label: 'Limit', cell: ({ bound }) => html`${boundWords.bound[bound]}` },
  { label: 'At most', cell: ({ limit }) => html`${limit}` },
  {
    label: 'Held by',
    cell: ({ held_by }) =>
      html`!${when(held_by === 'nothing', () => status('warn'))} ${boundWords.held_by[held_by]}`,
  },
];

/** The bounds of a running process, and what enforces each. */
export const boundTable = (bounds: readonly PluginBound[]): Html => table('Bounds', boundColumns, bounds);

export const boundsCard = ({ bounds }: PluginHealth): Html =>
  when(
    bounds,
    (held) =>
      html`<section class="card">
        <h2>Bounds</h2>
        !${boundTable(held)}
      </section>`,
  );

/** Why the plugin is not running, with the end of its standard error. */
export const errorCard = ({ error }: Plugin): Html =>
  when(
    error,
    (text) =>
      html`<section class="card danger">
        <h2>What went wrong</h2>
        <pre class="wrapped">${say(text)}</pre>
      </section>`,
  );

/** The binary, its capabilities, and for admins the decision. */
export function approvalCard(plugin: Plugin, admin: boolean): Html {
  const { binary_path, binary_hash, approved_binary_hash, host_capabilities, approval_state } = plugin;
  return html`<section class="card">
    <h2>Approval</h2>
    <p>${explained[approval_state]}</p>
    !${when(
      approval_state === 'pending' && binary_hash === null,
      () =>
        html`<p>
          Its SHA-256 is shown here once it is allowed: compare it with the one published by its author before
          you start it.
        </p>`,
    )}
    <dl class="facts">
      <dt>File</dt>
      <dd><code>${binary_path ?? t`none yet`}</code></dd>
      !${when(
        binary_hash,
        (hash) =>
          html`<dt>Expected</dt>
            <dd><code>${hash}</code></dd>`,
      )}
      !${when(
        approved_binary_hash,
        (hash) =>
          html`<dt>Allowed</dt>
            <dd><code>${hash}</code></dd>`,
      )}
    </dl>
    !${
      host_capabilities.length === 0
        ? html`<p>It may use nothing of the service.</p>`
        : html`<p>It may</p>
            <ul>
              !${each(host_capabilities, (each_) => html`<li>${capabilityMeaning(each_)}</li>`)}
            </ul>`
    }
    !${when(admin, () => approvalActs(plugin))}
  </section>`;
}

const explained: Record<Plugin['approval_state'], string> = texts({
  pending: 'It does not run. Allowing it takes a copy of the file, and only that copy is ever run.',
  allowed:
    'Only the copy with this SHA-256 runs. Another file at the same path is rejected at the next start.',
  banned: 'It can’t be started.',
});

function approvalActs({ id, name, approval_state, binary_path }: Plugin): Html {
  const allow = postButton(`/plugins/${id}/allow`, 'Allow', {
    class: '',
    confirm: t`Run ${binary_path ?? name} in this company?`,
  });
  const ban = postButton(`/plugins/${id}/ban`, 'Ban', {
    class: 'danger',
    confirm: t`Ban ${name}? It stops immediately.`,
  });
  const rescind = postButton(`/plugins/${id}/rescind-ban`, 'Lift the ban');
  return html`<div class="row">
    !${when(approval_state !== 'allowed' && binary_path, () => allow)}
    !${approval_state === 'banned' ? rescind : ban}
  </div>`;
}

/** The actions currently available. */
export function runActs({ id, name, state, approval_state, enabled }: Plugin): Html {
  const act = (what: string, label: string, options: Parameters<typeof postButton>[2] = {}): Html =>
    postButton(`/plugins/${id}/${what}`, label, options);
  const runs = state === 'running' || state === 'ready';
  const mayRun = enabled && approval_state === 'allowed';
  const startable = mayRun && ['installed', 'stopped'].includes(state);
  const restartable = mayRun && ['running', 'errored'].includes(state);
  return html`<div class="row">
    !${when(startable, () => act('start', t`Start`, { class: '' }))}
    !${when(restartable, () => act('restart', state === 'errored' ? t`Start again` : t`Restart`))}
    !${when(runs, () => act('stop', t`Stop`, { confirm: t`Stop ${name}?` }))}
    !${act('enabled', enabled ? t`Switch off` : t`Switch on`, { fields: { enabled: enabled ? '' : 'on' } })}
  </div>`;
}
