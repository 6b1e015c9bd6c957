import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { testDatabase, waitFor } from '@acp/testkit';
import { Pool, type PoolClient } from 'pg';
import { growOnDemand } from './grow-on-demand.ts';

/** Longer than any test. */
const NEVER = 3_600_000;

let url: string;
let pool: Pool;

beforeAll(async () => {
  ({ url } = await testDatabase());
});

afterEach(async () => pool.end());

/** A pool of five that grows after callers have waited for that long. */
function open(openingMs: number): Pool {
  pool = new Pool({ connectionString: url, max: 5 });
  growOnDemand(pool, { opening_ms: openingMs });
  return pool;
}

const answer = async (): Promise<unknown> => {
  const client = await pool.connect();
  const { rows } = await client.query<{ one: number }>('select 1 as one');
  client.release();
  return rows[0]?.one;
};
const hold = async (many: number): Promise<PoolClient[]> =>
  Promise.all(Array.from({ length: many }, async () => pool.connect()));

describe('a pool', () => {
  it('serves a burst over the two connections that it opens at once', async () => {
    open(NEVER);
    const answers = await Promise.all(Array.from({ length: 40 }, answer));
    expect(new Set(answers)).toEqual(new Set([1]));
    expect(pool.totalCount).toBe(2);
  });

  it('opens more, up to its maximum, once callers have waited for one', async () => {
    open(1);
    const held = await hold(5);
    expect(pool.totalCount).toBe(5);
    const sixth = pool.connect();
    held[0]!.release();
    expect(await sixth).toBe(held[0]);
    for (const client of held.slice(1)) client.release();
    (await sixth).release();
    expect(pool.totalCount).toBe(5);
  });

  it('grows no faster where opening one takes longer', async () => {
    pool = new Pool({ connectionString: url, max: 5 });
    let now = 0;
    growOnDemand(pool, { opening_ms: 1, longest_ms: NEVER, clock: () => (now += NEVER) });
    await Promise.all(Array.from({ length: 40 }, answer));
    expect(pool.totalCount).toBe(2);
  });

  it('opens one for the caller to whom others left no idle one', async () => {
    open(1);
    for (const client of await hold(2)) client.release();
    const held = await hold(3);
    expect(pool.totalCount).toBe(3);
    for (const client of held) client.release();
  });

  it('that has lost its connections is small again, and grows again', async () => {
    open(1);
    for (const client of await hold(5)) client.release(true);
    await waitFor(() => pool.totalCount === 0 && pool.options.max === 2);
    const again = await hold(4);
    expect(pool.totalCount).toBe(4);
    for (const client of again) client.release();
  });

  it('those waiting for a connection that is lost get another', async () => {
    open(1);
    const held = await hold(5);
    const waiting = Array.from({ length: 3 }, answer);
    for (const client of held) client.release(true);
    expect(await Promise.all(waiting)).toEqual([1, 1, 1]);
  });
});
