/** A company's egress: its list of allowed hosts, hosts it would need, and refused requests. */
import type { CompanyEgress } from '@acp/contract';
import type { RefusedPlace } from '@acp/core';
import { writeHostRule } from '@acp/kernel';
import { asShown } from '../kit/as-shown.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { count, timeAgo, words } from '../kit/format.ts';
import type { FormValues } from '../kit/form-values.ts';
import { html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { emptyState, formError, notice, postButton, textarea } from '../kit/parts.ts';
import { type Column, table } from '../kit/table.ts';
import type { NeededHost } from './needed-hosts.ts';

interface EgressView {
  company_id: string;
  egress: CompanyEgress;
  /** Hosts named in the company’s own settings that the list lacks; without a list, all of them. */
  needed: readonly NeededHost[];
  refused: readonly RefusedPlace[];
  done: string | null;
  /** Error of a rejected form. */
  error: string | null;
  form: FormValues | null;
}

export const egressPath = (company_id: string): string => `/companies/${company_id}/egress`;

export async function egressBody(view: EgressView): Promise<Html> {
  return html`!${notice(view.done)}!${await listPart(view)}!${neededPart(view)}
    <section
      class="card scroll-x"
      tabindex="0"
      data-live="runs"
      data-source="${egressPath(view.company_id)}/part/refused"
    >
      !${refusedPart(view)}
    </section>`;
}

async function listPart({ company_id, egress, needed, error, form }: EgressView): Promise<Html> {
  const errors = new FieldErrors(error, ['hosts']);
  const path = egressPath(company_id);
  const { hosts, version } = egress;
  const typed = form?.sent('hosts') ?? (hosts ?? needed.map(({ host }) => host)).join('\n');
  const fields = html`<form class="card" method="post" action="${path}">
    <h2>${hosts === null ? t`No list yet` : t`Allowed hosts`}</h2>
    <p class="soft">
      ${
        hosts === null
          ? t`This company can reach whatever the instance can. With a list, only the hosts on it and this service can be reached.`
          : t`Version ${version}. Only these hosts and this service can be reached.`
      }
      It applies to agents’ programs and containers, model calls, plugins, tools, webhooks, peers and
      repositories, from the next connection on.
    </p>
    !${formError(errors.general)}
    !${textarea({ name: 'hosts', label: 'One per line', items: '', value: typed, rows: Math.min(14, Math.max(5, typed.split('\n').length + 1)), mono: true, hint: 'host, host:port, *.domain, *.domain:port; port 443 unless another or * is given', error: errors.of('hosts') })}
    <button>${hosts === null ? t`Allow only these hosts` : t`Save`}</button>
  </form>`;
  return html`!${await asShown(fields, form)}
  !${when(
    hosts !== null,
    () =>
      html`<section class="card danger">
        <h2>Lift the restriction</h2>
        <p>Then this company can again reach whatever the instance can.</p>
        !${postButton(`${path}/delete`, 'Remove the list', { class: 'danger', fields: { version: String(version) }, confirm: 'Remove the host list?' })}
      </section>`,
  )}`;
}

function neededPart({ company_id, egress, needed }: EgressView): Html {
  if (egress.hosts === null || needed.length === 0) return html``;
  return html`<section class="card scroll-x" tabindex="0" aria-label="Hosts in use that are not allowed">
    <h2>In use, but not allowed</h2>
    <p class="soft">These fail until their host is on the list.</p>
    !${table(
      'Hosts in use that are not allowed',
      [
        { label: 'Host', cell: ({ host }) => html`<code>${host}</code>` },
        { label: 'For', cell: ({ what, path }) => html`<a href="${path}">${what}</a>` },
        { label: 'Actions', kind: 'acts', cell: ({ host }) => allowButton(company_id, host) },
      ],
      needed,
    )}
  </section>`;
}

const allowButton = (company_id: string, host: string): Html =>
  postButton(`${egressPath(company_id)}/add`, 'Allow', {
    class: 'quiet small',
    fields: { host },
  });

/** The part that refreshes itself. */
export function refusedPart({
  company_id,
  egress,
  refused,
}: Pick<EgressView, 'company_id' | 'egress' | 'refused'>): Html {
  if (refused.length === 0)
    return html`<h2>Recently refused</h2>
      !${emptyState('No refused requests', html`Refused requests are counted here by host.`)}`;
  const columns: Column<RefusedPlace>[] = [
    { label: 'Host', cell: (place) => html`<code>${nameOf(place)}</code>` },
    { label: 'Asked by', cell: ({ doors }) => html`${doors.map(words).join(', ')}` },
    { label: 'Times', kind: 'number', cell: ({ times }) => html`${count(times)}` },
    { label: 'Last', cell: ({ last_at }) => timeAgo(last_at) },
    {
      label: 'Run',
      cell: ({ run_id }) => (run_id === null ? html`` : html`<a href="/runs/${run_id}">the latest</a>`),
    },
  ];
  const acts: Column<RefusedPlace> = {
    label: 'Actions',
    kind: 'acts',
    cell: (place) => allowButton(company_id, nameOf(place)),
  };
  return html`<h2>Recently refused</h2>
    !${table('Refused', egress.hosts === null ? columns : [...columns, acts], refused)}`;
}

const nameOf = ({ host, port }: RefusedPlace): string => writeHostRule({ host, port });
