import { WORKER_OFFLINE_SEC } from '@acp/contract';
import { liveRunStatuses } from '@acp/db';
import { sql } from 'drizzle-orm';
import { sweepBudgets } from '../budgets/index.ts';
import { proposeFindings, sweepUnsettled } from '../heartbeats/index.ts';
import { sweepQueuedRuns } from '../runs/index.ts';
import { sweepSubagents } from '../subagents/index.ts';
import { sweepWakeups } from '../wakeups/index.ts';
import { noteOffline, sweepRemoteResults } from '../workers/index.ts';
import type { Sweep } from './sweep.ts';

const live = sql`select from heartbeat_runs where status in ${liveRunStatuses}`;
const wakeups = sql`select from wakeup_requests where status = 'pending'`;

/** What agents, their runs and remote workers wait for. */
export const sweepsOfRuns: readonly Sweep[] = [
  {
    name: 'queued-runs',
    interval_sec: 30,
    waiting: sql`select from heartbeat_runs where status = 'queued'`,
    work: async (tx) => sweepQueuedRuns(tx),
  },
  { name: 'wakeups', interval_sec: 60, waiting: wakeups, work: async (tx) => sweepWakeups(tx) },
  {
    name: 'unsettled',
    interval_sec: 120,
    waiting: sql`${live} union all ${wakeups}
      union all select from issues where self_checkout_agent_id is not null
      union all select from companies where deleted_at is not null`,
    work: sweepUnsettled,
  },
  {
    name: 'budgets',
    interval_sec: 60,
    waiting: sql`select from budget_policies union all select from agents where budget_paused`,
    work: sweepBudgets,
  },
  {
    name: 'subagents',
    interval_sec: 30,
    waiting: sql`select from subagents where ended_at is null union all select from subagent_waits`,
    work: sweepSubagents,
  },
  {
    name: 'findings',
    interval_sec: 10,
    // Of runs that ended within the hour, on which agents have opted in.
    waiting: sql`select from (select from heartbeat_runs where finished_at > now() - interval '1 hour' limit 1) lately
      where exists (select from agents where auto_extract_findings and deleted_at is null)`,
    work: async (tx, { has_model }) => proposeFindings(tx, has_model),
  },
  {
    name: 'remote-results',
    interval_sec: 60,
    waiting: sql`select from heartbeat_runs where status = 'running' and lease_expires_at is null`,
    work: sweepRemoteResults,
  },
  {
    name: 'offline-workers',
    interval_sec: 30,
    waiting: sql`select from workers
      where online and last_seen_at < now() - make_interval(secs => ${WORKER_OFFLINE_SEC})`,
    work: noteOffline,
  },
];
