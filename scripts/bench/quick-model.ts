/**
 * Script of the model endpoint: answers immediately, and records when each request had been read. On `ONLY_LOOK` issues it
 * only sends text, on `TEN_VERBS` issues it uses ten verbs; the remaining ones it also closes by a verb.
 */
import type { FakeModelRequest } from '@acp/testkit';
import { machineNow } from './statistics.ts';

/** Title prefix of issues on which the agents use no verb. */
export const ONLY_LOOK = 'Only look at';

/** Title prefix of issues on which the agents use ten verbs. */
export const TEN_VERBS = 'Ten verbs for';

const body = '```\nAll four sides, two coats each.\n```';
const tenVerbs = [
  '/status in_progress',
  '/priority high',
  `/create-issue Clean the brushes\n${body}`,
  `/create-note What paint we used\n${body}`,
  `/record-finding Green lasts longest\n${body}`,
  `/report What was painted\n${body}`,
  `/write-file shed.md\n${body}`,
  '/needs-routing The roof is somebody else’s',
  '/install-note\n```\ntitle: Where the ladder stands\n```',
  '/status done',
].join('\n\n');

export function script(request: FakeModelRequest): string {
  request.body.received_at_machine = machineNow();
  const named = (title: string) => request.messages.some(({ content }) => content.includes(title));
  const said = 'The shed is painted, on all four sides.';
  if (named(TEN_VERBS)) return `${said}\n\n${tenVerbs}`;
  return named(ONLY_LOOK) ? said : `${said}\n\n/status done`;
}
