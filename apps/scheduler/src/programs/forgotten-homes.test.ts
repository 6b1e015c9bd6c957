import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Database, schema } from '@acp/db';
import { newId } from '@acp/kernel';
import { cloneDatabase, createAgent, createCompany } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { clearForgottenHomes } from './forgotten-homes.ts';

let folder: string;
let database: Database;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'forgotten-homes-'));
  ({ database } = await cloneDatabase('forgotten_homes'));
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

/** A home of which the top, and a folder in it, were last written that many days ago. */
async function home(id: string, days: number, inside = days): Promise<string> {
  await mkdir(path.join(folder, id, 'work/run'), { recursive: true });
  await writeFile(path.join(folder, id, 'work/run/notes'), 'Calm.');
  const at = (ago: number) => new Date(Date.now() - ago * 24 * 3600_000);
  await utimes(path.join(folder, id, 'work'), at(inside), at(inside));
  await utimes(path.join(folder, id), at(days), at(days));
  return id;
}

it('removes the homes of agents that were purged, once they have been still for a month, and no other', async () => {
  const company = await createCompany(database.db);
  const [working, trashed] = [
    await createAgent(database.db, company),
    await createAgent(database.db, company),
  ];
  const { agents } = schema;
  await database.db.update(agents).set({ deleted_at: new Date() }).where(eq(agents.id, trashed.id));
  const kept = [
    await home(working.id, 90),
    await home(trashed.id, 90),
    await home(newId(), 20),
    await home(newId(), 90, 20),
    await home('no-agent', 90),
  ];
  await home(newId(), 31);
  const outside = await home('outside', 90);
  const link = newId();
  await symlink(path.join(folder, outside), path.join(folder, link));
  expect(await clearForgottenHomes(database, folder)).toBe(1);
  const left = await readdir(folder);
  expect(left.toSorted()).toEqual([...kept, outside, link].toSorted());
  expect(await clearForgottenHomes(database, path.join(folder, 'nowhere'))).toBe(0);
});

it('finds them among the homes of any number of agents', async () => {
  const top = path.join(folder, 'crowded');
  const now = Date.now();
  const make = async (days: number) => {
    const made = path.join(top, newId());
    await mkdir(made, { recursive: true });
    const at = new Date(now - days * 24 * 3600_000);
    await utimes(made, at, at);
  };
  for (let n = 0; n < 1100; n += 1) await make(n % 22 === 0 ? 40 : 1);
  expect(await clearForgottenHomes(database, top)).toBe(50);
  expect(await readdir(top)).toHaveLength(1050);
});
