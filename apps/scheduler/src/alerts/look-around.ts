import { statfs } from 'node:fs/promises';
import { lookForAlerts, noteProcess, queueAlertMessages } from '@acp/core';
import { transaction } from '@acp/db';
import { alertTargets, usedPercent } from '@acp/kernel';
import type { TimerContext } from '../context.ts';

/** Checks for alerts and notifies everyone concerned; the table admits one scheduler at a time. */
export async function lookAround({ database, config, claimed_by }: TimerContext): Promise<void> {
  const limits = {
    backup_max_age_hours:
      config.readyz_backup_check === 'enable' && config.backup_schedule !== 'off'
        ? config.readyz_backup_max_age_hours
        : null,
    disk_pct: config.readyz_disk_pct,
    worker_error_rate_pct: config.readyz_worker_error_rate_pct,
  };
  await transaction(database, async (tx) => {
    const look = await lookForAlerts(tx, claimed_by, limits);
    if (look) await queueAlertMessages(tx, look, alertTargets(config));
  });
}

/** Reports the fuller of two disks: the root's and the one with the instance's files. */
export async function reportProcess({
  database,
  config,
  claimed_by,
  started_at,
}: TimerContext): Promise<void> {
  const read = ['/', config.home].map(async (path) => statfs(path).then(usedPercent, () => null));
  const known = (await Promise.all(read)).filter((used) => used !== null);
  const disk_used_pct = known.length === 0 ? null : Math.max(...known);
  await noteProcess(database.db, claimed_by, { started_at, disk_used_pct });
}
