import { endedTaskStates } from '@acp/contract';
import {
  applyRemote,
  closeNotifications,
  depthMetadata,
  type DelegationRow,
  endDelegation,
  findIssue,
  findPeer,
  isSamePlace,
  openNotifications,
  peerKey,
  type PeerRow,
  postponeDelegation,
  recordCall,
  recordFailure,
  takeCall,
  commentsToForward,
} from '@acp/core';
import { transaction } from '@acp/db';
import { conflict, newId, ServiceError } from '@acp/kernel';
import { fetchJson } from './fetch-json.ts';
import type { PeerParts } from './refresh-peer.ts';
import { readAnswer, readRemote, refusalOf } from './remote-task.ts';

/** One step of a delegation: sends it, forwards new messages, polls its state, or cancels it. */
export async function followDelegation(
  parts: PeerParts,
  delegation: DelegationRow,
  signal: AbortSignal,
): Promise<void> {
  const { database } = parts;
  const peer = await findPeer(database.db, delegation.peer_id);
  // What it was given is gone with it, or rests with its company.
  if (peer === undefined) return;
  try {
    await step(parts, peer, delegation, signal);
  } catch (error) {
    // Aborted half-way: the next step starts from the same state.
    if (signal.aborted) throw error;
    await transaction(database, async (tx) => {
      if (!(error instanceof ServiceError))
        await recordFailure(tx, delegation, 'its answer could not be taken in', false);
      else if (error.kind === 'rate_limited') await postponeDelegation(tx, delegation, error.message);
      // A task that is unknown there, or a request rejected as such, will fail the same way next time.
      else await recordFailure(tx, delegation, error.message, isHopeless(error));
    });
    if (!(error instanceof ServiceError)) throw error;
  }
}

const isHopeless = ({ kind }: ServiceError): boolean => kind === 'not_found' || kind === 'conflict';

async function step(
  parts: PeerParts,
  peer: PeerRow,
  delegation: DelegationRow,
  signal: AbortSignal,
): Promise<void> {
  const { database } = parts;
  const { remote_task_id, dialect, context_id } = delegation;
  const isFirst = dialect === '1.0';
  const call = async (method: readonly [string, string], params: object) =>
    readRemote(
      await request(parts, peer, delegation, method[isFirst ? 1 : 0], params, signal),
      remote_task_id,
    );
  const issue = await findIssue(database.db, delegation.issue_id);
  if (issue === undefined || issue.status === 'cancelled' || issue.status === 'done') {
    if (remote_task_id !== null && issue?.status !== 'done')
      await call(['tasks/cancel', 'CancelTask'], { id: remote_task_id });
    await transaction(database, async (tx) => endDelegation(tx, delegation));
    return;
  }
  if (remote_task_id === null) {
    const text = issue.body_markdown ?? issue.title;
    const remote = await call(
      SEND,
      message(isFirst, delegation.message_id, text, depthMetadata(delegation.depth)),
    );
    const applied = await transaction(database, async (tx) => applyRemote(tx, delegation, remote));
    if (applied && !endedTaskStates.includes(remote.state))
      await askForNotifications(parts, peer, delegation, remote.task_id, signal);
    return;
  }
  const look = async () => call(['tasks/get', 'GetTask'], { id: remote_task_id });
  const words = await commentsToForward(database.db, delegation);
  if (words === null) {
    const remote = await look();
    await transaction(database, async (tx) => applyRemote(tx, delegation, remote));
    return;
  }
  const of = { taskId: remote_task_id, ...depthMetadata(delegation.depth) };
  try {
    const about = { ...of, ...(context_id && { contextId: context_id }) };
    const remote = await call(SEND, message(isFirst, words.message_id, words.text, about));
    await transaction(database, async (tx) => applyRemote(tx, delegation, remote, { words }));
  } catch (error) {
    if (!(error instanceof ServiceError) || error.kind !== 'conflict') throw error;
    // The task takes no message, having finished in the meantime or being busy: that does not end the task.
    const remote = await look();
    const sent = { words, refusal: error.message };
    await transaction(database, async (tx) => applyRemote(tx, delegation, remote, sent));
  }
}

/**
 * Asks the peer to notify us when the task changes. It is asked once, and the task is polled all the same: many peers have
 * no notifications, or can't reach this address.
 */
async function askForNotifications(
  parts: PeerParts,
  peer: PeerRow,
  delegation: DelegationRow,
  task_id: string,
  signal: AbortSignal,
): Promise<void> {
  const { database, vault, public_url } = parts;
  if (!vault.available || !mayReach(public_url, delegation.remote_url)) return;
  const { issue_id, dialect } = delegation;
  const token = await openNotifications(database.db, delegation, vault);
  const config = { url: `${public_url}/api/a2a/notifications/${issue_id}`, token };
  const [method, params] =
    dialect === '1.0'
      ? ['CreateTaskPushNotificationConfig', { taskId: task_id, id: issue_id, ...config }]
      : ['tasks/pushNotificationConfig/set', { taskId: task_id, pushNotificationConfig: config }];
  try {
    const { error } = readAnswer(await request(parts, peer, delegation, method, params, signal));
    if (error !== undefined) await closeNotifications(database.db, delegation);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    await closeNotifications(database.db, delegation);
  }
}

/** To a peer elsewhere, a loopback address means its own machine. */
const mayReach = (public_url: string, remote_url: string): boolean =>
  !isLoopback(public_url) || isLoopback(remote_url);
const isLoopback = (url: string): boolean =>
  /^(localhost|127(\.\d+){3}|\[::1\])$/.test(new URL(url).hostname);

const POLLS: readonly string[] = ['tasks/get', 'GetTask'];
const SEND = ['message/send', 'SendMessage'] as const;

const message = (isFirst: boolean, messageId: string, text: string, of: object) =>
  isFirst
    ? {
        message: { messageId, role: 'ROLE_USER', parts: [{ text }], ...of },
        configuration: { returnImmediately: true },
      }
    : {
        message: { kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text }], ...of },
        configuration: { blocking: false },
      };

async function request(
  { database, vault, fetchFor }: PeerParts,
  peer: PeerRow,
  delegation: DelegationRow,
  method: string,
  params: object,
  signal: AbortSignal,
): Promise<unknown> {
  const { remote_url, dialect } = delegation;
  if (!isSamePlace(peer, delegation)) throw conflict('the peer has moved since it was given this');
  await takeCall(database.db, peer);
  const key = peerKey(vault, peer);
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    ...(dialect === '1.0' && { 'a2a-version': '1.0' }),
    ...(key !== null && { authorization: `Bearer ${key}` }),
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: newId(), method, params });
  const asked = { method: 'POST', headers, body, timeout_sec: peer.timeout_seconds } as const;
  const begun = performance.now();
  const record = async (error: string | null) => {
    const call = { method, error, duration_ms: performance.now() - begun, polls: POLLS.includes(method) };
    await recordCall(database.db, delegation, call);
  };
  let answer: unknown;
  try {
    answer = await fetchJson(fetchFor(peer.company_id), remote_url, asked, signal);
  } catch (error) {
    if (error instanceof ServiceError) await record(error.message);
    throw error;
  }
  await record(refusalOf(answer));
  return answer;
}
