import type { McpServer, McpServerCall, McpServerTool } from '@acp/contract';
import { asShown } from '../kit/as-shown.ts';
import { choice, type Offer } from '../kit/choice.ts';
import { LIST } from '../kit/form-fields.ts';
import { count, timeAgo } from '../kit/format.ts';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { plural, say, t } from '../kit/language.ts';
import { checkbox, postButton, status } from '../kit/parts.ts';
import type { Column } from '../kit/table.ts';
import { type TriedTool, tryForm } from './server-forms.ts';

const stateOf = ({ enabled, status: state }: McpServer): Html => status(enabled ? state : 'disabled');

export const serverColumns: Column<McpServer>[] = [
  { label: 'Server', cell: ({ id, name }) => html`<a href="/mcp-servers/${id}">${name}</a>` },
  {
    label: 'Address',
    cell: ({ url, command }) =>
      html`<code>${url === null ? t`program ${command ?? ''}` : new URL(url).host}</code>`,
  },
  { label: 'State', cell: stateOf },
  { label: 'Tools', kind: 'number', cell: ({ tool_count }) => html`${count(tool_count)}` },
  { label: 'Calls', kind: 'number', cell: ({ call_count }) => html`${count(call_count)}` },
  { label: 'Failed', kind: 'number', cell: ({ failed_call_count }) => html`${count(failed_call_count)}` },
  { label: 'Last called', cell: ({ last_called_at }) => timeAgo(last_called_at) },
];

export const callColumns: Column<McpServerCall>[] = [
  { label: 'Tool', cell: ({ tool }) => html`<code>${tool}</code>` },
  { label: 'By', cell: ({ actor_name }) => html`${actor_name}` },
  { label: 'State', cell: ({ ok }) => status(ok ? 'succeeded' : 'failed') },
  { label: 'What came of it', cell: ({ error }) => html`${error ?? ''}` },
  { label: 'Milliseconds', kind: 'number', cell: ({ duration_ms }) => html`${count(duration_ms)}` },
  { label: 'When', cell: ({ created_at }) => timeAgo(created_at) },
];

/** Listings and calls are reported by no event: while the server is in use, the page looks for the next ones. */
export const lookedFor = ({ enabled }: McpServer, mark: string): Html =>
  attributes({ 'data-awaits': enabled ? mark : null });

/** The server's health, and a button that tests it. */
export function healthPart(server: McpServer): Html {
  const { id, enabled, last_error, failing_since, last_listed_at, protocol_version, server_info } = server;
  const mark = `${server.status} ${String(last_listed_at)} ${server.call_count}`;
  return html`<section class="card" !${lookedFor(server, mark)}>
    <h2>Health</h2>
    <p>
      <span data-told>!${stateOf(server)}</span>
      !${when(failing_since, (since) => html`<span class="soft small">first failed !${timeAgo(since)}</span>`)}
    </p>
    !${when(enabled && server.status === 'unlisted', () => html`<p class="soft">Its tools are listed within seconds.</p>`)}
    !${when(last_error, (reason) => html`<p class="error">${say(reason)}</p>`)}
    <dl class="facts">
      <dt>Listed</dt>
      <dd>!${last_listed_at === null ? html`never` : timeAgo(last_listed_at)}</dd>
      <dt>Tools</dt>
      <dd>${count(server.tool_count)}</dd>
      <dt>Reported name</dt>
      <dd>${server_info ?? t`nothing yet`}</dd>
      <dt>Protocol</dt>
      <dd>${protocol_version ?? t`not negotiated yet`}</dd>
      <dt>Calls</dt>
      <dd>${count(server.call_count)}, of which ${count(server.failed_call_count)} failed</dd>
    </dl>
    <p>
      !${when(enabled, () => postButton(`/mcp-servers/${id}/refresh`, 'Test and list its tools', { class: 'quiet' }))}
      !${postButton(`/mcp-servers/${id}/enabled`, enabled ? 'Switch off' : 'Switch on', { class: 'quiet', fields: { enabled: enabled ? '' : 'on' } })}
    </p>
  </section>`;
}

interface Ticked {
  name: string;
  value: string;
  label: string;
  about?: string;
  /** What is wrong with it. */
  note?: Html;
  checked: boolean;
}

