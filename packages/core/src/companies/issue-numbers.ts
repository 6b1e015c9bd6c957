import { type Database, isUniqueViolation, loneWrite, sideConnectionOf, type Tx } from '@acp/db';
import { unavailable } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';

interface Wanted {
  company_id: string;
  count: number;
  /** Undefined for an unknown company. */
  resolve: (first: number | undefined) => void;
  reject: (cause: unknown) => void;
}

/**
 * Allocates issue numbers on a connection outside the callers' transactions, committed immediately, so no one waits for someone
 * else's issue to be flushed to disk. Requests that arrive during a statement are batched into the next one.
 */
class IssueNumbers {
  readonly #database: Database;
  #waiting: Wanted[] = [];
  #taking = false;

  constructor(database: Database) {
    this.#database = database;
  }

  async take(company_id: string, count: number): Promise<number | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
    this.#waiting.push({ company_id, count, resolve, reject });
    if (!this.#taking) void this.#takeAll();
    return promise;
  }

  async #takeAll(): Promise<void> {
    this.#taking = true;
    while (this.#waiting.length > 0) {
      const wanted = this.#waiting;
      this.#waiting = [];
      try {
        await this.#takeFor(wanted);
      } catch (err) {
        for (const { reject } of wanted) reject(err);
      }
    }
    this.#taking = false;
  }

  async #takeFor(wanted: readonly Wanted[]): Promise<void> {
    const counts = new Map<string, number>();
    for (const { company_id, count } of wanted) counts.set(company_id, (counts.get(company_id) ?? 0) + count);
    // Needs no flush: an issue is flushed after its number, which precedes it in the WAL.
    const rows = await loneWrite(
      this.#database,
      sql`${advance(counts)}, set_config('synchronous_commit', 'off', true) as durability`,
    );
    const firsts = new Map(
      rows.map(({ company_id: id, next }) => [String(id), Number(next) - counts.get(String(id))!]),
    );
    for (const { company_id, count, resolve } of wanted) {
      const first = firsts.get(company_id);
      if (first !== undefined) firsts.set(company_id, first + count);
      resolve(first);
    }
  }
}

/** For callers whose number turned out to be in use. */
const RETRY_AFTER_SEC = 2;

/**
 * What an insert with a number of `takeIssueNumbers` fails with. Numbers are not flushed by themselves: after a crash or a failover the
 * server may have forgotten some, and hands them out again although a transaction that only then began has brought one along. The
 * counter has moved on meanwhile, so the next attempt succeeds. Throws `unavailable` in that case.
 */
export function refuseUsedNumber(err: unknown): never {
  if (isUniqueViolation(err, 'issues_company_number'))
    throw unavailable('database unavailable', err, RETRY_AFTER_SEC);
  throw err;
}

const ofDatabases = new WeakMap<Database, IssueNumbers>();

/** Ordered by id, so that two of them can't deadlock. */
function advance(counts: ReadonlyMap<string, number>): SQL {
  const wanted = JSON.stringify([...counts].map(([id, count]) => ({ id, count })));
  return sql`
    insert into issue_counters as held (company_id, next)
    select c.id, wanted.count + 1
    from jsonb_to_recordset(${wanted}::jsonb) as wanted(id uuid, count int)
    join companies c on c.id = wanted.id and c.deleted_at is null
    order by c.id
    on conflict (company_id) do update set next = held.next + excluded.next - 1
    returning company_id, next`;
}

/**
 * Allocates the company's next `count` numbers, whatever happens to `tx`: numbers are increasing and unique, but a failed
 * transaction leaves a gap.
 * @returns the first of them; undefined for a company in the trash
 */
export async function takeIssueNumbers(
  tx: Tx,
  company_id: string,
  count: number,
): Promise<number | undefined> {
  const first = await numbersBeside(tx)?.take(company_id, count);
  if (first !== undefined) return first;
  // A company created in this transaction is invisible to other connections.
  const { rows } = await tx.execute<{ next: number }>(advance(new Map([[company_id, count]])));
  return rows[0] && rows[0].next - count;
}

function numbersBeside(tx: Tx): IssueNumbers | undefined {
  const database = sideConnectionOf(tx);
  if (database === undefined) return undefined;
  const known = ofDatabases.get(database) ?? new IssueNumbers(database);
  ofDatabases.set(database, known);
  return known;
}
