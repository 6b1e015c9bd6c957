import type { Actor, Agent, AgentStatus, UpdateAgent } from '@acp/contract';
import { type Tx, schema, signal } from '@acp/db';
import { conflict, forbidden } from '@acp/kernel';
import { enqueue } from '@acp/queue';
import { eq, sql } from 'drizzle-orm';
import { type Change, recordChanges } from '../activity/index.ts';
import type { AdapterRules } from './adapter-rules.ts';
import { assertMayWake, lockAgent, lockFamily, pauseBelow, resumeBelow } from './family-pause.ts';
import { rescheduledHeartbeat } from './heartbeat.ts';
import { type AgentRow, presentAgent, summarizeAgent, agentColumns } from './present.ts';
import { assertMayTeach, assertMayUpdate, assertWithinReach } from './reach.ts';
import {
  assertCompanyHome,
  assertMayReportTo,
  assertProvider,
  assertRoom,
  type HomeRules,
} from './references.ts';
import { historyOf } from './revisions.ts';
import { settableOnUpdate } from './settable.ts';
import { isWakeable, runningOr, startableStatuses } from './status.ts';

const { agents } = schema;

/**
 * Changes an agent; absent fields stay. An agent that becomes wakeable again is dispatched; one that is terminated is settled
 * (runs, checkouts, wakeups) and its keys become invalid.
 * @param homes absent: no `home_dir` can be set here
 * @param rules absent: only admins may name images and functions
 * @throws conflict for `status: running`, which only runs set; invalid for references and folders outside the company;
 * forbidden for changes the actor may not make
 */
export async function updateAgent(
  tx: Tx,
  actor: Actor,
  agent: AgentRow,
  body: UpdateAgent,
  homes?: HomeRules,
  rules?: AdapterRules,
): Promise<Agent> {
  const { reason, ...input } = settableOnUpdate(body);
  await assertProvider(tx, agent.company_id, input.provider_id);
  if (input.status === 'running') throw conflict('the status running is set by runs only');
  if (input.home_dir) await assertCompanyHome(tx, agent, input.home_dir, homes);
  if (input.reports_to) await assertMayReportTo(tx, agent, input.reports_to);
  if (input.status !== undefined) await lockFamily(tx, agent.id);
  const before = await lockAgent(tx, agent.id);
  await assertMayUpdate(tx, actor, before, input, rules);
  if (input.files_as_knowledge !== undefined) await assertMayShare(tx, actor, before);
  assertStatusChange(actor, before, input.status);
  if (before.status === 'paused' && input.status !== undefined && isWakeable(input.status))
    await assertMayWake(tx, before);
  // A terminated sub-agent does not count: without this, terminating and bringing back would make room for any number.
  const revived = before.status === 'terminated' && (input.status ?? 'terminated') !== 'terminated';
  if (revived && before.parent_agent_id !== null) await assertRoom(tx, 'agents', agent.company_id);

  const next_heartbeat_at = rescheduledHeartbeat(before, input);
  const history = await historyOf(tx, actor, before, input, reason);
  const [row] = await tx
    .with(...history.written)
    .update(agents)
    .set({
      ...input,
      current_prompt_version_number: history.version_number,
      ...(input.adapter_type === '' ? { adapter_type: 'llm' } : {}),
      ...(next_heartbeat_at === undefined ? {} : { next_heartbeat_at }),
      ...(input.status === undefined || input.status === 'paused' ? {} : { pause_reason: null }),
      ...(input.status === undefined ? {} : { budget_paused: false, paused_with_parent: false }),
      ...(input.status !== undefined && startableStatuses.includes(input.status)
        ? { status: runningOr(input.status) }
        : {}),
      updated_at: sql`now()`,
    })
    .where(eq(agents.id, agent.id))
    .returning(agentColumns);
  const below = await followStatus(tx, before, row!);
  await recordChanges(tx, actor, [
    updated(row!, { fields: Object.keys(input), ...statusOf(input) }),
    ...below,
  ]);
  return presentAgent(row!);
}

