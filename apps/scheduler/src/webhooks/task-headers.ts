import { taskSecret } from '@acp/core';

/**
 * How a client of the agent-to-agent protocol is told of its task: by the credentials that it gave for this. Its token is
 * also what the delivery is signed with; without one there is nothing that it could verify.
 */
export function taskHeaders(sealed: string, dialect: string | null) {
  const { token, authorization } = taskSecret(sealed);
  const headers: Record<string, string> = {
    'content-type': dialect === '1.0' ? 'application/a2a+json' : 'application/json',
    ...(token !== null && { 'x-a2a-notification-token': token }),
    ...(authorization !== null && { authorization }),
  };
  return { secret: token, headers };
}
