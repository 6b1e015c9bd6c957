import { type HostMessage, MAX_PLUGIN_MESSAGE_BYTES } from '@acp/contract';

export interface IncomingWebhook {
  path: string;
  headers: Record<string, string>;
  body: Uint8Array;
}

/** With its escapes a text has up to six times its length; headers and the rest need their room as well. */
const MAX_INLINE_BYTES = 128 * 1024;

/**
 * The message of a webhook. @param lay puts what is too long for a line where the plugin finds it, and gives its path
 */
export async function deliverBody(
  { path, headers, body }: IncomingWebhook,
  lay: (bytes: Uint8Array) => Promise<string>,
): Promise<Extract<HostMessage, { type: 'deliver_webhook' }>> {
  const text = textOf(body);
  const encoding = text === undefined ? ('base64' as const) : ('utf8' as const);
  const inline = text ?? Buffer.from(body).toString('base64');
  const whole = { path, headers, body: inline, body_encoding: encoding };
  const fits = body.length <= MAX_INLINE_BYTES || JSON.stringify(whole).length * 3 < MAX_PLUGIN_MESSAGE_BYTES;
  if (fits) return { type: 'deliver_webhook', payload: whole };
  const body_file = await lay(body);
  return {
    type: 'deliver_webhook',
    payload: { path, headers, body: null, body_encoding: encoding, body_file },
  };
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
