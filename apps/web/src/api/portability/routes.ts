import { portabilityEndpoints as rows } from '@acp/contract';
import type { Actor, CompanyBundle } from '@acp/contract';
import { finishExport, importCompany, listTemplates, readExport } from '@acp/core';
import { sendJson } from '../../http/answer.ts';
import { handle, type Route } from '../../http/handle.ts';
import type { Services } from '../../http/services.ts';
import { readImport } from './read-import.ts';

export const portabilityRoutes: Route[] = [
  handle(rows.templates, ({ services }) => listTemplates(services.portability.templates)),
  handle(rows.export, (c) => exportCompany(c, c.body?.include?.includes('issues') ?? false)),
  handle(rows.download, async (c) => {
    const bundle = await exportCompany(c, c.query.include === 'issues');
    c.response.setHeader('Content-Disposition', `attachment; filename="${bundle.company.slug}.json"`);
    c.response.setHeader('Cache-Control', 'no-store');
    sendJson(c.response, 200, JSON.stringify(bundle, null, 2));
  }),
  handle(
    rows.import,
    ({ tx, actor, services }, input) => {
      const { vault, adapters, providers, portability: environment } = services;
      return importCompany(tx, actor, input, { vault, rules: { adapters, providers }, environment });
    },
    readImport,
  ),
];

interface Exporting {
  readonly services: Services;
  readonly actor: Actor;
  readonly company_id: string;
}

async function exportCompany(
  { services, actor, company_id }: Exporting,
  issues: boolean,
): Promise<CompanyBundle> {
  const options = { issues, max_bytes: services.upload_limits.upload_bytes };
  const read = await services.transaction((tx) => readExport(tx, actor, company_id, services.vault, options));
  return finishExport(read);
}
