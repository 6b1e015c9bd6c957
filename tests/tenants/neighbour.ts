/**
 * A company that is recognised wherever something of it turns up. Ids of others in requests are refused by one mechanism
 * (tests/http/matrix), but a statement that gathers rows by itself could take a neighbour's along.
 */
import { indexNextSource } from '@acp/core';
import { type Database, schema, transaction } from '@acp/db';
import { sql } from 'drizzle-orm';
import { type Cast, createCast } from '../http/cast.ts';
import { createStage, type Stage } from '../http/stage.ts';

/** Replaces the word that a stage's texts have in common. */
export const MARK = 'Smuggled';

export interface Neighbour {
  cast: Cast;
  stage: Stage;
  /** What of the neighbour, or of its people and agents, is in a text. */
  tracesIn(text: string): string[];
  /** All rows that are a company's own, as one value per table. */
  rows(): Promise<Record<string, string>>;
}

/** @param database without other companies so far: everything there will be the neighbour's */
export async function createNeighbour(database: Database): Promise<Neighbour> {
  const cast = await createCast(database);
  const stage = await createStage(database, cast);
  await transaction(database, async (tx) => {
    // As widely visible as can be, and nothing that is claimed before the runs of others.
    await tx.update(schema.skills).set({ company_wide: true });
    await tx.delete(schema.heartbeat_runs).where(sql`status = 'queued'`);
    const { company_id, agent_id } = cast;
    const tool = { namespace: 'staged', name: 'staged', description: 'Staged', input_schema: {} };
    const manifest = { name: 'Staged', tools: [tool], events: [], jobs: [], webhooks: [] };
    await tx.update(schema.plugins).set({ approval_state: 'allowed', manifest });
    const tokens = { input_tokens: 1, output_tokens: 1, cached_tokens: 0, cost_usd: '1' };
    await tx
      .insert(schema.cost_events)
      .values({ company_id, agent_id, provider: 'Staged', model: 'Staged', ...tokens });
    await tx.insert(schema.security_events).values({ kind: 'sign_in', company_id, subject: 'Staged' });
    await tx.execute(sql`with made as (
        insert into compiled_indexes (company_id, agent_id, version, status) values (${cast.company_id}, ${cast.agent_id}, 1, 'promoted')
        returning id)
      insert into compiled_statements (index_id, ordinal, topic, text) select id, 1, 'Staged', 'Staged' from made`);
    await tx.insert(schema.user_models).values({
      company_id: cast.company_id,
      user_id: cast.member.user_id,
      body_markdown: 'Staged',
      private_markdown: 'Staged',
    });
  });
  await markTexts(database);
  while ((await transaction(database, async (tx) => indexNextSource(tx, null))) !== undefined);
  const ids = await allIds(database);
  return {
    cast,
    stage,
    tracesIn: (text) => [
      ...(text.includes(MARK) ? [text.slice(Math.max(0, text.indexOf(MARK) - 100)).slice(0, 200)] : []),
      ...[...text.matchAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g)].flatMap(([id]) =>
        ids.has(id) ? [id] : [],
      ),
    ],
    rows: async () => rowsOf(database, cast.company_id),
  };
}

const columnsOf = async ({ pool }: Database, types: readonly string[]) =>
  (
    await pool.query<{ table: string; column: string; type: string }>(
      `select table_name as table, column_name as column, data_type as type
        from information_schema.columns join information_schema.tables using (table_schema, table_name)
        where table_schema = 'public' and table_type = 'BASE TABLE' and data_type = any ($1) and is_generated = 'NEVER'`,
      [types],
    )
  ).rows;

/** Columns with a form of their own, such as names of variables, keep their texts. */
async function markTexts(database: Database): Promise<void> {
  for (const { table, column, type } of await columnsOf(database, ['text', 'jsonb']))
    await database.pool
      .query(
        `update "${table}" set "${column}" = replace("${column}"::text, 'Staged', '${MARK}')::${type}
          where "${column}"::text like '%Staged%'`,
      )
      .catch(({ code }: { code?: string }) => {
        if (code !== '23514') throw new Error(`${table}.${column} can't be marked: ${code}`);
      });
}

async function rowsOf(database: Database, company_id: string): Promise<Record<string, string>> {
  const tables = (await columnsOf(database, ['uuid'])).filter(({ column }) => column === 'company_id');
  const hashes: Record<string, string> = {};
  for (const { table } of tables) {
    const { rows } = await database.pool.query<{ hash: string }>(
      `select md5(coalesce(string_agg(t::text, '\n' order by t::text), '')) as hash from "${table}" t where company_id = $1`,
      [company_id],
    );
    hashes[table] = rows[0]!.hash;
  }
  return hashes;
}

async function allIds(database: Database): Promise<Set<string>> {
  const ids = new Set<string>();
  for (const { table, column } of await columnsOf(database, ['uuid'])) {
    const { rows } = await database.pool.query<{ id: string }>(
      `select distinct "${column}"::text as id from "${table}" where "${column}" is not null`,
    );
    for (const { id } of rows) ids.add(id);
  }
  return ids;
}
