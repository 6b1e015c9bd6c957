/** @in-order one instance has one audit, which they read */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { flagNames } from '@acp/contract';
import { type Database, schema, transaction } from '@acp/db';
import { actors, cloneDatabase } from '@acp/testkit';
import {
  changeSettings,
  deleteFlag,
  flagEnabled,
  getFlag,
  listFlags,
  putFlag,
  readSettings,
} from './index.ts';

// A separate database: settings and flags apply to the whole instance.
let database: Database;
beforeAll(async () => {
  ({ database } = await cloneDatabase('flags'));
});
const put = async (name: string, value: boolean | string, description?: string | null) =>
  transaction(database, async (tx) => putFlag(tx, actors.system, name, { value, description }));
const audit = async () =>
  (await database.db.select().from(schema.instance_audit)).map(({ action }) => action);

describe('flags', () => {
  it('have their defaults until overridden, and again after', async () => {
    const flags = await listFlags(database.db);
    expect(flags.map(({ name }) => name)).toEqual(flagNames);
    expect(flags.every(({ value, updated_at }) => value === null && updated_at === null)).toBe(true);
    expect(await flagEnabled(database.db, 'prompt_evolution')).toBe(false);
    expect(await put('prompt_evolution', true)).toMatchObject({
      default: false,
      value: true,
      effective_value: true,
      updated_at: expect.any(Date),
    });
    expect(await flagEnabled(database.db, 'prompt_evolution')).toBe(true);
    await transaction(database, async (tx) => deleteFlag(tx, actors.system, 'prompt_evolution'));
    expect(await getFlag(database.db, 'prompt_evolution')).toMatchObject({
      value: null,
      effective_value: false,
    });
    expect(await audit()).toEqual(['flag.updated', 'flag.reverted']);
  });

  it('take text of scripts, refuse an empty value and unknown names, and keep a description', async () => {
    expect(await put('mcp', 'false', 'not today')).toMatchObject({ value: false, description: 'not today' });
    expect(await put('mcp', 'true')).toMatchObject({ value: true, description: 'not today' });
    for (const [text, value] of Object.entries({ off: false, on: true, '0': false, '1': true, False: false }))
      expect(await put('mcp', text)).toMatchObject({ value });
    expect((await put('mcp', true, null)).description).not.toBe('not today');
    for (const value of ['', 'banana'])
      await expect(put('mcp', value)).rejects.toMatchObject({ kind: 'invalid' });
    for (const name of ['constructor', 'mcp2'])
      await expect(put(name, true)).rejects.toMatchObject({ kind: 'not_found' });
  });
});

describe('instance settings as a map', () => {
  const change = async (patch: object) =>
    transaction(database, async (tx) => changeSettings(tx, actors.system, patch));

  it('show every key, null where the default holds; null clears', async () => {
    const settings = await change({ instance_name: 'Here', run_retention_days: 7 });
    expect(settings).toMatchObject({ instance_name: 'Here', run_retention_days: 7, runs_paused: null });
    expect(await change({ instance_name: null })).toMatchObject({
      instance_name: null,
      run_retention_days: 7,
    });
    expect(await readSettings(database.db)).toEqual(await change({}));
  });

  it('refuse unknown keys and values, and change nothing then', async () => {
    await expect(change({ trash_retention_days: 3, colour: 'red' })).rejects.toMatchObject({
      kind: 'invalid',
    });
    for (const patch of [{ trash_retention_days: 0 }, { backup_schedule: '99 99 * * *' }])
      await expect(change(patch)).rejects.toMatchObject({ kind: 'invalid' });
    expect(await readSettings(database.db)).toMatchObject({ trash_retention_days: null });
  });
});
