/** Script of the model endpoint: answers at once, and notes when each request had been read. */
import type { FakeModelRequest } from '@acp/testkit';
import { machineNow } from './statistics.ts';

export function script(request: FakeModelRequest): string {
  request.body.received_at_machine = machineNow();
  return 'The shed is painted, on all four sides.\n\n/status done';
}
