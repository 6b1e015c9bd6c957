import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import path from 'node:path';
import { schema } from '@acp/db';
import { loadConfig } from '@acp/kernel';
import * as kit from '@acp/testkit';
import { clearWorkspaces } from './clear-workspaces.ts';
import { workspaceSources } from './sources.ts';
import { folderOf, setAside } from './workspace-folder.ts';

const DAY_MS = 24 * 3600_000;

let home: string;

beforeAll(async () => {
  home = await mkdtemp('/var/tmp/clear-workspaces-');
});
afterAll(async () => rm(home, { recursive: true, force: true }));

it('keeps what was set aside for a week, whatever the times that its program gave to the files', async () => {
  const { database } = await kit.testDatabase();
  const { db } = database;
  const company = await kit.createCompany(db);
  const issue = await kit.createIssue(db, company);
  const config = loadConfig({ SERVICE_HOME: home });
  const shared = { config, database, logger: kit.testLogger() };
  const sources = workspaceSources({ ...shared, storage: {} as never, vault: {} as never });
  await db.insert(schema.workspaces).values({
    company_id: company.id,
    issue_id: issue.id,
    kind: 'folder',
    place: await sources.place(),
  });
  const place = folderOf(config, { company_id: company.id, issue_id: issue.id });
  await mkdir(place.tree, { recursive: true });
  // Nothing at the top of the tree has changed for a month.
  await utimes(place.tree, new Date(), new Date(Date.now() - 30 * DAY_MS));
  const recent = (await setAside(place))!;
  const old = `left-${Date.now() - 8 * DAY_MS}`;
  await mkdir(path.join(place.folder, old));
  await utimes(path.join(place.folder, old), new Date(), new Date(Date.now() + 300 * DAY_MS));
  await clearWorkspaces({ ...shared, workspaces: sources }, new AbortController().signal);
  expect(await readdir(place.folder)).toEqual([recent]);
});
