import type { CheckedManifest, PluginBound, PluginSandbox, PluginState } from '@acp/contract';
import { schema, signal, type Tx } from '@acp/db';
import { stated } from '@acp/kernel';
import { and, eq, gt, sql } from 'drizzle-orm';
import { systemActor } from '../activity/index.ts';
import { failLostJobRuns } from './jobs.ts';
import { noteHeldByOthers, noteReleased, placeNames } from './names.ts';
import { registerManifest } from './register.ts';
import { stopped } from './start-stop.ts';
import type { PluginRow } from './store.ts';
import { moveTo, notifyHosts } from './transitions.ts';

const { plugin_events, plugins } = schema;
const host = systemActor('plugins');

/** A scheduler's lease of one plugin's process. The lease is lost once the fence differs. */
export interface PluginHold {
  plugin_id: string;
  held_by: string;
  fence: number;
}

/** What a scheduler needs to know to decide what it may do now. */
interface HostView {
  /** Plugins that should run, on all schedulers, including those waiting after a crash. */
  wanted: number;
  /** Schedulers seen recently, including this one. */
  hosts: number;
  /** The smallest number of plugins owned by one of them. */
  fewest: number;
  /** Plugins without an owner that may start now. */
  free: number;
  /** Whether jobs of this scheduler's plugins are due. */
  jobs_due: boolean;
}

/** Registers this scheduler as alive and returns its view: one statement, sent while plugins should run. */
export async function reportPluginHost(tx: Tx, name: string, fresh_sec: number): Promise<HostView> {
  const { rows } = await tx.execute<{ [K in keyof HostView]: HostView[K] }>(sql`
    with me as (
      insert into plugin_hosts (name, seen_at) values (${name}, now())
      on conflict (name) do update set seen_at = now()
    ), others as (
      select name from plugin_hosts where name <> ${name} and seen_at > now() - make_interval(secs => ${fresh_sec})
    ), held as (
      select o.name, (select count(*) from plugins p where p.wanted and p.held_by = o.name) as n
      from (select name from others union select ${name}) o
    )
    select (select count(*)::int from plugins where wanted) as wanted,
      (select count(*)::int from held) as hosts,
      (select min(n)::int from held) as fewest,
      (select count(*)::int from plugins p where ${claimable}) as free,
      exists (select from plugin_jobs j join plugins p on p.id = j.plugin_id
        where p.held_by = ${name} and p.state = 'running' and j.next_run_at <= now()) as jobs_due`);
  return rows[0]!;
}

/** Removes a scheduler that shuts down, so the others share the plugins without it. */
export async function leaveHosts(tx: Tx, name: string): Promise<void> {
  await tx.execute(sql`delete from plugin_hosts where name = ${name}`);
}

/** Retention: those that crashed. */
export async function deleteSilentHosts(tx: Tx): Promise<void> {
  await tx.execute(sql`delete from plugin_hosts where seen_at < now() - interval '1 hour'`);
}

const claimable = sql`p.wanted and (p.held_by is null or p.lease_until < now())
  and (p.next_start_at is null or p.next_start_at <= now())
  and exists (select from companies c where c.id = p.company_id and c.deleted_at is null)`;

/**
 * Claims one plugin without an owner.
 * @param patient_sec only claim plugins that have been free for that long: this scheduler has its share already
 */
export async function claimPlugin(
  tx: Tx,
  held_by: string,
  lease_sec: number,
  patient_sec: number,
): Promise<PluginRow | undefined> {
  const { rows } = await tx.execute<{ id: string; state: string }>(sql`
    with chosen as (
      select p.id, p.state from plugins p
      where ${claimable}
        and greatest(p.lease_until, p.next_start_at, p.wanted_at) <= now() - make_interval(secs => ${patient_sec})
      order by p.wanted_at limit 1 for no key update skip locked
    )
    update plugins set held_by = ${held_by}, lease_until = now() + make_interval(secs => ${lease_sec}),
      fence = plugins.fence + 1, healthy = null
    from chosen where plugins.id = chosen.id returning plugins.id, chosen.state`);
  const [taken] = rows;
  if (taken === undefined) return undefined;
  const [row] = await tx.select().from(plugins).where(eq(plugins.id, taken.id));
  await failLostJobRuns(tx, taken.id, row!.fence - 1);
  if (!isUp(row!)) return row;
  return moveTo(tx, host, row!, 'errored', {
    message: stated('the scheduler that ran it was lost'),
    set: { error: stated('the scheduler that ran it was lost') },
  });
}

