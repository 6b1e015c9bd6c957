import { taskSecret } from '@acp/core';

/**
 * Headers of a task notification to a client of the agent-to-agent protocol: the credentials that it supplied. Its token
 * also signs the delivery; without one the client could verify nothing.
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
