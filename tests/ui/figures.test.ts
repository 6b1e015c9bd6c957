/** Statistics of a company and its agents: charts with the same data as a table, and agents in the reader's order. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import { type Database, schema } from '@acp/db';
import { createAgent } from '@acp/testkit';
import { eq } from 'drizzle-orm';
import { type Cast, createCast } from '../http/cast.ts';
import { Browser, startPages } from '../http/pages.ts';

let cast: Cast;
let database: Database;
let viewer: Browser;
let here: string;

beforeAll(async () => {
  const pages = await startPages();
  ({ database } = pages);
  cast = await createCast(database);
  viewer = Browser.of(pages.app, cast.viewer);
  here = `/companies/${cast.company_id}`;
});

async function hired(name: string, runs: readonly string[]): Promise<void> {
  const agent = await createAgent(database.db, { id: cast.company_id }, { name });
  const base = {
    company_id: cast.company_id,
    agent_id: agent.id,
    wake_reason: 'manual',
    adapter_type: 'llm',
  };
  for (const status of runs) await database.db.insert(schema.heartbeat_runs).values({ ...base, status });
}

/** The listed agents, top to bottom. */
const namesIn = (text: string): string[] =>
  [...text.matchAll(/<a href="\/agents\/[^"]*">([^<]*)<\/a><\/span>/g)].map(([, name]) => name!);

describe('figures', () => {
  it('are no charts before anything has run; then charts, and the days as a table', async () => {
    expect((await viewer.get(here)).text).not.toContain('The last two weeks');
    await hired('Busy Ben', ['succeeded', 'succeeded']);
    await hired('Failing Fay', ['failed', 'succeeded']);
    const { text } = await viewer.get(here);
    expect(text).toContain('aria-label="Runs by day: 4 in 14 days, 1 failed"');
    expect(text).toMatch(/<table[^>]*aria-label="The last two weeks by day"/);
  });

  it('of agents order and narrow their list', async () => {
    const failing = await viewer.get(`${here}/agents?sort=success&q=busy`);
    expect(namesIn(failing.text)).toEqual(['Busy Ben']);
    const all = namesIn((await viewer.get(`${here}/agents?sort=success`)).text);
    expect(all.indexOf('Failing Fay')).toBeLessThan(all.indexOf('Busy Ben'));
    expect((await viewer.get(`${here}/agents?q=nobody+like+that`)).text).toContain('Nothing matches');
    const part = await viewer.get(`${here}/agents?q=fay`, { 'HX-Request': 'true' });
    expect([namesIn(part.text), part.text.includes('<html')]).toEqual([['Failing Fay'], false]);
  });

  it('put agents that failed first among what waits, together where they are many', async () => {
    await database.db
      .update(schema.agents)
      .set({ status: 'error' })
      .where(eq(schema.agents.company_id, cast.company_id));
    for (const name of ['One', 'Two']) await hired(name, []);
    await database.db
      .update(schema.agents)
      .set({ status: 'error' })
      .where(eq(schema.agents.company_id, cast.company_id));
    expect((await viewer.get(here)).text).toMatch(/agents\?state&#61;error[^>]*>\d+ agents</);
  });
});
