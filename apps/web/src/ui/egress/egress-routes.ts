import { AddEgressHost, CompanyEgress, companyEndpoints, SetEgress } from '@acp/contract';
import { addEgressHost, listRefusals, readEgress, setEgress } from '@acp/core';
import { companyPage } from '../kit/company-frame.ts';
import type { FormValues } from '../kit/form-values.ts';
import type { Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { egressBody, egressPath, refusedPart } from './egress-pages.ts';
import { neededHosts } from './needed-hosts.ts';

type CompanyContext = UiContext<'company'>;

const byCompany = { by: 'company', param: 'companyId' } as const;

/** Only people do this, on this page; no API endpoint does it (specification, Companies). */
const people = { ...companyEndpoints.update, auth: ['user'], response: CompanyEgress } as const;
const setRow = { ...people, body: SetEgress } as const;
const addRow = { ...people, body: AddEgressHost } as const;

const done: Record<string, string> = texts({
  saved: 'Saved. It applies from the next connection on.',
  added: 'The host is on the list.',
  removed: 'The list has been removed.',
});

async function egressPage(
  context: CompanyContext,
  error: string | null = null,
  form: FormValues | null = null,
): Promise<Html> {
  const { tx, company_id, query } = context;
  const egress = await readEgress(tx, company_id);
  return companyPage(context, {
    title: t`Network access`,
    active: egressPath(company_id),
    body: await egressBody({
      company_id,
      egress,
      needed: await neededHosts(context, egress.hosts),
      refused: await listRefusals(tx, company_id),
      done: done[query.done ?? ''] ?? null,
      error,
      form: form?.has('hosts') ? form : null,
    }),
  });
}

const next =
  (what: string) =>
  ({ company_id }: CompanyContext): string =>
    `${egressPath(company_id)}?done=${what}`;

const readList = (form: FormValues) =>
  form
    .text('hosts')
    .split(/[\s,]+/)
    .filter((line) => line !== '');

const path = '/companies/{companyId}/egress';

export const egressRoutes: UiRoute[] = [
  page(path, { scope: byCompany, role: 'admin' }, (c) => egressPage(c)),
  // Fetched by the script when a run has finished.
  page(`${path}/part/refused`, { scope: byCompany, role: 'admin' }, async ({ tx, company_id }) =>
    refusedPart({
      company_id,
      egress: await readEgress(tx, company_id),
      refused: await listRefusals(tx, company_id),
    }),
  ),
  action(path, setRow, {
    // Changes apply to the list as it is now; a list sent as a whole replaces the version that it names.
    read: async (form, { tx, company_id }) => ({
      hosts: readList(form.whole),
      version: form.are_changes ? (await readEgress(tx, company_id)).version : form.number('version'),
    }),
    edits: (c) => egressPage(c),
    handler: async (c) => setEgress(c.tx, c.actor, c.company_id, c.body),
    next: next('saved'),
    failed: egressPage,
  }),
  action(`${path}/add`, addRow, {
    read: (form) => ({ host: form.text('host') }),
    handler: async (c) => addEgressHost(c.tx, c.actor, c.company_id, c.body.host),
    next: next('added'),
    failed: (c, error) => egressPage(c, error),
  }),
  action(`${path}/delete`, setRow, {
    read: (form) => ({ hosts: null, version: form.number('version') }),
    handler: async (c) => setEgress(c.tx, c.actor, c.company_id, c.body),
    next: next('removed'),
    failed: (c, error) => egressPage(c, error),
  }),
];
