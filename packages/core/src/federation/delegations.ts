/** The steps by which a delegation follows its task at the peer. Schedulers take them and do the network calls. */
import { endedTaskStates, type TaskState, type TaskUsage } from '@acp/contract';
import { schema, type Tx } from '@acp/db';
import { cutText } from '@acp/kernel';
import { eq, sql } from 'drizzle-orm';
import { outsideActor } from '../activity/index.ts';
import { findAgent } from '../agents/index.ts';
import { reportCost } from '../budgets/index.ts';
import { createComment } from '../comments/index.ts';
import { awaitInput, findIssue, type IssueRow, updateIssue } from '../issues/index.ts';
import { createWorkProduct } from '../work-products/index.ts';
import { type DelegationRow, isSamePlace, lockClaimed, putOff } from './claim-delegations.ts';
import { type ForwardedComments, forwardedColumns } from './forwarded-comments.ts';

const { a2a_delegations } = schema;

/** Current state of the task at the peer. */
export interface RemoteState {
  task_id: string;
  context_id: string | null;
  state: TaskState;
  said: { id: string; text: string } | null;
  artifacts: readonly { id: string; name: string; text: string; url: string | null }[];
  /** The cost so far as reported by the peer; null if it reports none. */
  usage: TaskUsage | null;
}

const LONGEST_TEXT = 100_000;
/** Limit of what one task leaves on its issue, however much the peer sends. */
const MOST_ARTIFACTS = 100;
const MOST_WORDS = 200;

/** Comments of the issue that were forwarded to the peer. */
interface SentWords {
  words: ForwardedComments;
  /** Why the peer rejected them. */
  refusal?: string;
}

/**
 * Applies the state of the peer's task to the issue: messages become comments, artifacts work products, and the issue ends
 * with the task. A question wakes the agent that delegated the work; its answer on the issue is forwarded.
 * @returns false if the step may have no effect any more
 */
export async function applyRemote(
  tx: Tx,
  delegation: DelegationRow,
  remote: RemoteState,
  sent?: SentWords,
): Promise<boolean> {
  const held = await lockClaimed(tx, delegation);
  if (held === undefined) return false;
  if (!held.live || !isSamePlace(held, delegation)) {
    await putOff(tx, delegation, held, remote);
    return false;
  }
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
      ...(sent && forwardedColumns(sent.words)),
      failures: 0,
      failing_since: null,
      error: null,
      ...(remote.usage && { cost_usd: String(costOf(remote.usage)) }),
      ...(changed ? { changed_at: sql`now()` } : {}),
      claimed_at: null,
      // Polled less often the longer nothing changes: every minute at least, or every five if the peer sends notifications.
      next_attempt_at: ended
        ? null
        : sql`case when notified_at > claimed_at then now() else now() + make_interval(secs => least(
            case when notified_at is null then 60 else 300 end,
            greatest(2, extract(epoch from now() - ${changed ? sql`now()` : sql`changed_at`}) / 10))) end`,
    })
    .where(eq(a2a_delegations.issue_id, delegation.issue_id));
  return true;
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
 * Past the limit, only the final message of a talkative peer is kept, and a task that keeps asking is cancelled, since each
 * question wakes an agent. @returns number of comments created
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
      // The next step cancels the task at the peer.
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

/** Maximum cost of one task in USD, whatever the peer reports. */
const MOST_USD = 1000;
const MOST_TOKENS = 2_000_000_000;

const costOf = ({ cost_usd }: TaskUsage): number => Math.min(cost_usd, MOST_USD);

/** Counts the cost reported by the peer towards the budgets of the agent that delegated the work. */
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

const peerActor = ({ remote_agent }: DelegationRow) => outsideActor(cutText(remote_agent, 200));

const say = async (tx: Tx, delegation: DelegationRow, issue: IssueRow, text: string) =>
  createComment(tx, peerActor(delegation), issue, { body_markdown: foreign(text) || '–' });

/** A peer's text, with mentions disabled: a peer may not choose whom it wakes. */
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

/** Schedules a retry; after a day of failures the issue is cancelled. @param hopeless retrying is pointless */
export async function recordFailure(
  tx: Tx,
  delegation: DelegationRow,
  reason: string,
  hopeless: boolean,
): Promise<void> {
  const held = await lockClaimed(tx, delegation);
  if (held === undefined) return;
  if (!held.live) return putOff(tx, delegation, held);
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
  await stopFollowing(tx, delegation);
  const issue = await findIssue(tx, delegation.issue_id);
  if (issue === undefined || isOver(issue)) return;
  await say(tx, delegation, issue, `The peer could not be reached any more: ${reason}`);
  await updateIssue(tx, peerActor(delegation), issue, { status: 'cancelled' });
}

/** The peer's rate limit is used up, which is not a failure: try again in the next minute. */
export async function postponeDelegation(tx: Tx, delegation: DelegationRow, reason: string): Promise<void> {
  const held = await lockClaimed(tx, delegation);
  if (held === undefined) return;
  if (!held.live) return putOff(tx, delegation, held);
  await tx
    .update(a2a_delegations)
    .set({
      claimed_at: null,
      error: cutText(reason, LONGEST_REASON),
      // Jitter: not all at the same time, and in a different order.
      next_attempt_at: sql`now() + make_interval(secs => 1 + 9 * random()) + greatest('0', (
        select p.window_started_at + interval '1 minute' - now() from a2a_peers p where p.id = ${delegation.peer_id}))`,
    })
    .where(eq(a2a_delegations.issue_id, delegation.issue_id));
}

/** Stops following the task. */
export async function endDelegation(tx: Tx, delegation: DelegationRow): Promise<void> {
  if ((await lockClaimed(tx, delegation)) !== undefined) await stopFollowing(tx, delegation);
}

const stopFollowing = async (tx: Tx, { issue_id }: DelegationRow) =>
  tx
    .update(a2a_delegations)
    .set({ next_attempt_at: null, claimed_at: null })
    .where(eq(a2a_delegations.issue_id, issue_id));
