/** The steps by which a delegation follows the task at the peer. Schedulers take them; the network is theirs. */
import { endedTaskStates, type TaskState, type TaskUsage } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { cutText } from '@acp/kernel';
import { eq, sql } from 'drizzle-orm';
import { systemActor } from '../activity/index.ts';
import { findAgent } from '../agents/index.ts';
import { reportCost } from '../budgets/index.ts';
import { createComment } from '../comments/index.ts';
import { awaitInput, findIssue, type IssueRow, updateIssue } from '../issues/index.ts';
import { createWorkProduct } from '../work-products/index.ts';

const { a2a_delegations } = schema;

export type DelegationRow = typeof a2a_delegations.$inferSelect;

/** What the task at the peer has come to. */
export interface RemoteState {
  task_id: string;
  context_id: string | null;
  state: TaskState;
  said: { id: string; text: string } | null;
  artifacts: readonly { id: string; name: string; text: string; url: string | null }[];
  /** What the peer says that it has cost so far; null where it says nothing. */
  usage: TaskUsage | null;
}

/** Calls that one step makes, and what it does beside them: whoever takes a step and dies loses it then. */
const [MOST_CALLS, MARGIN_SEC] = [2, 30];

/** Neither switched off nor in the trash. */
const isLive = sql`exists (select from a2a_peers p join companies c on c.id = p.company_id and c.deleted_at is null
  where p.id = a2a_delegations.peer_id and p.enabled)`;
/** What can't go on now is looked at again later; a peer that is switched on again has it looked at once. */
const RESTING = sql`interval '1 hour'`;

/** @param except companies that have enough under way */
export async function claimDelegations(
  tx: Tx,
  limit: number,
  except: readonly string[] = [],
): Promise<DelegationRow[]> {
  const rows = await tx
    .update(a2a_delegations)
    .set({
      next_attempt_at: sql`now() + case when ${isLive}
        then make_interval(secs => ${MARGIN_SEC} + ${MOST_CALLS} * (
          select p.timeout_seconds from a2a_peers p where p.id = a2a_delegations.peer_id))
        else ${RESTING} end`,
      claimed_at: sql`case when ${isLive} then now() end`,
    })
    .where(
      sql`issue_id in (
        select d.issue_id from a2a_delegations d
        where d.next_attempt_at <= now() and d.company_id <> all(${sql.param(except)}::uuid[])
        order by d.next_attempt_at limit ${limit} for no key update of d skip locked)`,
    )
    .returning();
  return rows.filter(({ claimed_at }) => claimed_at !== null);
}

/** Goes on at once with what was given to the peer. */
export async function resumeDelegations(tx: Tx, peer_id: string): Promise<void> {
  await tx
    .update(a2a_delegations)
    .set({ next_attempt_at: sql`now()` })
    .where(sql`peer_id = ${peer_id} and next_attempt_at is not null and claimed_at is null`);
}

/** What people and agents wrote on the issue since it was last sent on; null where nothing. */
export async function wordsToForward(
  tx: Tx,
  { issue_id, forwarded_at }: DelegationRow,
): Promise<{ text: string; up_to: Date; message_id: string } | null> {
  const { rows } = await tx.execute<{ id: string; text: string; created_at: string }>(sql`
    select id, left(body_markdown, 100000) as text, created_at from comments c
    where issue_id = ${issue_id} and created_at > ${forwarded_at.toISOString()}::timestamptz
      -- The peer's own words, and those of the service, are nobody's; those of integrations are told by the activity.
      and (author_agent_id is not null or author_user_id is not null or exists (
        select from activity a where a.company_id = c.company_id and a.entity_type = 'comment'
          and a.entity_id = c.id and a.created_at >= c.created_at - interval '1 day' and a.actor_type = 'board_user'))
    order by created_at, id limit 20`);
  const last = rows.at(-1);
  if (last === undefined) return null;
  const text = rows.map((row) => row.text).join('\n\n');
  return { text, up_to: new Date(last.created_at), message_id: last.id };
}

const LONGEST_TEXT = 100_000;
/** What a task leaves on its issue, however much its peer says. */
const MOST_ARTIFACTS = 100;
const MOST_WORDS = 200;

/** Words of the issue that the peer was sent. */
export interface SentWords {
  up_to: Date;
  /** Why it did not take them. */
  refusal?: string;
}

/**
 * What the peer says of its task becomes what the issue says: its words comments, its artifacts work products, its end the
 * issue's. A question wakes the agent that gave the work away; its answer on the issue is sent on.
 */
