/** The promoted page in the form used in prompts. */
import type { CompiledStatement } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';
import { flagEnabled } from '../settings/index.ts';
import { readStatements } from './read-index.ts';

/** Limit in characters: about 2,000 tokens. */
const LONGEST = 8000;
const LINKS = 2;

/** Null if the feature is off, nothing was promoted, or nothing of it may be shown. */
export async function compiledIndexText(tx: Tx, company_id: string): Promise<string | null> {
  const { rows } = await tx.execute<{ id: string }>(
    sql`select id from compiled_indexes where company_id = ${company_id} and status = 'promoted'`,
  );
  const [promoted] = rows;
  if (promoted === undefined || !(await flagEnabled(tx, 'compiled_knowledge'))) return null;
  const statements = (await readStatements(tx, [promoted.id])).get(promoted.id) ?? [];
  return renderIndex(statements) || null;
}

/** Markdown by topic, cut to the budget. Statements that lost a source are left out, outdated ones are marked. Pure. */
export function renderIndex(statements: readonly CompiledStatement[], longest = LONGEST): string {
  const sourced = statements.filter(({ sources }) => sources.every(({ state }) => state !== 'gone'));
  const lines: string[] = [];
  let [size, shown, topic] = [0, 0, ''];
  for (const statement of sourced) {
    const heading = statement.topic.toLowerCase() === topic ? [] : [`## ${statement.topic}`];
    const added = [...heading, lineOf(statement)];
    const length = added.reduce((sum, line) => sum + line.length + 1, 0);
    if (size + length > longest) continue;
    lines.push(...added);
    size += length;
    shown += 1;
    topic = statement.topic.toLowerCase();
  }
  const left = sourced.length - shown;
  return [...lines, ...(left > 0 && shown > 0 ? [`(${left} more statements are left out.)`] : [])].join('\n');
}

function lineOf({ text, sources }: CompiledStatement): string {
  const links = sources
    .slice(0, LINKS)
    .flatMap(({ title, url }) =>
      url === null ? [] : [`[${(title ?? 'source').replaceAll(/[[\]\n]/g, ' ')}](${url})`],
    );
  const stale = sources.some(({ state }) => state === 'changed') ? ' (its source has changed since)' : '';
  return `- ${text}${stale}${links.length === 0 ? '' : ` ${links.join(' ')}`}`;
}
