import { describe, expect, it } from '@jest/globals';
import { instantText, jsonRowReader, rowReader } from './row-reader.ts';
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
