import {
  applyRemote,
  type DelegationRow,
  endDelegation,
  findIssue,
  findPeer,
  peerKey,
  type PeerRow,
  recordCall,
  recordFailure,
  takeCall,
  wordsToForward,
} from '@acp/core';
import { transaction } from '@acp/db';
import { newId, ServiceError } from '@acp/kernel';
import { fetchJson } from './fetch-json.ts';
import type { PeerParts } from './refresh-peer.ts';
import { readRemote } from './remote-task.ts';

/** One step of a delegation: sends it, sends on what was written, asks how it stands, or calls it off. */
export async function followDelegation(
  parts: PeerParts,
  delegation: DelegationRow,
  signal: AbortSignal,
): Promise<void> {
  const { database } = parts;
  const peer = await findPeer(database.db, delegation.peer_id);
  if (peer === undefined) return endDelegation(database.db, delegation);
  try {
    await step(parts, peer, delegation, signal);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    // What is not known there any more, or never was understood, will not be.
    const hopeless = error.kind === 'not_found';
    await transaction(database, async (tx) => recordFailure(tx, delegation, error.message, hopeless));
  }
}

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
    readRemote(await request(parts, peer, delegation, method[isFirst ? 1 : 0], params, signal));
  const issue = await findIssue(database.db, delegation.issue_id);
  if (issue === undefined || issue.status === 'cancelled' || issue.status === 'done') {
    if (remote_task_id !== null && issue?.status !== 'done')
      await call(['tasks/cancel', 'CancelTask'], { id: remote_task_id });
    return endDelegation(database.db, delegation);
  }
  if (remote_task_id === null) {
    const text = issue.body_markdown ?? issue.title;
    const remote = await call(SEND, message(isFirst, delegation.message_id, text, {}));
    return transaction(database, async (tx) => applyRemote(tx, delegation, remote));
  }
  const words = await wordsToForward(database.db, delegation);
  const remote =
    words === null
      ? await call(['tasks/get', 'GetTask'], { id: remote_task_id })
      : await call(
          SEND,
          message(isFirst, words.message_id, words.text, {
            taskId: remote_task_id,
            ...(context_id && { contextId: context_id }),
          }),
        );
  await transaction(database, async (tx) => applyRemote(tx, delegation, remote, words?.up_to));
}

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
  { database, vault, fetch: send }: PeerParts,
  peer: PeerRow,
  { remote_url, dialect }: DelegationRow,
  method: string,
  params: object,
  signal: AbortSignal,
): Promise<unknown> {
  await takeCall(database.db, peer);
  const key = peerKey(vault, peer);
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    ...(dialect === '1.0' && { 'a2a-version': '1.0' }),
    ...(key !== null && { authorization: `Bearer ${key}` }),
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: newId(), method, params });
  const asked = { method: 'POST', headers, body, timeout_sec: peer.timeout_seconds } as const;
  try {
    const answer = await fetchJson(send, remote_url, asked, signal);
    await recordCall(database.db, peer, null);
    return answer;
  } catch (error) {
    if (error instanceof ServiceError) await recordCall(database.db, peer, error.message);
    throw error;
  }
}
