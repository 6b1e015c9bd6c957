/**
 * The instance's entitlement (decisions 1): a trial of 30 days from its first start, then a license. It is stored as a row that
 * every process and every admission reads, so no signature is verified during normal operation.
 */
import type { Actor, LicenseState } from '@acp/contract';
import { type Database, signal, transaction, type Tx } from '@acp/db';
import {
  type Config,
  forbidden,
  invalid,
  type License,
  type Logger,
  readGivenLicense,
  said,
  stated,
} from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { recordInstanceAct } from '../activity/index.ts';

const TRIAL_DAYS = 30;

/** Stored among internal facts of the instance rather than readable settings. */
const KEY = 'entitlement';

export const READ_ONLY = stated('instance is read-only: license required');

/** Whether trial and license have expired; for statements that decide what may start. */
export const readOnlyInstance = sql`coalesce((
  select (value ->> 'until')::timestamptz <= now() from instance_settings where key = ${sql.raw(`'${KEY}'`)}), false)`;

/** SQL: the columns `until`, null before any tier has started, and `read_only`. */
export const entitlement = sql`(select value ->> 'until' from instance_settings where key = ${KEY}) as until,
  ${readOnlyInstance} as read_only`;

/** @param until of the stored entitlement @returns null for one that does not end, or is not there */
export function endOf(until: string | null | undefined): Date | null {
  return until === undefined || until === null || until === 'infinity' ? null : new Date(until);
}

/** @throws forbidden while the instance is read-only */
export async function requireEntitlement(tx: Tx): Promise<void> {
  const { rows } = await tx.execute<{ read_only: boolean }>(sql`select ${readOnlyInstance} as read_only`);
  if (rows[0]?.read_only) throw forbidden(READ_ONLY);
}

/**
 * Called when a tier starts: the first start begins the trial. A license from the environment is taken if it lasts longer than
 * the stored one; an expired or shorter one changes nothing.
 */
export async function admitLicense(tx: Tx, license: License | null): Promise<void> {
  await tx.execute(sql`
    insert into instance_settings (key, value)
    values (${KEY}, jsonb_build_object('first_boot', now(), 'until', now() + make_interval(days => ${TRIAL_DAYS})))
    on conflict (key) do nothing`);
  if (license !== null) await extend(tx, license);
}

/** The same for a process with the environment's license. An unreadable one is logged and prevents nothing. */
export async function admitEnvironmentLicense(
  database: Database,
  config: Pick<Config, 'license_key' | 'license_public_key'>,
  logger: Logger,
): Promise<void> {
  let license: License | null = null;
  if (config.license_key !== null) {
    try {
      license = readGivenLicense(config.license_key, config.license_public_key);
    } catch (error) {
      logger.error('SERVICE_LICENSE_KEY is not used', { error });
    }
  }
  await transaction(database, async (tx) => admitLicense(tx, license));
}

/**
 * Installs a verified license. Every process notices immediately.
 * @throws invalid for one that is expired or ends before the current one
 */
export async function installLicense(tx: Tx, actor: Actor, license: License): Promise<LicenseState> {
  await admitLicense(tx, null);
  if (!(await extend(tx, license))) {
    const end = license.expires_at?.toISOString() ?? 'infinity';
    const { rows } = await tx.execute<{ over: boolean }>(sql`select ${end}::timestamptz <= now() as over`);
    if (rows[0]!.over) throw invalid(said`the license ended on ${end.slice(0, 10)}`);
    const { status } = await licenseState(tx);
    throw invalid(
      status === 'trial'
        ? 'the license ends before the trial'
        : 'the license ends before the one that is installed',
    );
  }
  await recordInstanceAct(tx, actor, 'license.installed', {
    id: license.id,
    holder: license.holder,
    expires_at: license.expires_at,
  });
  return licenseState(tx);
}

async function extend(tx: Tx, { id, holder, expires_at }: License): Promise<boolean> {
  const until = expires_at?.toISOString() ?? 'infinity';
  const { rowCount } = await tx.execute(sql`
    update instance_settings
    set value = value || jsonb_build_object('until', ${until}::text, 'id', ${id}::text, 'holder', ${holder}::text),
      updated_at = now()
    where key = ${KEY} and ${until}::timestamptz > now()
      and (value ->> 'id' = ${id} or (value ->> 'until')::timestamptz < ${until}::timestamptz)`);
  signal(tx, 'instance', KEY);
  return rowCount === 1;
}

/** Includes the trial. Before any tier has started nothing is known, and nothing is refused. */
export async function licenseState(tx: Tx): Promise<LicenseState> {
  const { rows } = await tx.execute<{ value: Record<string, string>; read_only: boolean }>(
    sql`select value, ${readOnlyInstance} as read_only from instance_settings where key = ${KEY}`,
  );
  const { value = {}, read_only = false } = rows[0] ?? {};
  const { id, holder, until } = value;
  const status = read_only ? 'expired' : id === undefined ? 'trial' : 'licensed';
  return {
    status,
    read_only,
    license_id: id ?? null,
    holder: holder ?? null,
    expires_at: endOf(until),
  };
}
