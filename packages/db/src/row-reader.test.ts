import { describe, expect, it } from '@jest/globals';
import { rowReader } from './row-reader.ts';
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
});