export async function applyRemote(
  tx: Tx,
  delegation: DelegationRow,
  remote: RemoteState,
  sent?: SentWords,
): Promise<void> {
  const issue = await findIssue(tx, delegation.issue_id);
  const known = new Set(delegation.artifacts as string[]);
  const offered = new Map(remote.artifacts.map((artifact) => [artifact.id, artifact]));
  const fresh = [...offered.values()]
    .filter(({ id }) => !known.has(id))
    .slice(0, Math.max(0, MOST_ARTIFACTS - known.size));
  const spoke = remote.said !== null && remote.said.id !== delegation.said;
  const turned = remote.state !== delegation.state;
  const ended = endedTaskStates.includes(remote.state);
  let words = 0;
  if (issue && !isOver(issue)) {
    await keepProducts(tx, delegation, issue, fresh);
    if (sent?.refusal !== undefined) {
      await say(tx, delegation, issue, `It did not take what was written here: ${sent.refusal}`);
      words += 1;
    }
    words += await hear(tx, delegation, issue, { remote, spoke, turned, ended });
    if (ended && remote.usage !== null) await mirrorCost(tx, delegation, remote.usage);
    if (ended)
      await updateIssue(tx, peerActor(delegation), issue, {
        status: remote.state === 'completed' ? 'done' : 'cancelled',
      });
  }
  const changed = turned || spoke || fresh.length > 0;
  await tx
    .update(a2a_delegations)
    .set({
      remote_task_id: remote.task_id,
      context_id: remote.context_id,
      state: remote.state,
      said: remote.said?.id ?? delegation.said,
      words: delegation.words + words,
      artifacts: [...known, ...fresh.map(({ id }) => id)],
      ...(sent && { forwarded_at: sent.up_to }),
      failures: 0,
      failing_since: null,
      error: null,
      ...(remote.usage && { cost_usd: String(costOf(remote.usage)) }),
      ...(changed ? { changed_at: sql`now()` } : {}),
      claimed_at: null,
      // The longer nothing has changed, the more rarely it is asked: a minute at most, five where the peer gives notice.
      next_attempt_at: ended
        ? null
        : sql`case when notified_at > claimed_at then now() else now() + make_interval(secs => least(
            case when notified_at is null then 60 else 300 end,
            greatest(2, extract(epoch from now() - ${changed ? sql`now()` : sql`changed_at`}) / 10))) end`,
    })
    .where(eq(a2a_delegations.issue_id, delegation.issue_id));
}

async function keepProducts(
  tx: Tx,
  delegation: DelegationRow,
  issue: IssueRow,
  artifacts: RemoteState['artifacts'],
): Promise<void> {
  for (const { name, text, url } of artifacts)
    await createWorkProduct(tx, peerActor(delegation), issue, {
      title: name.slice(0, 500),
      type: 'artifact',
      summary: text === '' ? null : text.slice(0, LONGEST_TEXT),
      url,
    });
}

/**
 * Of a peer that talks on and on only its last words are kept; one that asks on and on is given up, for each question
 * wakes an agent. @returns how many comments came of it
 */
async function hear(
  tx: Tx,
  delegation: DelegationRow,
  issue: IssueRow,
  {
    remote: { state, said },
    spoke,
    turned,
    ended,
  }: { remote: RemoteState; spoke: boolean; turned: boolean; ended: boolean },
): Promise<number> {
  const isFull = delegation.words >= MOST_WORDS;
  if ((state === 'input_required' || state === 'auth_required') && (turned || spoke)) {
    if (isFull) {
      await say(tx, delegation, issue, 'It asked too often, and is called off.');
      // The next step calls off the task at the peer.
      await updateIssue(tx, peerActor(delegation), issue, { status: 'cancelled' });
    } else await ask(tx, delegation, issue, said?.text ?? 'The peer waits for input.');
    return 1;
  }
  const text = spoke ? said?.text : undefined;
  if (ended && state !== 'completed' && text === undefined)
    await say(tx, delegation, issue, `The task was ${state}.`);
  else if (text !== undefined && (!isFull || ended)) await say(tx, delegation, issue, text);
  else return 0;
  return 1;
}

/** USD of one task: what a peer says costs a company no more than this. */
const MOST_USD = 1000;
const MOST_TOKENS = 2_000_000_000;

const costOf = ({ cost_usd }: TaskUsage): number => Math.min(cost_usd, MOST_USD);

