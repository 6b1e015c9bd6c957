/** Reads the parameters of either dialect into one shape. */
import {
  A2aListTasks,
  type A2aMessagePart,
  A2aNamesTask,
  A2aSend,
  createValidator,
  type TaskPart,
  Timestamp,
} from '@acp/contract';
import { cleanContentType, cleanFilename, type TaskQuery, parseTaskState, type Dialect } from '@acp/core';
import { invalid } from '@acp/kernel';
import type { Params } from '../json-rpc/messages.ts';
import { OUTPUT_MODES } from './cards.ts';
import { refused } from './protocol.ts';

const readSend = createValidator(A2aSend, 'params');
const readNamed = createValidator(A2aNamesTask, 'params');
const readList = createValidator(A2aListTasks, 'params');
const readInstant = createValidator(Timestamp, 'params.statusTimestampAfter');

/** A file sent inline with the message. */
export interface SentFile {
  filename: string;
  content_type: string;
  bytes: Buffer;
}

export interface SentMessage {
  messageId: string;
  taskId: string | null;
  contextId: string | null;
  metadata: Record<string, unknown> | null;
  /** Parts marked `stored` are placeholders for the files, in order. */
  parts: (TaskPart & { stored?: true })[];
  files: SentFile[];
  /** Whether to wait until the task rests. */
  waits: boolean;
  history_length: number | undefined;
  push: object | null;
}

/** @throws invalid, RpcError for unsupported content types */
export function readSentMessage(params: Params, dialect: Dialect): SentMessage {
  const { message, configuration } = readSend(params);
  const { acceptedOutputModes, blocking, returnImmediately, historyLength } = configuration ?? {};
  requireOutputMode(acceptedOutputModes ?? []);
  const files: SentFile[] = [];
  const parts = message.parts.map((part) => readPart(part, files));
  return {
    messageId: message.messageId,
    // In 1.0 absent values may be sent as empty ones.
    taskId: message.taskId || null,
    contextId: message.contextId || null,
    metadata: message.metadata ?? null,
    parts,
    files,
    waits: dialect === '1.0' ? !returnImmediately : (blocking ?? !returnImmediately),
    history_length: historyLength ?? undefined,
    push: configuration?.taskPushNotificationConfig ?? configuration?.pushNotificationConfig ?? null,
  };
}

/** Agents write text; the files they produce may be of any type. */
function requireOutputMode(accepted: readonly string[]): void {
  const ours = (mode: string) =>
    ['*/*', 'text/*', 'application/*', 'text', ...OUTPUT_MODES].includes(
      mode.split(';')[0]!.trim().toLowerCase(),
    );
  if (accepted.length > 0 && !accepted.some(ours))
    throw refused('content_type', `none of the accepted output modes is ours: ${OUTPUT_MODES.join(', ')}`);
}

function readPart(part: A2aMessagePart, files: SentFile[]): SentMessage['parts'][number] {
  const { text, data, file } = part;
  const raw = part.raw || file?.bytes;
  const url = part.url || file?.uri;
  const name = part.filename || file?.name;
  const type = part.mediaType || file?.mimeType;
  const about = {
    ...(name && { filename: cleanFilename(name) }),
    ...(type && { media_type: cleanContentType(type) }),
  };
  if (raw) {
    const { filename = 'file', media_type = 'application/octet-stream' } = about;
    files.push({ filename, content_type: media_type, bytes: decoded(raw) });
    return { filename, media_type, stored: true };
  }
  if (url) return { url: checkedUrl(url), ...about };
  if (data !== undefined) return { data };
  if (text !== undefined) return { text, ...about };
  throw invalid('a part has text, data, a file or a URL');
}

function decoded(text: string): Buffer {
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text)) throw invalid('the bytes of a file must be base64');
  return Buffer.from(text, 'base64');
}

/** The URL is shown to agents and people, never fetched. */
function checkedUrl(url: string): string {
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw invalid('a URL must be http or https');
  return new URL(url).href;
}

/** 0.3 may spell an id as a resource path: `tasks/<id>`. */
export function readTaskId(params: Params): { id: string; history_length: number | undefined } {
  const { id, historyLength } = readNamed(params);
  return { id, history_length: historyLength ?? undefined };
}

const DEFAULT_PAGE = 50;
export function readTaskQuery(params: Params): TaskQuery & { history_length: number; artifacts: boolean } {
  const { contextId, status, pageSize, pageToken, historyLength, statusTimestampAfter, includeArtifacts } =
    readList(params);
  const state = status && status !== 'TASK_STATE_UNSPECIFIED' ? parseTaskState(status) : undefined;
  if (status && status !== 'TASK_STATE_UNSPECIFIED' && state === undefined)
    throw invalid('params.status is not a state');
  const after = statusTimestampAfter ? new Date(readInstant(statusTimestampAfter)) : undefined;
  return {
    context_id: contextId || undefined,
    state,
    changed_after: after,
    limit: pageSize ?? DEFAULT_PAGE,
    cursor: pageToken || undefined,
    history_length: historyLength ?? 0,
    artifacts: includeArtifacts ?? false,
  };
}
