import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';

/** Names this process in `claimed_by`: unlike any other, also after its id was given to another. */
export function instanceName(): string {
  return `${hostname()}:${process.pid}:${randomBytes(4).toString('hex')}`;
}
