import { expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { Scrubber } from '@acp/kernel';
import { cloneDatabase, createCompany, testLogger } from '@acp/testkit';
import { PluginLog } from './plugin-log.ts';

const secret = `sk-secret-${'0123456789'.repeat(8)}`;

async function written(database: Database, message: string): Promise<string[]> {
  const company = await createCompany(database.db);
  const [plugin] = await database.db
    .insert(schema.plugins)
    .values({
      company_id: company.id,
      name: 'Gulls',
      slug: 'gulls',
      binary_path: '/bin/gulls',
      host_capabilities: [],
    })
    .returning({ id: schema.plugins.id });
  const log = new PluginLog(plugin!.id, { database, logger: testLogger() }, new Scrubber([secret]));
  log.add({ type: 'log', level: 'info', message });
  await log.flush();
  const rows = await database.db.select({ message: schema.plugin_events.message }).from(schema.plugin_events);
  return rows.map((row) => row.message);
}

it('cuts a long line without leaving half of a secret at its end', async () => {
  const { database } = await cloneDatabase('plugin_log');
  // Without them, the line is short enough to be kept as it is.
  const [message = ''] = await written(database, `keys: ${`${secret} `.repeat(200)}`);
  expect(message.replaceAll('[redacted] ', '')).not.toContain('sk-');
});
