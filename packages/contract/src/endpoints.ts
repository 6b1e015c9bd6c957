/** The endpoint table: every row of every slice, in slice order. */
import { agentEndpoints } from './agent-endpoints.ts';
import { commentEndpoints } from './comments.ts';
import { companyEndpoints } from './companies.ts';
import { docsEndpoints } from './docs-endpoints.ts';
import type { EndpointRow } from './endpoint.ts';
import { identityEndpoints } from './identity-endpoints.ts';
import { inboxEndpoints } from './inbox.ts';
import { boardUserKeyEndpoints, inviteEndpoints } from './invites.ts';
import { issueEndpoints } from './issue-endpoints.ts';
import { liveEndpoints, runEndpoints } from './run-endpoints.ts';

export const endpoints: readonly EndpointRow[] = [
  identityEndpoints,
  companyEndpoints,
  inviteEndpoints,
  boardUserKeyEndpoints,
  agentEndpoints,
  issueEndpoints,
  commentEndpoints,
  runEndpoints,
  liveEndpoints,
  inboxEndpoints,
  docsEndpoints,
].flatMap((slice) => Object.values<EndpointRow>(slice));
