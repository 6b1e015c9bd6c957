import { providerEndpoints as rows } from '@acp/contract';
import { createProvider, deleteProvider, listProviders, presentProvider, updateProvider } from '@acp/core';
import { sendJson } from '../../http/answer.ts';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';
import { instanceTestPage } from '../../ui/admin/instance-test-page.ts';
import { testProvider } from './test-provider.ts';

export const providerRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await listProviders(c.tx, c.company_id, c.query))),
  handle(rows.create, (c) =>
    createProvider(c.tx, c.actor, c.company_id, c.body, c.services.vault, c.services.providers),
  ),
  handle(rows.get, (c) => presentProvider(c.subject)),
  handle(rows.update, (c) =>
    updateProvider(c.tx, c.actor, c.subject, c.body, c.services.vault, c.services.providers),
  ),
  handle(rows.delete, (c) => deleteProvider(c.tx, c.actor, c.subject)),
  handle(rows.test, (c) => testProvider(c.services, c.actor, c.subject)),
  handle(rows.testInstance, async ({ actor, company_id, services, query, request, response }) => {
    const caller = { actor, company_id };
    const tests = await services.command('test-instance-providers', {}, caller);
    const asJson = query.format === 'json' || request.accepts(['html', 'json']) === 'json';
    if (asJson || actor.kind !== 'user') sendJson(response, 200, JSON.stringify(tests));
    else response.type('html').send(instanceTestPage(actor, tests));
  }),
];