interface RenewedHold {
  plugin_id: string;
  fence: number;
  wanted: boolean;
}

interface HeldPlugin {
  plugin_id: string;
  fence: number;
  healthy: boolean | null;
  checked_at: Date | null;
  /** What goes wrong while it runs. */
  complaint: string | null;
}

/** Renews all leases in one statement. Those missing from the result are lost: their processes must stop immediately. */
export async function renewHolds(
  tx: Tx,
  held_by: string,
  holds: readonly HeldPlugin[],
  lease_sec: number,
): Promise<RenewedHold[]> {
  if (holds.length === 0) return [];
  const { rows } = await tx.execute<{ plugin_id: string; fence: string; wanted: boolean }>(sql`
    update plugins p set lease_until = now() + make_interval(secs => ${lease_sec}),
      healthy = h.healthy, checked_at = h.checked_at, error = case p.state when 'running' then h.complaint else p.error end
    from jsonb_to_recordset(${JSON.stringify(holds)}::jsonb)
        as h(plugin_id uuid, fence bigint, healthy boolean, checked_at timestamptz, complaint text)
      join plugins q on q.id = h.plugin_id join companies c on c.id = q.company_id
    where p.id = h.plugin_id and p.fence = h.fence and p.held_by = ${held_by} and c.deleted_at is null
    returning p.id as plugin_id, p.fence, p.wanted`);
  return rows.map(({ plugin_id, fence, wanted }) => ({ plugin_id, fence: Number(fence), wanted }));
}

/** Registers the manifest that the process sent. @returns undefined if the lease is lost or the plugin should not run */
export async function pluginReady(
  tx: Tx,
  hold: PluginHold,
  manifest: CheckedManifest,
  { sandbox, bounds }: { sandbox: PluginSandbox; bounds: PluginBound[] },
): Promise<PluginRow | undefined> {
  const held = await lockHeld(tx, hold);
  if (held === undefined || !held.wanted || held.approval_state !== 'allowed') return undefined;
  await registerManifest(tx, held, manifest);
  const names = await placeNames(tx, held, manifest);
  const ready = await moveTo(tx, host, held, 'ready', {
    message: `ready: ${manifest.tools.length} tools, ${manifest.events.length} event patterns, ${manifest.jobs.length} jobs, ${manifest.webhooks.length} webhooks`,
    set: { manifest, names, sandbox, bounds, error: null },
  });
  const running = await moveTo(tx, host, ready, 'running', {
    message: 'running',
    details: { sandbox, held_by: hold.held_by },
    set: { started_at: sql`now()` as never, next_start_at: null },
  });
  await noteHeldByOthers(tx, running);
  return running;
}

/** How a process ended. */
export type PluginEnd =
  | { how: 'stopped' }
  /** Its scheduler shuts down, or rebalances: the plugin continues on another one. */
  | { how: 'handed_over' }
  /** @param error for display: the cause, with the end of stderr */
  | { how: 'failed'; error: string };

/** Crashes within five minutes after which it is not restarted. */
const MOST_CRASHES = 3;

/**
 * Records the end and releases the lease. A crashed plugin is restarted after a delay that doubles each time, unless it was the
 * third crash, or it has not been ready since someone started it.
 */
