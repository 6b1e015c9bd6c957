import type { Tx } from '@acp/db';
import { getSetting } from './settings.ts';

/** The name in subjects of messages, as a person may get mail from several instances. @param public_url its host is the fallback */
export async function instanceName(tx: Tx, public_url: string): Promise<string> {
  return (await getSetting(tx, 'instance_name')) ?? new URL(public_url).host;
}
