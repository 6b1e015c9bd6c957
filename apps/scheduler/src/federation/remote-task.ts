import {
  createValidator,
  type PeerMessage,
  PeerAnswer,
  PeerBareMessage,
  PeerReply,
  PeerTask,
  PeerUsage,
  type TaskState,
  type TaskUsage,
} from '@acp/contract';
import { type RemoteState, parseTaskState } from '@acp/core';
import { conflict, invalid, notFound, unavailable } from '@acp/kernel';
import type { Static } from 'typebox';

/** The result or the error, unchanged. @throws invalid */
export const readAnswer = createValidator(PeerAnswer, 'its answer');
const readTask = createValidator(PeerTask, 'its task');
const readReply = createValidator(PeerReply, 'its message');
const readUsage = createValidator(PeerUsage, 'its usage');
const readBare = createValidator(PeerBareMessage, 'its message');

const TASK_NOT_FOUND = -32_001;
/** Errors about the request itself: the same request would be rejected again. All others may be temporary. */
const FOR_GOOD: ReadonlySet<number> = new Set([
  -32_600, -32_601, -32_602, -32_002, -32_004, -32_005, -32_008, -32_009,
]);
/** Maximum length of a peer's ids for messages and artifacts, in characters. */
const LONGEST_ID = 500;

type Part = PeerMessage['parts'][number];

/**
 * Reads a peer's answer in either dialect.
 * @param asked the task that the request was about; null for a new one
 * @throws notFound for a task unknown to the peer, conflict for a permanent rejection, unavailable, invalid for a malformed
 * answer or one about another task
 */
export function readRemote(answer: unknown, asked: string | null = null): RemoteState {
  const { result, error } = readAnswer(answer);
  if (error) {
    const message = inWords(error);
    if (error.code === TASK_NOT_FOUND) throw notFound(message);
    throw FOR_GOOD.has(error.code) ? conflict(message) : unavailable(message);
  }
  if (typeof result !== 'object' || result === null) throw invalid('its answer has no result');
  if ('message' in result && !('status' in result)) return said(readReply(result).message, asked);
  if ('kind' in result && result.kind === 'message') return said(readBare(result), asked);
  const task = readTask('task' in result ? result.task : result);
  const task_id = storable(task.id);
  if (asked !== null && task_id !== asked) throw invalid('it answered about another task');
  const { message, state } = task.status;
  return {
    task_id,
    context_id: task.contextId ? storable(task.contextId) : null,
    state: parseTaskState(state) ?? ('working' satisfies TaskState),
    said: message
      ? { id: idOf(message.messageId ?? textOf(message.parts)), text: textOf(message.parts) }
      : null,
    usage: usageOf(task.metadata?.usage),
    artifacts: (task.artifacts ?? []).map(({ artifactId, name, parts }, index) => ({
      id: idOf(artifactId ?? String(index)),
      name: storable(name ?? '').trim() || 'Artifact',
      text: textOf(parts),
      url: urlOf(parts),
    })),
  };
}

const inWords = ({ code, message }: NonNullable<Static<typeof PeerAnswer>['error']>): string =>
  `the peer refused: ${storable(message ?? '').slice(0, 300)} (${code})`;

/** The peer's reason for not doing what it was asked; null if it did. */
export function refusalOf(answer: unknown): string | null {
  try {
    const { error } = readAnswer(answer);
    return error === undefined ? null : inWords(error);
  } catch (error) {
    return error instanceof Error ? error.message : 'its answer can’t be read';
  }
}

/** The peer answered immediately, without a task. */
const said = ({ messageId, contextId, parts }: PeerMessage, asked: string | null): RemoteState => ({
  task_id: asked ?? idOf(messageId ?? 'message'),
  context_id: contextId ? storable(contextId) : null,
  state: 'completed',
  said: { id: idOf(messageId ?? 'message'), text: textOf(parts) },
  artifacts: [],
  usage: null,
});

/** Usage of any other shape is ignored. */
function usageOf(value: unknown): TaskUsage | null {
  try {
    const { costUsd, cost_usd, inputTokens, input_tokens, outputTokens, output_tokens } = readUsage(value);
    const amounts = [costUsd ?? cost_usd, inputTokens ?? input_tokens, outputTokens ?? output_tokens];
    if (amounts.every((amount) => amount === undefined)) return null;
    const [cost, read = 0, written = 0] = amounts;
    return { cost_usd: cost ?? 0, input_tokens: read, output_tokens: written };
  } catch {
    return null;
  }
}

const textOf = (parts: readonly Part[]): string =>
  storable(
    parts
      .map(({ text, data }) => text ?? (data === undefined ? '' : JSON.stringify(data)))
      .filter((text) => text !== '')
      .join('\n\n'),
  );

/** Shown to people, never fetched. */
function urlOf(parts: readonly Part[]): string | null {
  const url = parts.map((part) => part.url ?? part.file?.uri).find((each) => each);
  return url && URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
    ? new URL(url).href.slice(0, 2000)
    : null;
}

const idOf = (text: string): string => storable(text).slice(0, LONGEST_ID).toWellFormed();

const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed();
