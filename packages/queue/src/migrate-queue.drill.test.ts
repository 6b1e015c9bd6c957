import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { jobCatalogue, jobNames } from '@acp/contract';
import { openDatabase } from '@acp/db';
import type { Database } from '@acp/db';
import { cloneDatabase } from '@acp/testkit';
import type { TestDatabase } from '@acp/testkit';
import { sql } from 'drizzle-orm';
import { migrateQueue } from './index.ts';

const run = promisify(execFile);
let test: TestDatabase;
let database: Database;
let url: string;

beforeAll(async () => {
  test = await cloneDatabase('migrate_queue');
  const name = `${test.name}_empty`;
  await test.database.pool.query(`create database ${name} template template0`);
  const empty = new URL(test.url);
  empty.pathname = `/${name}`;
  url = empty.href;
  database = openDatabase({ url, max: 2, application_name: 'test' });
});

afterAll(async () => database.close());

const queues = async () => {
  const { rows } = await database.db.execute(
    sql`select name, partition, retry_limit, expire_seconds from pgboss.queue where not starts_with(name, '__') order by name`,
  );
  return rows;
};

describe('migrateQueue', () => {
  it('run by four processes at once on an empty database, with the migrations, makes every queue once', async () => {
    const script = `
      import { migrate } from '@acp/db';
      import { migrateQueue } from '@acp/queue';
      await migrate({ url: process.argv[1], after: [migrateQueue] });`;
    const one = async () =>
      run(process.execPath, ['--input-type=module', '--eval', script, url], {
        cwd: import.meta.dirname,
        env: {
          ...process.env,
          NODE_COMPILE_CACHE: path.resolve(import.meta.dirname, '../../../.build/compile-cache'),
        },
      });
    await Promise.all([one(), one(), one(), one()]);
    const wanted = jobNames.toSorted().map((name) => {
      const { partition = false, retry_limit, expire_sec } = jobCatalogue[name];
      return { name, partition, retry_limit, expire_seconds: expire_sec };
    });
    expect(await queues()).toEqual(wanted);
  });

  it('with a changed catalogue changes its queues, and makes new ones', async () => {
    const changed = { ...jobCatalogue['run-command'], retry_limit: 9 };
    await migrateQueue(url, { ...jobCatalogue, 'run-command': changed, 'apply-news': changed });
    expect(await queues()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'apply-news', retry_limit: 9 }),
        expect.objectContaining({ name: 'run-command', retry_limit: 9 }),
      ]),
    );
  });
});
