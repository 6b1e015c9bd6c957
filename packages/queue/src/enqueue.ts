import type { PgBoss } from 'pg-boss';
import type { JobName, JobPayload } from '@acp/contract';
import { writeAtCommit, signal } from '@acp/db';
import type { CommitStatement, Tx } from '@acp/db';
import { currentTraceparent } from '@acp/kernel';

interface EnqueueOptions {
  /** Earliest start (accurate to the difference between this machine's clock and the database's). */
  start_after?: Date;
  /** It can wait until nothing else of its queue does. */
  idle?: boolean;
}

// pg-boss builds the statement for each queue; the transaction provides the connection. One per process is enough.
let producer: PgBoss | undefined;

export function setProducer(boss: PgBoss): void {
  producer = boss;
}

/**
 * Written at the end of the caller's transaction; consumers are kicked after its commit. The same job requested twice by a transaction
 * is one job: it says what to look at, and does so after the commit.
 */
export async function enqueue<N extends JobName>(
  tx: Tx,
  job: N,
  payload: JobPayload<N>,
  options: EnqueueOptions = {},
): Promise<void> {
  await insert(tx, job, [payload], options);
}

/** All jobs of one kind that a transaction enqueues are written by one statement. */
export async function enqueueMany<N extends JobName>(
  tx: Tx,
  job: N,
  payloads: readonly JobPayload<N>[],
  options: EnqueueOptions = {},
): Promise<void> {
  if (payloads.length > 0) await insert(tx, job, payloads, options);
}

async function insert(
  tx: Tx,
  job: JobName,
  payloads: readonly object[],
  options: EnqueueOptions,
): Promise<void> {
  if (producer === undefined) throw new Error('openQueue comes before enqueue');
  // First, because it throws outside a transaction.
  signal(tx, 'jobs', kickOf(job, options.start_after?.getTime()));
  const traceparent = currentTraceparent();
  const jobs = payloads.map((payload) => ({
    data: traceparent === null ? payload : { ...payload, traceparent },
    startAfter: options.start_after,
    priority: options.idle ? -1 : 0,
  }));
  writeAtCommit(tx, writerOf(job), jobs);
}

type NewJob = { data: object; startAfter: Date | undefined; priority: number };
const writers = new Map<JobName, CommitStatement<NewJob>>();

function writerOf(job: JobName): CommitStatement<NewJob> {
  const known = writers.get(job);
  if (known !== undefined) return known;
  const writer: CommitStatement<NewJob> = async (jobs) => {
    const statements: { text: string; values: unknown[] }[] = [];
    const executeSql = async (text: string, values: unknown[] = []) => {
      statements.push({ text, values });
      return { rows: [] };
    };
    const different = new Map(jobs.map((each) => [JSON.stringify(each), each]));
    await producer?.insert(job, [...different.values()], { db: { executeSql } });
    return statements[0]!;
  };
  writers.set(job, writer);
  return writer;
}

/** An item of the 'jobs' channel: a queue's name, plus the start time if it is later (milliseconds since the epoch). */
export function kickOf(job: JobName, moment?: number): string {
  return moment === undefined ? job : `${job}@${Math.ceil(moment)}`;
}

export function parseKick(item: string): { job: string; at?: number } {
  const [job = '', at] = item.split('@');
  return at === undefined ? { job } : { job, at: Number(at) };
}
