import { describe, expect, it } from '@jest/globals';
import { sql } from 'drizzle-orm';
import { instantText, jsonRowReader, rowReader, selectionReader } from './row-reader.ts';
import { heartbeat_runs, routine_runs } from './schema/index.ts';

describe('a row of a hand-written statement', () => {
  it('has the types of its columns; null stays, and so does what else was selected', () => {
    const raw = { id: 'one', started_at: '2026-03-14 09:26:53.589+00', finished_at: null, place: 2 };
    const row = rowReader(heartbeat_runs)(raw);
    expect(row).toBe(raw);
    expect(row).toEqual({ ...raw, started_at: new Date('2026-03-14T09:26:53.589Z'), finished_at: null });
  });

  it('is read once: a JSON text that looks like a number stays a text', () => {
    expect(rowReader(routine_runs)({ payload: '12' }).payload).toBe('12');
  });

  it('that only becomes JSON has its instants as JSON writes them, and all else as ever', () => {
    const raw = { id: 'one', started_at: '2026-03-14 09:26:53.5+00', finished_at: null, input_tokens: '12' };
    const row = jsonRowReader(heartbeat_runs)({ ...raw });
    expect(row).toEqual({ ...rowReader(heartbeat_runs)({ ...raw }), started_at: '2026-03-14T09:26:53.500Z' });
  });
});

describe('a row of a select that is sent by hand', () => {
  const { started_at, payload, fence } = heartbeat_runs;
  const fields = {
    began: started_at,
    payload,
    fence,
    plain: sql`1`.as('one'),
    twice: sql`2`.mapWith((value: string) => Number(value) * 2).as('two'),
  };

  it('has the fields of the select alone, under their names and with their types', () => {
    const raw = {
      started_at: '2026-03-14 09:26:53.589+00',
      payload: '12',
      fence: '7',
      one: '1',
      two: '2',
      other: 1,
    };
    expect(selectionReader(fields)(raw)).toEqual({
      began: new Date('2026-03-14T09:26:53.589Z'),
      payload: '12',
      fence: 7,
      plain: '1',
      twice: 4,
    });
  });

  it('has null for whatever is null', () => {
    const raw = { started_at: null, payload: null, fence: null, one: null, two: null };
    expect(selectionReader(fields)(raw)).toEqual({
      began: null,
      payload: null,
      fence: null,
      plain: null,
      twice: null,
    });
  });

  it('cannot be read if a field has no name in the statement', () => {
    expect(() => selectionReader({ unnamed: sql`1` })).toThrow('has an alias');
  });
});

describe('an instant as PostgreSQL writes it', () => {
  it.each([
    '2026-03-14 09:26:53+00',
    '2026-03-14 09:26:53.5+00',
    '2026-03-14 09:26:53.58+00',
    '2026-03-14 09:26:53.589+00',
    '1999-12-31 23:59:59.999+00',
    '2026-03-14 09:26:53.589+05:30',
    '2026-03-14 09:26:53-03',
    '2026-03-14 09:26:53.589123+00',
  ])('%s is what a Date of it says', (text) => {
    expect(instantText(text)).toBe(new Date(text).toISOString());
  });
});
