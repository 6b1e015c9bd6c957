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
import { type RemoteState, stateNamed } from '@acp/core';
import { invalid, notFound, unavailable } from '@acp/kernel';
import type { Static } from 'typebox';

/** The result or the error, as they are. @throws invalid */
export const readAnswer = createValidator(PeerAnswer, 'its answer');
const readTask = createValidator(PeerTask, 'its task');
const readReply = createValidator(PeerReply, 'its message');
const readUsage = createValidator(PeerUsage, 'its usage');
const readBare = createValidator(PeerBareMessage, 'its message');

const TASK_NOT_FOUND = -32_001;

type Part = PeerMessage['parts'][number];

/** What a peer answered, in either dialect. @throws notFound for a task that it does not know, unavailable, invalid */
export function readRemote(answer: unknown): RemoteState {
  const { result, error } = readAnswer(answer);
  if (error) {
    const message = inWords(error);
    throw error.code === TASK_NOT_FOUND ? notFound(message) : unavailable(message);
  }
  if (typeof result !== 'object' || result === null) throw invalid('its answer has no result');
  if ('message' in result && !('status' in result)) return said(readReply(result).message);
  if ('kind' in result && result.kind === 'message') return said(readBare(result));
  const task = readTask('task' in result ? result.task : result);
  const { message, state } = task.status;
  return {
    task_id: storable(task.id),
    context_id: task.contextId ? storable(task.contextId) : null,
    state: stateNamed(state) ?? ('working' satisfies TaskState),
    said: message
      ? { id: storable(message.messageId ?? textOf(message.parts)), text: textOf(message.parts) }
      : null,
    usage: usageOf(task.metadata?.usage),
    artifacts: (task.artifacts ?? []).map(({ artifactId, name, parts }, index) => ({
      id: storable(artifactId ?? String(index)),
      name: storable(name || 'Artifact'),
      text: textOf(parts),
      url: urlOf(parts),
    })),
  };
}

const inWords = ({ code, message }: NonNullable<Static<typeof PeerAnswer>['error']>): string =>
  `the peer refused: ${storable(message ?? '').slice(0, 300)} (${code})`;

/** Why it did not do what it was asked, in words; null where it did. */
export function refusalOf(answer: unknown): string | null {
  try {
    const { error } = readAnswer(answer);
    return error === undefined ? null : inWords(error);
  } catch (error) {
    return error instanceof Error ? error.message : 'its answer can’t be read';
  }
}

/** It answered at once, without a task. */
const said = ({ messageId, contextId, parts }: PeerMessage): RemoteState => ({
  task_id: storable(messageId ?? 'message'),
  context_id: contextId ? storable(contextId) : null,
  state: 'completed',
  said: { id: storable(messageId ?? 'message'), text: textOf(parts) },
  artifacts: [],
  usage: null,
});

/** Of another shape it says nothing. */
function usageOf(value: unknown): TaskUsage | null {
  try {
    const { costUsd, inputTokens, outputTokens } = readUsage(value);
    return { cost_usd: costUsd, input_tokens: inputTokens, output_tokens: outputTokens };
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

const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed();
