import type { Tx } from '@acp/db';
import { getSetting } from './settings.ts';

/** In the subjects of messages: several instances may write to one person. @param public_url whose host it is without a name */
export async function instanceName(tx: Tx, public_url: string): Promise<string> {
  return (await getSetting(tx, 'instance_name')) ?? new URL(public_url).host;
}
