/** Every slice's routes, in slice order. */
import { docsRoutes } from '../http/docs.ts';
import type { Route } from '../http/handle.ts';
import { agentRoutes } from './agents/routes.ts';
import { agentFileRoutes } from './agents/file-routes.ts';
import { agentSettingsRoutes } from './agents/settings-routes.ts';
import { alertRoutes } from './alerts/routes.ts';
import { approvalRoutes } from './approvals/routes.ts';
import { channelRoutes } from './channels/routes.ts';
import { chatRoutes } from './chats/routes.ts';
import { councilRoutes } from './councils/routes.ts';
import { compiledIndexRoutes } from './compiled-index/routes.ts';
import { evolutionRoutes } from './evolutions/routes.ts';
import { subagentRoutes } from './subagents/routes.ts';
import { budgetRoutes } from './budgets/routes.ts';
import { attachmentRoutes } from './attachments/routes.ts';
import { backupRoutes } from './backups/routes.ts';
import { commentRoutes } from './comments/routes.ts';
import { inviteRoutes } from './companies/invite-routes.ts';
import { logoRoutes } from './companies/logo-routes.ts';
import { companyRoutes } from './companies/routes.ts';
import { credentialRoutes } from './credentials/routes.ts';
import { documentRoutes } from './documents/routes.ts';
import { accountMailRoutes } from './identity/account-mail-routes.ts';
import { identityRoutes } from './identity/routes.ts';
import { secondFactorRoutes } from './identity/second-factor-routes.ts';
import { inboxRoutes } from './inbox/routes.ts';
import { issueRoutes } from './issues/routes.ts';
import { routineRoutes } from './routines/routes.ts';
import { runRoutes } from './runs/routes.ts';
import { adminWorkerRoutes } from './workers/admin-routes.ts';
import { workerRoutes } from './workers/routes.ts';
import { workProductRoutes } from './work-products/routes.ts';
import { workspaceRoutes } from './workspaces/routes.ts';
import { activityRoutes } from './activity/routes.ts';
import { federationRoutes } from './federation/routes.ts';
import { goalRoutes } from './goals/routes.ts';
import { mcpServerRoutes } from './mcp-servers/routes.ts';
import { knowledgeRoutes } from './knowledge/routes.ts';
import { noteRoutes } from './notes/routes.ts';
import { pluginRoutes } from './plugins/routes.ts';
import { portabilityRoutes } from './portability/routes.ts';
import { projectRoutes } from './projects/routes.ts';
import { referenceRoutes } from './references/routes.ts';
import { providerRoutes } from './providers/routes.ts';
import { secretRoutes } from './secrets/routes.ts';
import { licenseRoutes } from './settings/license-routes.ts';
import { securityRoutes } from './security/routes.ts';
import { settingsRoutes } from './settings/routes.ts';
import { skillRoutes } from './skills/routes.ts';
import { trashRoutes } from './trash/routes.ts';
import { markdownRoutes } from './markdown/routes.ts';
import { figureRoutes } from './figures/routes.ts';
import { searchRoutes } from './search/routes.ts';
import { viewRoutes } from './views/routes.ts';
import { webhookRoutes } from './webhooks/routes.ts';

export const apiRoutes: readonly Route[] = [
  activityRoutes,
  settingsRoutes,
  licenseRoutes,
  backupRoutes,
  securityRoutes,
  identityRoutes,
  accountMailRoutes,
  secondFactorRoutes,
  companyRoutes,
  logoRoutes,
  inviteRoutes,
  secretRoutes,
  providerRoutes,
  agentRoutes,
  agentSettingsRoutes,
  agentFileRoutes,
  projectRoutes,
  goalRoutes,
  issueRoutes,
  commentRoutes,
  documentRoutes,
  attachmentRoutes,
  workProductRoutes,
  workspaceRoutes,
  noteRoutes,
  skillRoutes,
  knowledgeRoutes,
  approvalRoutes,
  budgetRoutes,
  runRoutes,
  workerRoutes,
  adminWorkerRoutes,
  routineRoutes,
  chatRoutes,
  councilRoutes,
  subagentRoutes,
  evolutionRoutes,
  compiledIndexRoutes,
  webhookRoutes,
  pluginRoutes,
  mcpServerRoutes,
  channelRoutes,
  federationRoutes,
  credentialRoutes,
  inboxRoutes,
  viewRoutes,
  searchRoutes,
  figureRoutes,
  markdownRoutes,
  alertRoutes,
  portabilityRoutes,
  trashRoutes,
  referenceRoutes,
  docsRoutes(),
].flat();
