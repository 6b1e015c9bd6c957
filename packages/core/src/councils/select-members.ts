import { adapterTraits, type AgentRole } from '@acp/contract';
import { type Tx, wakeableAgentStatuses } from '@acp/db';
import { conflict, invalid, notFound, said } from '@acp/kernel';
import { type SQL, sql } from 'drizzle-orm';
import { isWakeable } from '../agents/index.ts';
import type { IssueRow } from '../issues/index.ts';
import { agentFactColumns, type AgentFacts, agentPresent } from '../runs/index.ts';
import { roleFit } from './role-fit.ts';

/** An agent that may take part, with the facts needed for admission. */
export interface Member extends AgentFacts, Record<string, unknown> {
  name: string;
  role: AgentRole;
  title: string | null;
  description: string | null;
  /** Number of agents above it in the reporting tree. */
  level: number;
  created_at: string;
}

const MOST_FITTING = 3;
const CANDIDATES = 500;
/** Maximum characters of the issue's text that are considered. */
const READ = 5000;

const level = sql`(with recursive up as (
    select a.reports_to as boss, 1 as steps
    union all
    select b.reports_to, up.steps + 1 from up join agents b on b.id = up.boss where up.steps < 64
  ) select count(boss)::int from up)`;

/** @param first which of them are read even if there are more than `CANDIDATES` */
async function readMembers(tx: Tx, company_id: string, which: SQL, first: SQL = which): Promise<Member[]> {
  const { rows } = await tx.execute<Member>(sql`
    select ${agentFactColumns}, a.name, a.role, a.title, a.description, a.created_at, ${level} as level
    from agents a where a.company_id = ${company_id} and ${agentPresent} and ${which}
    order by ${first} desc, a.created_at, a.id limit ${CANDIDATES}`);
  return rows;
}

/**
 * The participants, highest in the reporting tree first: those named by the caller, else the assignee, its manager, and up
 * to three whose roles fit the question. Assignee and manager are among them even if they can't take part: the council says so.
 * @throws notFound for an agent of another company, conflict if there are fewer than two
 */
export async function selectMembers(
  tx: Tx,
  issue: IssueRow,
  { agent_ids, question }: { agent_ids: readonly string[] | undefined; question: string },
): Promise<Member[]> {
  const members =
    agent_ids === undefined
      ? await fittingMembers(tx, issue, question)
      : await namedMembers(tx, issue.company_id, agent_ids);
  if (members.length < 2) throw conflict('a council needs two agents: name them, or hire one');
  return members.toSorted((a, b) => a.level - b.level);
}

async function namedMembers(tx: Tx, company_id: string, agent_ids: readonly string[]): Promise<Member[]> {
  const ids = JSON.stringify(agent_ids);
  const found = await readMembers(
    tx,
    company_id,
    sql`a.id in (select value::uuid from jsonb_array_elements_text(${ids}::jsonb))`,
  );
  if (found.length < new Set(agent_ids).size) throw notFound('there is no such agent');
  const ended = found.find(({ status }) => status === 'terminated');
  if (ended !== undefined) throw conflict(said`agent ${ended.name} is terminated`);
  const mute = found.find((each) => !deliberates(each));
  if (mute !== undefined) throw invalid(said`agents with the adapter ${mute.adapter_type} cannot deliberate`);
  return found;
}

/** Programs that receive a task instead of a prompt can't be given a question. */
export const deliberates = ({ adapter_type }: Member): boolean =>
  adapterTraits(adapter_type).told_by === 'prompt';

async function fittingMembers(tx: Tx, issue: IssueRow, question: string): Promise<Member[]> {
  const assignee = issue.assignee_agent_id;
  const manager = assignee === null ? null : await managerOf(tx, assignee);
  const concerned = sql`coalesce(a.id in (${assignee}::uuid, ${manager}::uuid), false)`;
  const all = await readMembers(
    tx,
    issue.company_id,
    sql`(a.status in ${wakeableAgentStatuses} and a.parent_agent_id is null or ${concerned})`,
    concerned,
  );
  const first = [assignee, manager].flatMap((id) => all.filter((each) => each.id === id));
  const text = `${question} ${issue.title} ${(issue.body_markdown ?? '').slice(0, READ)}`;
  const others = all
    .filter((each) => deliberates(each) && !first.includes(each))
    .map((each) => ({ each, fit: roleFit(text, each) }))
    .toSorted((a, b) => b.fit - a.fit || a.each.level - b.each.level);
  const fitting = others.filter(({ fit }) => fit > 0).slice(0, MOST_FITTING);
  const members = [...first, ...fitting.map(({ each }) => each)];
  const able = members.filter((each) => deliberates(each) && isWakeable(each.status)).length;
  // If no role fits the question: those at the top can comment on everything.
  const more = others.map(({ each }) => each).filter((each) => !members.includes(each));
  return [...members, ...more.slice(0, Math.max(0, 2 - able))];
}

async function managerOf(tx: Tx, agent_id: string): Promise<string | null> {
  const { rows } = await tx.execute<{ id: string | null }>(
    sql`select reports_to as id from agents where id = ${agent_id}`,
  );
  return rows[0]?.id ?? null;
}
