import { type BoundKind, bounds } from '@acp/contract';
import { lockByName, type Tx } from '@acp/db';
import { conflict, type Said, said, saidText } from '@acp/kernel';
import { and, sql } from 'drizzle-orm';
import { sources } from './sources.ts';

/**
 * Closer than this to a bound, creations wait for each other. Further away they do not: that many rows are never added by
 * transactions that run at the same time, each at most `FEW`.
 */
const CLOSE = 200;
const FEW = 10;

/**
 * Called before creating `adding` of the kind, or afterwards with 0.
 * @param owner_id company, issue, agent or routine: see the kind's `per`
 * @throws conflict, naming the bound
 */
export async function assertRoom(tx: Tx, kind: BoundKind, owner_id: string, adding = 1): Promise<void> {
  const first = await count(tx, kind, owner_id);
  refuse(kind, first, adding);
  if (adding <= FEW && first.held + adding + CLOSE <= first.most) return;
  await lockByName(tx, `bound ${kind} ${owner_id}`);
  // A statement of its own: it sees what whoever held the lock has committed.
  refuse(kind, await count(tx, kind, owner_id), adding);
}

interface Counted extends Record<string, unknown> {
  held: number;
  most: number;
}

/** Stops counting beyond the bound. */
async function count(tx: Tx, kind: BoundKind, owner_id: string): Promise<Counted> {
  const { owner, where = [undefined] } = sources[kind];
  const parts = where.map(
    (part) => sql`select from ${owner.table} where ${and(sql`${owner} = ${owner_id}`, part)}`,
  );
  const { rows } = await tx.execute<Counted>(sql`
    with bound as (select coalesce((
      select (value ->> ${kind})::int from instance_settings where key = 'bounds'), ${bounds[kind].most}::int) as most)
    select most, (select count(*)::int from (
      select from (${sql.join(parts, sql` union all `)}) parts limit (select most + 1 from bound)) counted) as held
    from bound`);
  return rows[0]!;
}

function refuse(kind: BoundKind, { held, most }: Counted, adding: number): void {
  if (held + adding <= most) return;
  const { per, what } = bounds[kind];
  throw conflict(full[per](most, saidText(what)));
}

const full = {
  company: (most: number, what: Said) => said`a company has ${most} ${what} at most`,
  issue: (most: number, what: Said) => said`an issue has ${most} ${what} at most`,
  agent: (most: number, what: Said) => said`an agent has ${most} ${what} at most`,
  routine: (most: number, what: Said) => said`a routine has ${most} ${what} at most`,
};
