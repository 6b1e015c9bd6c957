/** `--large`: lists and searches in a database with a million issues, with the service's own queries. */
import type { ListIssues } from '@acp/contract';
import { listIssues } from '@acp/core';
import type { Database } from '@acp/db';
import { cloneDatabase } from '@acp/testkit';
import { fillDatabase } from './large-data.ts';
import type { BenchOptions, Report } from './report.ts';
import { median } from './statistics.ts';

const COMPANIES = 100;
const REPEATS = 9;

interface Question {
  name: string;
  /** Limit for a company with its share of the issues; the largest company has ten times as many. */
  aim_ms: number;
  query: ListIssues;
}

interface Statement {
  text: string;
  values: unknown[];
}

export async function benchLarge(report: Report, { smoke }: BenchOptions): Promise<void> {
  const issues = smoke ? 50_000 : 1_000_000;
  report.section(`--large: ${issues.toLocaleString('en')} issues over ${COMPANIES} companies`);
  const clone = await cloneDatabase('bench_large');
  const { database } = clone;
  try {
    const { largest, typical, agent_id } = await fillDatabase(database, issues, COMPANIES);
    const questions: Question[] = [
      { name: 'list page', aim_ms: 10, query: {} },
      { name: 'filtered page (status)', aim_ms: 10, query: { status: 'todo,in_progress' } },
      { name: 'filtered page (rare status)', aim_ms: 10, query: { status: 'blocked' } },
      { name: 'filtered page (assignee)', aim_ms: 10, query: { assigneeAgentId: agent_id } },
      { name: 'search, one common word', aim_ms: 50, query: { q: 'invoice' } },
      { name: 'search, two words', aim_ms: 50, query: { q: 'invoice payment' } },
      { name: 'search, mistyped', aim_ms: 50, query: { q: 'databse migration' } },
      { name: 'search, the beginning of a word', aim_ms: 50, query: { q: 'inv' } },
      { name: 'search, nothing found', aim_ms: 50, query: { q: 'zzqqxy' } },
      { name: 'search, two letters', aim_ms: 50, query: { q: 'in' } },
      { name: 'search, no letter at all', aim_ms: 50, query: { q: '%%%' } },
    ];
    for (const [who, company] of Object.entries({ typical, largest })) {
      for (const question of questions) await ask(report, database, { who, ...company }, question);
    }
  } finally {
    await clone.close();
  }
}

async function ask(
  report: Report,
  database: Database,
  company: { who: string; id: string; issues: number },
  { name, aim_ms, query }: Question,
): Promise<void> {
  const statement = await statementOf(database, async () => {
    await listIssues(database.db, company.id, query);
  });
  const { times, plan } = await explain(database, statement);
  report.add({
    name: `${name}, ${company.who} company`,
    value: median(times),
    unit: 'ms',
    ...(company.who === 'typical' ? { aim: { at_most: aim_ms } } : {}),
    conditions:
      `planning and execution, median of ${REPEATS} of a prepared statement, slowest ${Math.max(...times).toFixed(1)} ms; ` +
      `${JSON.stringify(query)}; the company has ${company.issues} issues`,
  });
  report.text(plan);
}

/** Prepared, as the service sends it: from the sixth execution on PostgreSQL may choose a generic plan. */
async function explain(
  { pool }: Database,
  { text, values }: Statement,
): Promise<{ times: number[]; plan: string }> {
  const client = await pool.connect();
  try {
    await client.query(`prepare asked as ${text}`);
    const execute = `execute asked(${values.map((value) => client.escapeLiteral(written(value))).join(', ')})`;
    const times: number[] = [];
    let plan = '';
    for (let n = 0; n < REPEATS; n += 1) {
      const { rows } = await client.query<{ 'QUERY PLAN': string }>(
        `explain (analyze, buffers, summary) ${execute}`,
      );
      plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      times.push(timeIn(plan, 'Planning') + timeIn(plan, 'Execution'));
    }
    await client.query('deallocate asked');
    return { times, plan };
  } finally {
    client.release();
  }
}

// None of our items contains a comma.
const written = (value: unknown): string => (Array.isArray(value) ? `{${value.join(',')}}` : String(value));

/** Returns the last statement that `work` sends. */
async function statementOf(database: Database, work: () => Promise<void>): Promise<Statement> {
  const { pool } = database;
  const send = pool.query.bind(pool) as (...args: unknown[]) => unknown;
  let last: Statement | undefined;
  const query = (...args: unknown[]): unknown => {
    const [first, second] = args;
    const text = typeof first === 'string' ? first : (first as Statement).text;
    last = { text, values: (Array.isArray(second) ? second : (first as Statement).values) ?? [] };
    return send(...args);
  };
  Object.assign(pool, { query });
  try {
    await work();
  } finally {
    Object.assign(pool, { query: send });
  }
  if (last === undefined) throw new Error('no statement was sent');
  return last;
}

function timeIn(plan: string, what: 'Planning' | 'Execution'): number {
  return Number(new RegExp(`${what} Time: ([\\d.]+) ms`).exec(plan)?.[1] ?? 'NaN');
}
