/** All pages and form actions, slice by slice. */
import type { UiRoute } from './kit/ui-routes.ts';
import { inviteRoutes } from './access/invite-routes.ts';
import { keyRoutes } from './access/key-routes.ts';
import { memberRoutes } from './access/member-routes.ts';
import { activityRoutes } from './activity/activity-routes.ts';
import { adminRoutes } from './admin/admin-routes.ts';
import { alertRoutes } from './alerts/alert-routes.ts';
import { healthRoutes } from './admin/health-page.ts';
import { adminSettingsRoutes } from './admin/settings-routes.ts';
import { licenseRoutes } from './admin/license-routes.ts';
import { trashRoutes } from './admin/trash-routes.ts';
import { userRoutes } from './admin/user-routes.ts';
import { agentListRoutes } from './agents/list-routes.ts';
import { agentRoutes } from './agents/agent-routes.ts';
import { agentSettingsRoutes } from './agents/settings-routes.ts';
import { approvalRoutes } from './approvals/approval-routes.ts';
import { channelRoutes } from './channels/channel-routes.ts';
import { myChannelRoutes } from './channels/my-channel-routes.ts';
import { chatRoutes } from './chats/chat-routes.ts';
import { companyRoutes } from './companies/company-routes.ts';
import { councilUiRoutes } from './councils/council-routes.ts';
import { compiledIndexUiRoutes } from './compiled-index/index-routes.ts';
import { egressRoutes } from './egress/egress-routes.ts';
import { evolutionUiRoutes } from './evolutions/evolution-routes.ts';
import { budgetRoutes } from './costs/budget-routes.ts';
import { costsRoutes } from './costs/costs-routes.ts';
import { pricesRoutes } from './costs/prices-routes.ts';
import { companySettingsRoutes } from './companies/settings-routes.ts';
import { inboxRoutes } from './inbox/inbox-routes.ts';
import { peerRoutes } from './federation/peer-routes.ts';
import { pushRoutes } from './federation/push-routes.ts';
import { choiceRoutes } from './kit/choice.ts';
import { goalRoutes } from './goals/goal-routes.ts';
import { boardRoutes } from './issues/board-routes.ts';
import { emailRoutes } from './identity/email-routes.ts';
import { appearanceRoutes } from './identity/appearance-routes.ts';
import { profileRoutes } from './identity/profile-routes.ts';
import { backupRoutes } from './backups/backup-routes.ts';
import { securityRoutes } from './identity/security-routes.ts';
import { commentRoutes } from './issues/comment-routes.ts';
import { issueListRoutes } from './issues/list-routes.ts';
import { viewRoutes } from './issues/view-routes.ts';
import { issueRoutes } from './issues/issue-routes.ts';
import { materialRoutes } from './issues/material-routes.ts';
import { connectRoutes } from './mcp-servers/connect-routes.ts';
import { mcpServerRoutes } from './mcp-servers/server-routes.ts';
import { knowledgeRoutes } from './knowledge/knowledge-routes.ts';
import { noteRoutes } from './notes/note-routes.ts';
import { pluginListRoutes } from './plugins/list-routes.ts';
import { pluginLogRoutes } from './plugins/log-routes.ts';
import { portabilityUiRoutes } from './portability/portability-routes.ts';
import { pluginRoutes } from './plugins/plugin-routes.ts';
import { pluginToolRoutes } from './plugins/tool-routes.ts';
import { projectRoutes } from './projects/project-routes.ts';
import { routineRoutes } from './routines/routine-routes.ts';
import { scheduleRoutes } from './routines/schedule-words.ts';
import { triggerRoutes } from './routines/trigger-routes.ts';
import { secretRoutes } from './secrets/secret-routes.ts';
import { securityLogRoutes } from './security/log-routes.ts';
import { modelRoutes } from './providers/connect-routes.ts';
import { providerRoutes } from './providers/provider-routes.ts';
import { runsRoutes } from './runs/runs-routes.ts';
import { searchRoutes } from './search/search-routes.ts';
import { skillRoutes } from './skills/skill-routes.ts';
import { textRoutes } from './texts/text-routes.ts';
import { webhookRoutes } from './webhooks/webhook-routes.ts';
import { workerRoutes } from './workers/worker-routes.ts';
import { changesRoutes } from './workspaces/changes-routes.ts';

export const uiPages: readonly UiRoute[] = [
  profileRoutes,
  emailRoutes,
  appearanceRoutes,
  securityRoutes,
  adminRoutes,
  healthRoutes,
  securityLogRoutes,
  backupRoutes,
  alertRoutes,
  userRoutes,
  adminSettingsRoutes,
  licenseRoutes,
  trashRoutes,
  workerRoutes,
  companyRoutes,
  companySettingsRoutes,
  portabilityUiRoutes,
  memberRoutes,
  inviteRoutes,
  keyRoutes,
  agentListRoutes,
  agentRoutes,
  agentSettingsRoutes,
  boardRoutes,
  issueListRoutes,
  commentRoutes,
  viewRoutes,
  searchRoutes,
  choiceRoutes,
  issueRoutes,
  materialRoutes,
  changesRoutes,
  runsRoutes,
  chatRoutes,
  councilUiRoutes,
  evolutionUiRoutes,
  compiledIndexUiRoutes,
  egressRoutes,
  approvalRoutes,
  secretRoutes,
  peerRoutes,
  pushRoutes,
  modelRoutes,
  providerRoutes,
  inboxRoutes,
  projectRoutes,
  goalRoutes,
  routineRoutes,
  triggerRoutes,
  scheduleRoutes,
  noteRoutes,
  knowledgeRoutes,
  skillRoutes,
  textRoutes,
  costsRoutes,
  pricesRoutes,
  budgetRoutes,
  webhookRoutes,
  channelRoutes,
  myChannelRoutes,
  connectRoutes,
  mcpServerRoutes,
  pluginListRoutes,
  pluginRoutes,
  pluginToolRoutes,
  pluginLogRoutes,
  activityRoutes,
].flat();
