import { MAX_PLUGIN_MESSAGE_BYTES } from '@acp/contract';

export interface MessageBody {
  /** Null where it lies in `body_file`, byte for byte. */
  body: string | null;
  body_encoding: 'utf8' | 'base64';
  body_file?: string;
}

/** Of the line, for the message around the body. */
const FRAME_BYTES = 8192;

/**
 * A body as a line of the protocol carries it: as text or base64 where the line has room for it, else as a file.
 * @param beside what stands in the same message
 * @param lay puts the bytes where the plugin finds them, and gives their path
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