/** What the work has cost elsewhere counts towards the budgets of whoever gave it away. */
async function mirrorCost(tx: Tx, delegation: DelegationRow, usage: TaskUsage): Promise<void> {
  const { issue_id, company_id, agent_id, remote_agent } = delegation;
  const cost_usd = costOf(usage);
  const [input_tokens, output_tokens] = [usage.input_tokens, usage.output_tokens].map((tokens) =>
    Math.min(Math.round(tokens), MOST_TOKENS),
  ) as [number, number];
  if (cost_usd === 0 && input_tokens + output_tokens === 0) return;
  const agent = agent_id === null ? undefined : await findAgent(tx, agent_id);
  await reportCost(tx, peerActor(delegation), company_id, {
    agent_id: agent?.id ?? null,
    issue_id,
    provider: 'a2a',
    model: cutText(remote_agent, 200),
    input_tokens,
    output_tokens,
    cost_usd,
  });
}

const isOver = ({ status }: IssueRow): boolean => status === 'done' || status === 'cancelled';

const peerActor = ({ remote_agent }: DelegationRow) => systemActor(cutText(remote_agent, 200));

const say = async (tx: Tx, delegation: DelegationRow, issue: IssueRow, text: string) =>
  createComment(tx, peerActor(delegation), issue, { body_markdown: foreign(text) || '–' });

/** Words of a peer, in which nobody is mentioned: whom they wake is not its to say. */
const foreign = (text: string): string => cutText(text, LONGEST_TEXT).replaceAll('@', '@\u2060').trim();

async function ask(tx: Tx, delegation: DelegationRow, issue: IssueRow, question: string): Promise<void> {
  const peer = peerActor(delegation);
  const agent = delegation.agent_id === null ? undefined : await findAgent(tx, delegation.agent_id);
  if (agent === undefined) {
    await awaitInput(tx, peer, issue, question);
    await say(tx, delegation, issue, question);
  } else
    await createComment(tx, peer, issue, {
      body_markdown: `@"${agent.name}" ${foreign(delegation.remote_agent)} asks; what you write here is sent on as the answer:\n\n${foreign(question)}`,
    });
}

const LONGEST_REASON = 500;

/** Tried for a day, then the issue is given up. @param hopeless nothing will change it */
export async function recordFailure(
  tx: Tx,
  delegation: DelegationRow,
  reason: string,
  hopeless: boolean,
): Promise<void> {
  const [row] = await tx
    .update(a2a_delegations)
    .set({
      claimed_at: null,
      failures: sql`failures + 1`,
      error: cutText(reason, LONGEST_REASON),
      failing_since: sql`coalesce(failing_since, now())`,
      next_attempt_at: sql`now() + make_interval(secs => least(3600, 5 * 2 ^ least(failures, 20)))`,
    })
    .where(eq(a2a_delegations.issue_id, delegation.issue_id))
    .returning({ over: sql<boolean>`failing_since < now() - interval '1 day'` });
  if (!hopeless && row?.over !== true) return;
  await endDelegation(tx, delegation);
  const issue = await findIssue(tx, delegation.issue_id);
  if (issue === undefined || isOver(issue)) return;
  await say(tx, delegation, issue, `The peer could not be reached any more: ${reason}`);
  await updateIssue(tx, peerActor(delegation), issue, { status: 'cancelled' });
}

/** The peer's calls of this minute are used up, which is nobody's failure: the next minute has others. */
export async function putOffDelegation(
  tx: Tx,
  { issue_id, peer_id }: Pick<DelegationRow, 'issue_id' | 'peer_id'>,
  reason: string,
): Promise<void> {
  await tx
    .update(a2a_delegations)
    .set({
      claimed_at: null,
      error: cutText(reason, LONGEST_REASON),
      // Not all of them at once, and in another order.
      next_attempt_at: sql`now() + make_interval(secs => 1 + 9 * random()) + greatest('0', (
        select p.window_started_at + interval '1 minute' - now() from a2a_peers p where p.id = ${peer_id}))`,
    })
    .where(eq(a2a_delegations.issue_id, issue_id));
}

/** It is followed no more. */
export async function endDelegation(tx: Tx, { issue_id }: Pick<DelegationRow, 'issue_id'>): Promise<void> {
  await tx
    .update(a2a_delegations)
    .set({ next_attempt_at: null })
    .where(eq(a2a_delegations.issue_id, issue_id));
}
