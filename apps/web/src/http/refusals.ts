import type { SignInPlace } from '@acp/core';
import { ServiceError, type TrustedProxies } from '@acp/kernel';
import type { IncomingMessage } from 'node:http';
import { INVALID_KEY } from './auth.ts';
import type { Call } from './call.ts';
import { callerPlace } from './caller-place.ts';
import type { Credentials } from './credentials.ts';

export interface RefusalDeps {
  readonly credentials: Credentials;
  readonly trusted_proxies: TrustedProxies;
}

export const placeOf = (request: IncomingMessage, { trusted_proxies }: RefusalDeps): SignInPlace =>
  callerPlace(request, trusted_proxies);

/** Records a refusal in the security log, each at most once a minute. */
export function noteRefusal(
  error: unknown,
  { actor, mounted: { row }, request, company_id }: Call,
  deps: RefusalDeps,
): void {
  if (!(error instanceof ServiceError) || row.auth.length === 0) return;
  const place = placeOf(request, deps);
  if (error.kind === 'unauthenticated' && error.message === INVALID_KEY) {
    deps.credentials.refused({
      kind: 'key.refused',
      subject: place.address,
      place,
      details: { row: row.id },
    });
  } else if (error.kind === 'forbidden' && actor.kind !== 'system') {
    const who = {
      user_id: actor.kind === 'user' ? actor.user_id : null,
      key_id: 'key_id' in actor ? actor.key_id : null,
      company_id: ('company_id' in actor ? actor.company_id : company_id) || null,
    };
    const details = { row: row.id, reason: error.message };
    deps.credentials.refused({ kind: 'access.refused', subject: actor.name, ...who, place, details });
  }
}
