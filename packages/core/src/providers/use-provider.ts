/** What a run needs from a provider, and what it reports back. */
import type { ProviderFamily } from '@acp/contract';
import { type Tx, schema } from '@acp/db';
import { invalid, type Vault } from '@acp/kernel';
import { and, eq, sql } from 'drizzle-orm';
import { type Change, recordChanges, systemActor } from '../activity/index.ts';
import { dispatchUsers } from './dispatch-users.ts';
import { providerPlace } from './providers.ts';

const { providers } = schema;

/** A provider with its secrets: for immediate use, never stored or logged. */
export interface UsableProvider {
  id: string;
  name: string;
  family: ProviderFamily;
  enabled: boolean;
  base_url: string | null;
  /** Model of agents that name none. */
  default_model: string | null;
  api_key: string | null;
  custom_headers: Record<string, string>;
  /** Null: calls may be made. */
  paused_until: Date | null;
  pause_reason: string | null;
}

/** @param wanted null: the company's default, if any. @returns undefined if unknown @throws unavailable without its key */
export async function openProvider(
  tx: Tx,
  company_id: string,
  wanted: string | null,
  vault: Vault,
): Promise<UsableProvider | undefined> {
  const [row] = await tx
    .select({
      id: providers.id,
      name: providers.name,
      family: providers.adapter_type,
      enabled: providers.enabled,
      base_url: providers.base_url,
      default_model: providers.default_model,
      api_key: providers.api_key_sealed,
      headers: providers.custom_headers_sealed,
      pause_reason: providers.pause_reason,
      paused_until:
        sql<Date | null>`case when ${providers.paused_until} > now() then ${providers.paused_until} end`.mapWith(
          providers.paused_until,
        ),
    })
    .from(providers)
    .where(
      and(
        eq(providers.company_id, company_id),
        wanted === null
          ? and(eq(providers.is_default, true), eq(providers.enabled, true))
          : eq(providers.id, wanted),
      ),
    );
  if (!row) return undefined;
  const { id, api_key, headers, family, ...rest } = row;
  const open = (sealed: string) => vault.unseal(sealed, providerPlace(id));
  return {
    ...rest,
    id,
    family: family as ProviderFamily,
    api_key: api_key === null ? null : open(api_key),
    custom_headers: headers === null ? {} : (JSON.parse(open(headers)) as Record<string, string>),
  };
}

/** Protects the provider from deletion until the transaction ends. @throws invalid for an unknown one (decisions 7.20) */
export async function assertProvider(
  tx: Tx,
  company_id: string,
  id: string | null | undefined,
): Promise<void> {
  if (!id) return;
  const [row] = await tx
    .select({ id: providers.id })
    .from(providers)
    .where(and(eq(providers.id, id), eq(providers.company_id, company_id)))
    .for('key share');
  if (!row) throw invalid('unknown provider');
}

/** Pause for a quota without a reset time. */
const DEFAULT_PAUSE_SEC = 15 * 60;
/** Whatever a header says, it is tried again after a day. */
const LONGEST_PAUSE_SEC = 24 * 3600;

/**
 * Pauses calls until the quota's reset; of two resets the later one counts. Its agents are not woken in the meantime, and are
 * dispatched when the pause ends. Admins are notified when a pause begins.
 * @param reset_at absent: in a quarter of an hour
 */
export async function pauseProvider(
  tx: Tx,
  id: string,
  { reset_at, reason }: { reset_at: Date | undefined; reason: string },
): Promise<void> {
  const until = reset_at
    ? sql`least(${reset_at.toISOString()}::timestamptz, now() + make_interval(secs => ${LONGEST_PAUSE_SEC}))`
    : sql`now() + make_interval(secs => ${DEFAULT_PAUSE_SEC})`;
  const { rows } = await tx.execute<{
    company_id: string;
    name: string;
    paused_until: string;
    begins: boolean;
    longer: boolean;
  }>(sql`
    update providers p set
      paused_until = greatest(p.paused_until, ${until}), pause_reason = ${reason}, updated_at = now()
    from (select id, paused_until from providers where id = ${id} for no key update) before
    where p.id = before.id
    returning p.company_id, p.name, p.paused_until::text, coalesce(before.paused_until <= now(), true) as begins,
      coalesce(before.paused_until < p.paused_until, true) as longer`);
  const [paused] = rows;
  if (paused?.longer) await dispatchUsers(tx, id, new Date(paused.paused_until));
  if (!paused?.begins) return;
  await recordChanges(tx, systemActor('engine'), [pausedChange(id, paused, reason)]);
}

function pausedChange(
  id: string,
  { company_id, name, paused_until }: { company_id: string; name: string; paused_until: string },
  reason: string,
): Change {
  const until = new Date(paused_until).toISOString();
  const entity = { entity_type: 'provider', entity_id: id };
  const message = `provider ${name} is paused until ${until}: ${reason}`;
  return {
    company_id,
    ...entity,
    action: 'provider.paused',
    details: { paused_until: until, reason },
    event: { type: 'notification', data: { topic: 'provider', level: 'warning', message, ...entity } },
  };
}
