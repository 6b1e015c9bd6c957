/**
 * Script of the model endpoint: answers at once, and notes when each request had been read. On issues to be looked at
 * it only says something, the others it also closes by a verb.
 */
import type { FakeModelRequest } from '@acp/testkit';
import { machineNow } from './statistics.ts';

/** Begins the titles of issues on which the agents use no verb. */
export const ONLY_LOOK = 'Only look at';

export function script(request: FakeModelRequest): string {
  request.body.received_at_machine = machineNow();
  const onlySaid = request.messages.some(({ content }) => content.includes(ONLY_LOOK));
  const said = 'The shed is painted, on all four sides.';
  return onlySaid ? said : `${said}\n\n/status done`;
}
