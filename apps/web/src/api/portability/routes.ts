import { portabilityEndpoints as rows } from '@acp/contract';
import { finishExport, importCompany, listTemplates, readExport } from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';
import { readImport } from './read-import.ts';

export const portabilityRoutes: Route[] = [
  handle(rows.templates, ({ services }) => listTemplates(services.portability.templates)),
  handle(rows.export, async ({ services, actor, company_id, body }) => {
    const options = {
      issues: body?.include?.includes('issues') ?? false,
      max_bytes: services.upload_limits.upload_bytes,
    };
    const read = await services.transaction((tx) =>
      readExport(tx, actor, company_id, services.vault, options),
    );
    return finishExport(read);
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
