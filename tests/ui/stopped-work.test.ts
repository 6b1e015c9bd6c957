/** What every page of a company says while nothing starts on the instance, and to whom it offers what. */
import { expect, it } from '@jest/globals';
import { InstanceState } from '../../apps/web/src/http/instance-state.ts';
import { createApp } from '../../apps/web/src/app.ts';
import { createCredentials } from '../../apps/web/src/http/credentials.ts';
import { createServices } from '../../apps/web/src/http/services.ts';
import { uiRouter } from '../../apps/web/src/ui/router.ts';
import { changeInstanceSettings, systemActor } from '@acp/core';
import { transaction } from '@acp/db';
import { loadConfig } from '@acp/kernel';
import { databaseWithQueue, testDatabase, testLogger, waitFor } from '@acp/testkit';
import { createCast, type Person } from '../http/cast.ts';
import { Browser } from '../http/pages.ts';

it('the emergency stop and the end of the license are told on the pages of companies, until they are over', async () => {
  const { listener } = await testDatabase();
  const database = await databaseWithQueue();
  const logger = testLogger();
  const instance = new InstanceState({ database, logger, listener });
  await instance.refresh();
  const config = loadConfig({ RATE_LIMIT_RPM: '0' });
  const services = createServices({ database, config, logger, instance });
  const parts = { config, database, logger, services, credentials: createCredentials({ database, logger }) };
  const app = createApp({ ...parts, ui: uiRouter(parts) });
  const cast = await createCast(database);
  const here = `/companies/${cast.company_id}`;
  const told = async (person: Person, path = here) =>
    /<p class="notice">\s*([^]*?)<\/p>/.exec((await Browser.of(app, person).get(path)).text)?.[1];
  const stop = async (runs_paused: boolean | null) =>
    transaction(database, async (tx) => changeInstanceSettings(tx, systemActor('tests'), { runs_paused }));
  expect(await told(cast.viewer)).toBeUndefined();
  await stop(true);
  await waitFor(() => instance.runs_paused);
  for (const path of [here, `${here}/board`, `${here}/chats`, `/agents/${cast.agent_id}`])
    expect([path, await told(cast.viewer, path)]).toEqual([path, expect.stringContaining('No agent starts')]);
  expect(await told(cast.viewer)).toContain('An administrator of the instance can allow them.');
  expect(await told(cast.instance_admin)).toContain('href="/admin/settings"');
  await stop(null);
  await waitFor(() => !instance.runs_paused);
  expect(await told(cast.viewer)).toBeUndefined();
  await database.pool.query(
    `insert into instance_settings (key, value) values ('entitlement', '{"until": "2020-01-01T00:00:00Z"}')
      on conflict (key) do update set value = excluded.value`,
  );
  await instance.refresh();
  expect(await told(cast.viewer)).toContain('An administrator of the instance can install one.');
  expect(await told(cast.instance_admin)).toContain('href="/admin/license"');
  instance.close();
});
