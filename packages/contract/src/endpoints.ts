/** The endpoint table: every row of every slice, in slice order. */
import { a2aEndpoints } from './a2a.ts';
import { activityEndpoints } from './activity.ts';
import { adminEndpoints, referenceEndpoints } from './admin.ts';
import { agentEndpoints } from './agent-endpoints.ts';
import { agentFileEndpoints } from './agent-files.ts';
import { agentOrgEndpoints } from './agent-org.ts';
import { agentSettingsEndpoints } from './agent-settings.ts';
import { taskSessionEndpoints } from './task-sessions.ts';
import { alertEndpoints } from './alerts.ts';
import { approvalEndpoints } from './approvals.ts';
import { budgetEndpoints } from './budget-endpoints.ts';
import { attachmentEndpoints } from './attachments.ts';
import { backupEndpoints } from './backups.ts';
import { commentEndpoints } from './comments.ts';
import { channelEndpoints } from './channels.ts';
import { chatEndpoints } from './chats.ts';
import { credentialEndpoints } from './credentials.ts';
import { councilEndpoints } from './councils.ts';
import { companyEndpoints } from './companies.ts';
import { compiledIndexEndpoints } from './compiled-index.ts';
import { evolutionEndpoints } from './evolutions.ts';
import { docsEndpoints } from './docs-endpoints.ts';
import { documentEndpoints } from './documents.ts';
import type { EndpointRow } from './endpoint.ts';
import { federationEndpoints, pushEndpoints } from './federation.ts';
import { figureEndpoints } from './figures.ts';
import { goalEndpoints } from './goals.ts';
import { accountMailEndpoints } from './account-mail.ts';
import { identityEndpoints } from './identity-endpoints.ts';
import { inboxEndpoints } from './inbox.ts';
import { boardUserKeyEndpoints, inviteEndpoints } from './invites.ts';
import { issueEndpoints } from './issue-endpoints.ts';
import { knowledgeEndpoints } from './knowledge.ts';
import { licenseEndpoints } from './license.ts';
import { logoEndpoints } from './logo.ts';
import { mcpEndpoints } from './mcp.ts';
import { markdownEndpoints } from './markdown.ts';
import { mcpServerEndpoints } from './mcp-servers.ts';
import { noteEndpoints } from './notes.ts';
import { pluginEndpoints } from './plugin-endpoints.ts';
import { portabilityEndpoints } from './portability.ts';
import { projectEndpoints } from './projects.ts';
import { repositoryWebhookEndpoints } from './repository-webhooks.ts';
import { routineEndpoints, routineTriggerEndpoints } from './routine-endpoints.ts';
import { liveEndpoints, runEndpoints } from './run-endpoints.ts';
import { providerEndpoints } from './providers.ts';
import { secretEndpoints } from './secrets.ts';
import { secondFactorEndpoints } from './second-factors.ts';
import { searchEndpoints } from './search.ts';
import { securityEndpoints } from './security.ts';
import { settingsEndpoints } from './settings-endpoints.ts';
import { skillEndpoints } from './skills.ts';
import { trashEndpoints } from './trash.ts';
import { subagentEndpoints } from './subagents.ts';
import { viewEndpoints } from './views.ts';
import { webhookEndpoints } from './webhooks.ts';
import { adminWorkerEndpoints, workerEndpoints } from './worker-endpoints.ts';
import { workProductEndpoints } from './work-products.ts';
import { workspaceActionEndpoints } from './workspace-actions.ts';
import { workspaceEndpoints } from './workspaces.ts';

export const endpoints: readonly EndpointRow[] = [
  activityEndpoints,
  settingsEndpoints,
  licenseEndpoints,
  backupEndpoints,
  securityEndpoints,
  identityEndpoints,
  accountMailEndpoints,
  secondFactorEndpoints,
  companyEndpoints,
  logoEndpoints,
  inviteEndpoints,
  boardUserKeyEndpoints,
  secretEndpoints,
  providerEndpoints,
  agentEndpoints,
  agentOrgEndpoints,
  agentSettingsEndpoints,
  taskSessionEndpoints,
  agentFileEndpoints,
  projectEndpoints,
  goalEndpoints,
  issueEndpoints,
  commentEndpoints,
  documentEndpoints,
  attachmentEndpoints,
  workProductEndpoints,
  workspaceEndpoints,
  workspaceActionEndpoints,
  repositoryWebhookEndpoints,
  noteEndpoints,
  skillEndpoints,
  knowledgeEndpoints,
  approvalEndpoints,
  budgetEndpoints,
  runEndpoints,
  workerEndpoints,
  adminWorkerEndpoints,
  routineEndpoints,
  routineTriggerEndpoints,
  chatEndpoints,
  councilEndpoints,
  subagentEndpoints,
  evolutionEndpoints,
  compiledIndexEndpoints,
  webhookEndpoints,
  pluginEndpoints,
  mcpServerEndpoints,
  channelEndpoints,
  federationEndpoints,
  credentialEndpoints,
  pushEndpoints,
  liveEndpoints,
  inboxEndpoints,
  viewEndpoints,
  portabilityEndpoints,
  searchEndpoints,
  markdownEndpoints,
  figureEndpoints,
  adminEndpoints,
  alertEndpoints,
  trashEndpoints,
  referenceEndpoints,
  docsEndpoints,
  mcpEndpoints,
  a2aEndpoints,
].flatMap((slice) => Object.values<EndpointRow>(slice));
