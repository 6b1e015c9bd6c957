import { ChooseDraft, compiledIndexEndpoints as rows } from '@acp/contract';
import { discardIndex, knowsAnything, promoteIndex, readCompiledIndex } from '@acp/core';
import { roleIn } from '../../http/roles.ts';
import { offerOf } from '../kit/choice.ts';
import { companyPage } from '../kit/company-frame.ts';
import { FieldErrors } from '../kit/field-errors.ts';
import { html, type Html } from '../kit/html.ts';
import { t, texts } from '../kit/language.ts';
import { formError, notice } from '../kit/parts.ts';
import { action, page, type UiContext, type UiRoute } from '../kit/ui-routes.ts';
import { indexBody, indexPart, indexPath, type IndexView } from './index-pages.ts';

const byCompany = { by: 'company', param: 'companyId' } as const;
type CompanyContext = UiContext<'company'>;

/** Only people promote, on this page; no API endpoint does it (specification, Companies). */
const chooseRow = { ...rows.cancel, auth: ['user'], body: ChooseDraft } as const;

const done: Record<string, string> = texts({
  settings: 'Saved.',
  compile: 'It is being compiled.',
  cancel: 'The compilation has been stopped.',
  promote: 'Agents read it from now on.',
  discard: 'The draft has been discarded.',
});

async function loadView(context: CompanyContext, error: string | null = null): Promise<IndexView> {
  const { tx, user, company_id } = context;
  const index = await readCompiledIndex(tx, user, company_id);
  return {
    company_id,
    index,
    has_knowledge: index.unread_sources > 0 || (await knowsAnything(tx, company_id)),
    agents: await offerOf(context, 'agent', index.settings.agent_id),
    is_admin: roleIn(user, company_id) === 'admin',
    errors: new FieldErrors(error, ['every_hours']),
  };
}

async function indexPage(context: CompanyContext, error: string | null = null): Promise<Html> {
  context.services.instance.requireFeature(rows.get);
  const { company_id, query } = context;
  const view = await loadView(context, error);
  return companyPage(context, {
    title: t`Compiled index`,
    active: indexPath(company_id),
    trail: [{ label: t`Knowledge`, path: `/companies/${company_id}/knowledge` }],
    body: html`!${formError(view.errors.general)}!${notice(done[query.done ?? ''])}!${await indexBody(view)}`,
  });
}

const next =
  (what: string) =>
  ({ company_id }: CompanyContext): string =>
    `${indexPath(company_id)}?done=${what}`;
const failed = (context: CompanyContext, error: string): Promise<Html> => indexPage(context, error);
const readVersion = (_: unknown, { query }: CompanyContext) => ({ version: Number(query.version ?? 0) });

const path = '/companies/{companyId}/knowledge/index';

export const compiledIndexUiRoutes: UiRoute[] = [
  page(path, { scope: byCompany, role: 'viewer' }, (c) => indexPage(c)),
  // Fetched by the script on changes.
  page(`${path}/part/versions`, { scope: byCompany, role: 'viewer' }, async (c) => {
    c.services.instance.requireFeature(rows.get);
    return indexPart(await loadView(c));
  }),
  action(`${path}/settings`, rows.configure, {
    read: ({ whole }) => ({
      agent_id: whole.chosen('agent_id'),
      every_hours: whole.number('every_hours') ?? null,
    }),
    edits: (c) => indexPage(c),
    next: next('settings'),
    failed,
  }),
  action(`${path}/compile`, rows.compile, { next: next('compile'), failed }),
  action(`${path}/cancel`, rows.cancel, { next: next('cancel'), failed }),
  action(`${path}/promote`, chooseRow, {
    read: readVersion,
    handler: async (c) => {
      await promoteIndex(c.tx, c.actor, c.company_id, c.body.version);
      return readCompiledIndex(c.tx, c.actor, c.company_id);
    },
    next: next('promote'),
    failed,
  }),
  action(`${path}/discard`, chooseRow, {
    read: readVersion,
    handler: async (c) => {
      await discardIndex(c.tx, c.actor, c.company_id, c.body.version);
      return readCompiledIndex(c.tx, c.actor, c.company_id);
    },
    next: next('discard'),
    failed,
  }),
];
