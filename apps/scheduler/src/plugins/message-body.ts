import { MAX_PLUGIN_MESSAGE_BYTES } from '@acp/contract';

interface MessageBody {
  /** Null if it is in `body_file`, byte for byte. */
  body: string | null;
  body_encoding: 'utf8' | 'base64';
  body_file?: string;
}

/** Bytes of a line reserved for the message around the body. */
const FRAME_BYTES = 8192;

/**
 * Encodes a body for a line of the protocol: as text or base64 if it fits into the line, else as a file.
 * @param beside the rest of the same message
 * @param lay writes the bytes where the plugin finds them, and returns their path
 */
export async function messageBody(
  bytes: Uint8Array,
  beside: unknown,
  lay: (bytes: Uint8Array) => Promise<string>,
): Promise<MessageBody> {
  const text = utf8(bytes);
  const body_encoding = text === undefined ? 'base64' : 'utf8';
  const room = MAX_PLUGIN_MESSAGE_BYTES - FRAME_BYTES - jsonBytes(beside);
  if (bytes.length < room) {
    const body = text ?? Buffer.from(bytes).toString('base64');
    if (jsonBytes(body) <= room) return { body, body_encoding };
  }
  return { body: null, body_encoding, body_file: await lay(bytes) };
}

const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

function utf8(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