const tick = ({ name, value, label, about, note = '', checked }: Ticked): Html =>
  html`<label class="check"
    ><input type="checkbox" name="${name}" value="${value}" !${attributes({ checked, [LIST]: '' })} /><span
      ><code>${label}</code>
      !${when(about, (text) => html`<span class="soft small">${text}</span>`)}!${note}</span
    ></label
  >`;

/** Longer lists are folded, so that the parts below them can be found. */
const MOST_SHOWN = 20;

/** Says that the form has these boxes, even if none is ticked. */
const twin = (name: string): Html => html`<input type="hidden" name="${name}" value="" />`;

const folded = (many: number, summary: Html, list: Html): Html =>
  many > MOST_SHOWN
    ? html`<details>
        <summary>!${summary}</summary>
        !${list}
      </details>`
    : list;

/**
 * The tools, once there are some; then they stay as they are, since somebody may be choosing.
 * @param tried its answer stays, too
 */
export async function toolsPart(
  server: McpServer,
  tools: readonly McpServerTool[],
  tried: TriedTool | null = null,
): Promise<Html> {
  const awaits = server.enabled && tools.length === 0 && tried === null;
  return html`<div!${attributes({ 'data-awaits': awaits })}>
    !${await toolsForm(server, tools)}!${tryForm(server, tools, tried)}
  </div>`;
}

/** Tools that can't be called because of their names. */
const clashes = ({ left_out, taken }: McpServerTool): Html =>
  html`!${when(taken, () => html` <span class="error small">Not reached: a plugin has a tool of this name, which is called instead.</span>`)}!${when(left_out.length > 0, () => html` <span class="error small">Left out, as they would have the same name: ${left_out.join(', ')}</span>`)}`;

/** Chooses which of the server's tools are allowed. Their descriptions come from the server. */
function toolsForm(
  { id, name: server, tools: allowed }: McpServer,
  tools: readonly McpServerTool[],
): Promise<Html> {
  const listed = each(tools, (tool) => {
    const { name, called, description, allowed: checked } = tool;
    const about = { about: description, note: clashes(tool) };
    return tick({ name: 'tool', value: name, label: called, ...about, checked });
  });
  // A server may leave tools out for a while: they stay allowed until somebody says otherwise.
  const away = (allowed ?? []).filter((name) => !tools.some((tool) => tool.name === name));
  const others = each(away, (name) =>
    tick({
      name: 'tool',
      value: name,
      label: `${server}__${name}`,
      about: t`Not listed at present`,
      checked: true,
    }),
  );
  const list = tools.length + away.length > 0 ? listed + others : html`<p class="soft">None listed yet.</p>`;
  return asShown(
    html`<form class="card" method="post" action="/mcp-servers/${id}/tools">
      <h2>Tools</h2>
      <p class="soft">Agents read each tool’s own description. Select the ones they need.</p>
      !${checkbox({ name: 'all', label: 'All, including future ones', checked: allowed === null })}
      <fieldset>
        <legend>Or only these</legend>
        !${twin('tool')}!${folded(tools.length, html`${plural(tools.length, '# tool', '# tools')}`, list)}
      </fieldset>
      <button>Save</button>
    </form>`,
  );
}

/** Chooses which agents may use the server. */
export function agentsForm({ id, agents: access }: McpServer, offer: Offer): Promise<Html> {
  const { listed, source } = offer;
  const has = new Set(access?.map(({ agent_id }) => agent_id));
  const list = each(listed, ({ id: value, name }) =>
    tick({ name: 'agent_ids', value, label: name, checked: has.has(value) }),
  );
  const another = when(source, () => choice({ name: 'agent_ids', label: 'Another agent', value: '', offer }));
  return asShown(
    html`<form class="card" method="post" action="/mcp-servers/${id}/agents">
      <h2>Agents</h2>
      !${checkbox({ name: 'all', label: 'Every agent of the company', checked: access === null })}
      <fieldset>
        <legend>Or only these</legend>
        !${twin('agent_ids')}!${folded(listed.length, html`${count(listed.length)} agents`, list)}!${another}
      </fieldset>
      <button>Save</button>
    </form>`,
  );
}

export function deletePart({ id, name }: McpServer): Html {
  return html`<section class="card danger">
    <h2>Delete</h2>
    <p>Permanent, including the record of its calls.</p>
    !${postButton(`/mcp-servers/${id}/delete`, 'Delete permanently', { class: 'danger', confirm: t`Delete the server ${name}?` })}
  </section>`;
}
