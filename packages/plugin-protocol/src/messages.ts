import {
  createValidator,
  type HostMessage,
  hostMessages,
  MAX_PLUGIN_MESSAGE_BYTES,
  type PluginMessage,
  pluginMessages,
  type Validator,
} from '@acp/contract';
import { isNestedDeeper, MAX_JSON_DEPTH } from '@acp/kernel';
import { ProtocolError } from './protocol-error.ts';

/**
 * Encodes a message as a line, including its end.
 * @throws ProtocolError if it is over the limit or not JSON; then nothing may be sent
 */
export function encodeMessage(message: HostMessage | PluginMessage): Buffer {
  let text: string;
  try {
    text = `${JSON.stringify(message)}\n`;
  } catch (cause) {
    throw new ProtocolError(`the ${message.type} message is not JSON`, { cause });
  }
  const bytes = Buffer.from(text);
  if (bytes.length > MAX_PLUGIN_MESSAGE_BYTES)
    throw new ProtocolError(
      `the ${message.type} message has ${bytes.length} bytes, more than ${MAX_PLUGIN_MESSAGE_BYTES}`,
    );
  return bytes;
}

const fromPlugin = validators(pluginMessages);
const fromHost = validators(hostMessages);

/** Parses a plugin's message. @throws ProtocolError that describes the problem */
export const readPluginMessage = (line: string): PluginMessage => read(line, fromPlugin) as PluginMessage;

/** Parses a host's message. @throws ProtocolError */
export const readHostMessage = (line: string): HostMessage => read(line, fromHost) as HostMessage;

function read(line: string, known: ReadonlyMap<string, Validator<unknown>>): unknown {
  if (isNestedDeeper(line, MAX_JSON_DEPTH))
    throw new ProtocolError(`a message is nested deeper than ${MAX_JSON_DEPTH}`);
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new ProtocolError(`a line is not JSON: ${JSON.stringify(line.slice(0, 100))}`, { cause });
  }
  const { type, payload } = Object(value) as { type?: unknown; payload?: unknown };
  if (typeof type !== 'string') throw new ProtocolError('a message has no type');
  const validate = known.get(type);
  if (validate === undefined)
    throw new ProtocolError(`unknown message type ${JSON.stringify(type.slice(0, 100))}`);
  try {
    return { type, payload: validate(payload ?? {}) };
  } catch (cause) {
    throw new ProtocolError(cause instanceof Error ? cause.message : 'malformed payload', { cause });
  }
}

function validators(schemas: typeof hostMessages | typeof pluginMessages) {
  return new Map(
    Object.entries(schemas).map(
      ([type, schema]) => [type, createValidator(schema, `${type}: payload`) as Validator<unknown>] as const,
    ),
  );
}
