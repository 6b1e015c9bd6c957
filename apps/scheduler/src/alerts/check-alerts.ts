import { statfs } from 'node:fs/promises';
import { changesAlerts, checkConditions, updateAlerts, queueAlertMessages } from '@acp/core';
import { transaction } from '@acp/db';
import { alertTargets, usedPercent } from '@acp/kernel';
import type { TimerContext } from '../context.ts';

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

/** Usage of the fuller of two disks: the root's and the one with the instance's files. Null if unavailable. */
export async function diskUsedPercent({
  home,
}: Pick<TimerContext['config'], 'home'>): Promise<number | null> {
  const read = ['/', home].map(async (path) => statfs(path).then(usedPercent, () => null));
  const known = (await Promise.all(read)).filter((used) => used !== null);
  return known.length === 0 ? null : Math.max(...known);
}
