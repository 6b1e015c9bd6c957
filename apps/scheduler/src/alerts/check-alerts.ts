import type { StatsFs } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { changesAlerts, checkConditions, updateAlerts, queueAlertMessages } from '@acp/core';
import { transaction } from '@acp/db';
import { alertTargets, usedPercent } from '@acp/kernel';
import type { TimerContext } from '../context.ts';

const DISK_ANSWER_MS = 2000;
/** Questions without an answer yet: each holds one of the process's few threads for files, so none is asked twice. */
const asked = new Map<string, Promise<number | null>>();

/** Checks for alerts and notifies everyone concerned; one scheduler at a time does. */
export async function checkAlerts({ database, config, claimed_by }: TimerContext): Promise<void> {
  const limits = {
    backup_max_age_hours: config.readyz_backup_check === 'enable' ? config.readyz_backup_max_age_hours : null,
    backup_schedule: config.backup_schedule,
    disk_pct: config.readyz_disk_pct,
    worker_error_rate_pct: config.readyz_worker_error_rate_pct,
  };
  const found = await checkConditions(database.db, claimed_by, limits);
  if (found === undefined || !changesAlerts(found)) return;
  await transaction(database, async (tx) =>
    queueAlertMessages(tx, await updateAlerts(tx, found), alertTargets(config)),
  );
}

/**
 * Usage of the fuller of two disks: the root's and the one with the instance's files. Null if unavailable, as is a network's disk
 * whose server is gone: the question then never ends, and the scheduler still has to report that it is alive.
 */
export async function diskUsedPercent(
  { home }: Pick<TimerContext['config'], 'home'>,
  read: (path: string) => Promise<StatsFs> = statfs,
): Promise<number | null> {
  const answered = new AbortController();
  const tooLong = delay(DISK_ANSWER_MS, null, { signal: answered.signal }).catch(() => null);
  const looks = await Promise.all(['/', home].map(async (path) => Promise.race([ask(path, read), tooLong])));
  answered.abort();
  const known = looks.filter((used) => used !== null);
  return known.length === 0 ? null : Math.max(...known);
}

async function ask(path: string, read: (path: string) => Promise<StatsFs>): Promise<number | null> {
  const known = asked.get(path);
  if (known !== undefined) return known;
  const answer = read(path)
    .then(usedPercent, () => null)
    .finally(() => asked.delete(path));
  asked.set(path, answer);
  return answer;
}