/** The contents of an agent's files become available to the company: for a person to decide, or an admin if it uses secrets. */
async function assertMayShare(tx: Tx, actor: Actor, agent: AgentRow): Promise<void> {
  if (actor.kind === 'agent') throw forbidden('only people can set files_as_knowledge');
  await assertMayTeach(tx, actor, agent);
}

/** Pauses; a run in progress continues. Pausing again changes the reason. @throws conflict */
export async function pauseAgent(
  tx: Tx,
  actor: Actor,
  agent: AgentRow,
  reason: string | null = null,
): Promise<Agent> {
  await assertWithinReach(tx, actor, agent);
  await lockFamily(tx, agent.id);
  const before = await lockAgent(tx, agent.id);
  // Pausing is refused too: resuming would activate an agent that no one has approved, or that has ended.
  assertManageable(before);
  const [row] = await tx
    .update(agents)
    .set({
      status: 'paused',
      pause_reason: reason,
      budget_paused: false,
      paused_with_parent: false,
      updated_at: sql`now()`,
    })
    .where(eq(agents.id, agent.id))
    .returning(agentColumns);
  const below = await pauseBelow(tx, agent.id);
  await recordChanges(tx, actor, [updated(row!, { reason }, 'agent.paused'), ...below]);
  return presentAgent(row!);
}

/**
 * Resumes a paused agent, or one in error, and dispatches what was waiting for it; any other wakeable agent stays as it is.
 * @throws conflict, including `budget exceeded` while a breach is open
 */
export async function resumeAgent(tx: Tx, actor: Actor, agent: AgentRow): Promise<Agent> {
  await assertWithinReach(tx, actor, agent);
  await lockFamily(tx, agent.id);
  const before = await lockAgent(tx, agent.id);
  assertManageable(before);
  const paused = before.status === 'paused';
  if (!paused && before.status !== 'error') return presentAgent(before);
  if (paused) await assertMayWake(tx, before);
  const [row] = await tx
    .update(agents)
    .set({
      status: runningOr('idle'),
      pause_reason: null,
      budget_paused: false,
      paused_with_parent: false,
      updated_at: sql`now()`,
    })
    .where(eq(agents.id, agent.id))
    .returning(agentColumns);
  await enqueue(tx, 'dispatch-agent', { agent_id: agent.id });
  const below = paused ? await resumeBelow(tx, agent.id) : [];
  await recordChanges(tx, actor, [updated(row!, {}, 'agent.resumed'), ...below]);
  return presentAgent(row!);
}

function assertManageable({ status }: AgentRow): void {
  if (status === 'terminated') throw conflict('agent is terminated');
  if (status === 'pending_approval') throw conflict('agent is pending approval');
}

/** Only a person may approve a hire (specification, Authentication 5), including by this route. */
function assertStatusChange(actor: Actor, before: AgentRow, status: AgentStatus | undefined): void {
  if (status === undefined || status === before.status || actor.kind !== 'agent') return;
  if (before.status === 'pending_approval') throw forbidden('agents cannot approve a hire');
}

async function followStatus(tx: Tx, before: AgentRow, after: AgentRow): Promise<Change[]> {
  if (after.status === 'terminated' && before.status !== 'terminated') {
    signal(tx, 'credentials', after.id);
    await enqueue(tx, 'settle-agent', { agent_id: after.id });
  }
  if (isWakeable(after.status) && !isWakeable(before.status)) {
    signal(tx, 'credentials', after.id);
    await enqueue(tx, 'dispatch-agent', { agent_id: after.id });
  }
  if (after.status === 'paused' && before.status !== 'paused') return pauseBelow(tx, after.id);
  return before.status === 'paused' && isWakeable(after.status) ? resumeBelow(tx, after.id) : [];
}

const statusOf = ({ status }: UpdateAgent) => (status === undefined ? {} : { status });

function updated(row: AgentRow, details: Record<string, unknown>, action = 'agent.updated') {
  return {
    company_id: row.company_id,
    action,
    entity_type: 'agent',
    entity_id: row.id,
    details,
    event: { type: 'agent_updated', data: summarizeAgent(row) },
  } as const;
}
