/** Tasks, messages and events as written in a dialect. */
import { type TaskPart, type TaskState, taskStates } from '@acp/contract';
import type { Task } from './read-tasks.ts';
import type { TaskArtifact } from './task-artifacts.ts';
import type { TaskMessage } from './task-history.ts';

/** Protocol versions. */
export type Dialect = '0.3' | '1.0';

/** A task with the parts of it that the client requested. */
export interface ShownTask {
  task: Task;
  /** Undefined: not requested. */
  history: readonly TaskMessage[] | undefined;
  artifacts: readonly TaskArtifact[] | undefined;
}

export interface Writer {
  dialect: Dialect;
  public_url: string;
}

const download = ({ public_url }: Writer, id: string): string =>
  `${public_url}/api/attachments/${id}/download`;

const formatTaskState = (state: TaskState, dialect: Dialect): string =>
  dialect === '1.0' ? `TASK_STATE_${state.toUpperCase()}` : state.replaceAll('_', '-');

/** Accepts either spelling; undefined for an unknown state. */
export function parseTaskState(text: string): TaskState | undefined {
  const word = text
    .replace(/^TASK_STATE_/, '')
    .replaceAll('-', '_')
    .toLowerCase();
  return taskStates.find((state) => state === word);
}

export function writeTask(writer: Writer, { task, history, artifacts }: ShownTask): object {
  return {
    ...(writer.dialect === '0.3' && { kind: 'task' }),
    id: task.id,
    contextId: task.context_id,
    status: writeStatus(writer, task),
    ...(artifacts !== undefined && { artifacts: artifacts.map((each) => writeArtifact(writer, each)) }),
    ...(history !== undefined && { history: history.map((each) => writeMessage(writer, task, each)) }),
    metadata: { usage: writeUsage(task.usage) },
  };
}

/** Uses the protocol's spelling of names, which applies to metadata too. */
const writeUsage = ({ cost_usd, input_tokens, output_tokens }: Task['usage']): object => ({
  costUsd: cost_usd,
  inputTokens: input_tokens,
  outputTokens: output_tokens,
});

function writeStatus(writer: Writer, task: Task): object {
  const { state, said, changed_at } = task;
  const message = said && {
    message_id: said.id,
    role: 'agent' as const,
    parts: [{ text: said.text }],
    metadata: null,
  };
  return {
    state: formatTaskState(state, writer.dialect),
    ...(message && { message: writeMessage(writer, task, message) }),
    timestamp: changed_at.toISOString(),
  };
}

function writeMessage(
  writer: Writer,
  task: Task,
  { message_id, role, parts, metadata }: TaskMessage,
): object {
  const isFirst = writer.dialect === '1.0';
  return {
    ...(!isFirst && { kind: 'message' }),
    messageId: message_id,
    role: isFirst ? `ROLE_${role.toUpperCase()}` : role,
    taskId: task.id,
    contextId: task.context_id,
    parts: parts.map((part) => writePart(writer, part)),
    ...(metadata && { metadata }),
  };
}

function writePart(writer: Writer, part: TaskPart): object {
  const { text, data, filename, media_type: mediaType } = part;
  if (writer.dialect === '1.0') {
    const about = { ...(mediaType && { mediaType }), ...(filename && { filename }) };
    if (text !== undefined) return { text, ...about };
    return data === undefined ? { url: urlOf(writer, part), ...about } : { data, ...about };
  }
  if (text !== undefined) return { kind: 'text', text };
  // This dialect requires an object.
  if (data !== undefined) return { kind: 'data', data: isPlain(data) ? data : { value: data } };
  const about = { ...(mediaType && { mimeType: mediaType }), ...(filename && { name: filename }) };
  return { kind: 'file', file: { uri: urlOf(writer, part), ...about } };
}

const urlOf = (writer: Writer, { attachment_id, url }: TaskPart): string =>
  attachment_id ? download(writer, attachment_id) : (url ?? '');

function writeArtifact(writer: Writer, { id, name, text, url, file, type, metadata }: TaskArtifact): object {
  const parts: TaskPart[] = [];
  if (text) parts.push({ text, media_type: 'text/markdown' });
  if (url) parts.push({ url, ...(type === 'file' && { filename: name, ...mediaTypeOf(metadata ?? {}) }) });
  if (file) parts.push({ attachment_id: id, filename: name, media_type: file.content_type });
  // An artifact without text or location consists of its data.
  if (parts.length === 0 && metadata !== null) parts.push({ data: metadata });
  return {
    artifactId: id,
    name,
    // The protocol requires at least one part: a product without content is represented by its title.
    parts: (parts.length === 0 ? [{ text: name }] : parts).map((part) => writePart(writer, part)),
    metadata: { type, ...(file && { sizeBytes: file.size_bytes }) },
  };
}

const mediaTypeOf = ({ media_type }: Record<string, unknown>): Pick<TaskPart, 'media_type'> =>
  typeof media_type === 'string' ? { media_type } : {};

/** The first event of a stream, and the result of sending a message. */
export const writeSendResult = (writer: Writer, shown: ShownTask): object =>
  writer.dialect === '1.0' ? { task: writeTask(writer, shown) } : writeTask(writer, shown);

export function statusEvent(writer: Writer, task: Task, final: boolean): object {
  const event = { taskId: task.id, contextId: task.context_id, status: writeStatus(writer, task) };
  return writer.dialect === '1.0' ? { statusUpdate: event } : { kind: 'status-update', ...event, final };
}

export function artifactEvent(writer: Writer, task: Task, artifact: TaskArtifact): object {
  const event = {
    taskId: task.id,
    contextId: task.context_id,
    artifact: writeArtifact(writer, artifact),
    append: false,
    lastChunk: true,
  };
  return writer.dialect === '1.0' ? { artifactUpdate: event } : { kind: 'artifact-update', ...event };
}

const isPlain = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
