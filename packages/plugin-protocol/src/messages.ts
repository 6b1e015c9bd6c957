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
import { acceptedPayload } from './accepted.ts';
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

/**
 * Parses a plugin's message.
 * @param health_asked a health check is not answered yet: the specification doesn't name the type of its answer, so that one of
 * an unknown type is taken for it
 * @throws ProtocolError that describes the problem
 */
export function readPluginMessage(line: string, { health_asked = false } = {}): PluginMessage {
  const { type, payload } = parse(line);
  if (health_asked && !fromPlugin.has(type)) return { type: 'health_check', payload: {} };
  return validated(type, acceptedPayload(type, payload), fromPlugin) as PluginMessage;
}

/** Parses a host's message. @throws ProtocolError */
export function readHostMessage(line: string): HostMessage {
  const { type, payload } = parse(line);
  return validated(type, payload, fromHost) as HostMessage;
}

function parse(line: string): { type: string; payload: unknown } {
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
  return { type, payload: payload ?? {} };
}

function validated(
  type: string,
  payload: unknown,
  known: ReadonlyMap<string, Validator<unknown>>,
): { type: string; payload: unknown } {
  const validate = known.get(type);
  if (validate === undefined)
    throw new ProtocolError(`unknown message type ${JSON.stringify(type.slice(0, 100))}`);
  try {
    return { type, payload: validate(payload) };
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