export async function pluginEnded(
  tx: Tx,
  hold: PluginHold,
  end: PluginEnd,
  pause_ms: number,
): Promise<PluginRow | undefined> {
  const held = await lockHeld(tx, hold);
  if (held === undefined) return undefined;
  await failLostJobRuns(tx, held.id, held.fence);
  if (!held.wanted) return stopped(tx, host, held, 'stopped');
  if (end.how !== 'failed') return handedOver(tx, held);
  const row = await failed(tx, held, end.error, pause_ms);
  if (!row.wanted) await noteReleased(tx, row);
  return row;
}

async function handedOver(tx: Tx, held: PluginRow): Promise<PluginRow> {
  const set = {
    held_by: null,
    lease_until: null,
    healthy: null,
    manifest: null,
    started_at: null,
    // Free from now on: schedulers that have their share leave it to others for a moment.
    next_start_at: sql`now()` as never,
  };
  notifyHosts(tx, held.id);
  const message = 'handed over to another scheduler';
  if (isUp(held)) return moveTo(tx, host, held, 'stopped', { message, set });
  const [row] = await tx.update(plugins).set(set).where(eq(plugins.id, held.id)).returning();
  return row!;
}

async function failed(tx: Tx, held: PluginRow, error: string, pause_ms: number): Promise<PluginRow> {
  const crash = (await recentCrashes(tx, held)) + 1;
  const hasRun = isUp(held) || crash > 1 || (await hasRunBefore(tx, held));
  const again = hasRun && crash < MOST_CRASHES;
  const set = {
    held_by: null,
    lease_until: null,
    healthy: null,
    manifest: null,
    started_at: null,
    error,
    wanted: again,
    next_start_at: again
      ? (sql`now() + ${pause_ms * 2 ** (crash - 1)}::float8 * interval '1 ms'` as never)
      : null,
  };
  const details = { crash: true, starts_again: again };
  const after = again ? '' : hasRun ? `; ${MOST_CRASHES} crashes in five minutes: it stays down` : '';
  const message = `${error}${after}`;
  if (held.state !== 'errored') return moveTo(tx, host, held, 'errored', { message, details, set });
  // A restart after a crash has failed as well: the plugin is still errored.
  await tx.insert(plugin_events).values({
    plugin_id: held.id,
    type: 'lifecycle',
    level: 'error',
    message,
    from_state: 'errored',
    to_state: 'errored',
    details,
  });
  const [row] = await tx.update(plugins).set(set).where(eq(plugins.id, held.id)).returning();
  signal(tx, 'tools', held.company_id);
  return row!;
}

/**
 * Whether it has been ready since someone started it, as far as its log goes back: after a hand-over or the loss of a scheduler,
 * a single failed start is no reason to give up.
 */
async function hasRunBefore(tx: Tx, { id }: PluginRow): Promise<boolean> {
  const { rows } = await tx.execute(sql`
    select from plugins p where p.id = ${id} and (p.wanted_at < now() - interval '1 hour' or exists (
      select from plugin_events e where e.plugin_id = p.id and e.to_state = 'running' and e.created_at > p.wanted_at))`);
  return rows.length > 0;
}

/** Crashes within the last five minutes since it was last started by hand. */
export async function recentCrashes(tx: Tx, { id, wanted_at }: PluginRow): Promise<number> {
  const [row] = await tx
    .select({ n: sql<number>`count(*)::int` })
    .from(plugin_events)
    .where(
      and(
        eq(plugin_events.plugin_id, id),
        eq(plugin_events.type, 'lifecycle'),
        sql`${plugin_events.details} @> '{"crash": true}'`,
        gt(plugin_events.created_at, sql`greatest(now() - interval '5 minutes', ${wanted_at}::timestamptz)`),
      ),
    );
  return row?.n ?? 0;
}

async function lockHeld(tx: Tx, { plugin_id, held_by, fence }: PluginHold): Promise<PluginRow | undefined> {
  const [row] = await tx
    .select()
    .from(plugins)
    .where(and(eq(plugins.id, plugin_id), eq(plugins.held_by, held_by), eq(plugins.fence, fence)))
    .for('no key update');
  return row;
}

const isUp = ({ state }: Pick<PluginRow, 'state'>): boolean =>
  (state as PluginState) === 'running' || state === 'ready';
