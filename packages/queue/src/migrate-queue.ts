import { createHash } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { getConstructionPlans } from 'pg-boss';
import type { PgBoss } from 'pg-boss';
import { jobCatalogue } from '@acp/contract';
import type { JobRow } from '@acp/contract';
import { openDatabase } from '@acp/db';
import type { Tx } from '@acp/db';
import { BOSS_SCHEMA, createBoss } from './boss.ts';

type Catalogue = Readonly<Record<string, JobRow>>;

// Finished jobs are useless: their results are their effects. Failed ones are also in the log.
const KEEP_FINISHED_SEC = 900;

/**
 * Installs or upgrades pg-boss's tables and creates the catalogue's queues. Runs under the migration lock: pass it to
 * `migrate` as an `after` hook. A single statement when nothing has changed.
 */
export async function migrateQueue(url: string, catalogue: Catalogue = jobCatalogue): Promise<void> {
  const database = openDatabase({
    url,
    max: 2,
    application_name: 'migrate-queue',
    patient: true,
  });
  try {
    const wanted = fingerprint(catalogue);
    if ((await readFingerprint(database.db)) === wanted) return;
    const boss = createBoss(database, 'migrator');
    await boss.start();
    await createQueues(boss, catalogue);
    await boss.stop({ graceful: false, close: false });
    await database.db.execute(sql.raw(`comment on schema ${BOSS_SCHEMA} is '${wanted}'`));
  } finally {
    await database.close();
  }
}

async function createQueues(boss: PgBoss, catalogue: Catalogue): Promise<void> {
  const existing = new Set((await boss.getQueues()).map(({ name }) => name));
  for (const [name, row] of Object.entries(catalogue)) {
    if (!existing.has(name)) await boss.createQueue(name, { partition: row.partition ?? false });
  }
  // In a second pass, once all dead letter queues exist.
  for (const [name, row] of Object.entries(catalogue)) {
    await boss.updateQueue(name, {
      retryLimit: row.retry_limit,
      retryDelay: row.retry_delay_sec,
      retryBackoff: row.retry_backoff,
      expireInSeconds: row.expire_sec,
      deleteAfterSeconds: KEEP_FINISHED_SEC,
      deadLetter: row.dead_letter ?? null,
    });
  }
}

// Stored as the schema's comment: a hash of pg-boss's schema version and of everything in the catalogue that defines a queue.
function fingerprint(catalogue: Catalogue): string {
  const queues = Object.entries(catalogue).map(([name, row]) => {
    const { retry_limit, retry_delay_sec, retry_backoff, expire_sec, dead_letter, partition } = row;
    return [
      name,
      retry_limit,
      retry_delay_sec,
      retry_backoff,
      expire_sec,
      dead_letter,
      partition,
      KEEP_FINISHED_SEC,
    ];
  });
  return createHash('sha256')
    .update(getConstructionPlans(BOSS_SCHEMA))
    .update(JSON.stringify(queues))
    .digest('hex');
}

async function readFingerprint(tx: Tx): Promise<string | null> {
  const { rows } = await tx.execute<{ fingerprint: string | null }>(
    sql`select obj_description(to_regnamespace(${BOSS_SCHEMA}), 'pg_namespace') as fingerprint`,
  );
  return rows[0]?.fingerprint ?? null;
}
