/** Values that pages show as words (`words`, `status`), so that language files contain them all. */
import * as contract from '@acp/contract';

/** Parts of the names of activity entries, which the core writes: entities and verbs. */
const acted =
  `account added agent approved approval archived attachment backup board_user_key budget budget_policy cancelled changed channel
  checked_out comment commented company compiled_index completed configured connected cost created deleted disabled
  document egress_updated enabled evolution exported failed fired goal goal_level granted hired imported invite issue
  key label logo mcp_server member note paused peer permissions_changed plugin project promoted prompt_activated provider
  queued rejected released remote_task removed replaced reported resolved restored resumed revoked role_changed rotated
  routine routine_trigger run secret sent settings skill started stopped succeeded terminated trashed
  uninstalled updated user user_model view webhook work_product worker workspace acknowledged agent_defaults_updated
  agent_file agent_key alert alerts approval_reverted ban_rescinded breached claimed convened email_change_cancelled
  execution_decision flag join_request license logo_removed logo_set model_price muted opened paired password_reset
  pinned redelivered registered repository_webhook reverted review_comment reviewed secret_rotated set
  signing_mode_set start_requested stop_requested switched_off task_session tested
  trash purged unarchived unblocked unpaired unpinned url_rotated warned written
  email_change_requested password_changed requested second_factor_reset`.split(/\s+/);

/** Fields whose changes activity entries report. */
const fields =
  `adapter_type assignee_agent body_markdown description due_date goal level model name owner_agent parent
  priority project reports_to role status summary title`.split(/\s+/);

/** Details of the security log, and their values. */
const security = [
  'method reason factor by email row provider session_id sessions kind key_prefix expires_at'.split(' '),
  ['password', 'passkey', 'totp', 'code', 'recovery codes', 'all others'],
].flat();

const others =
  `on off yes no none chat council evolution fine warning breach passing failing pending approved changes_requested merged closed open
  unknown offline within_limit nearly_used_up used_up revoked expired ended accepted archived renamed type_changed`.split(
    /\s+/,
  );

export const terms: readonly string[] = [
  ...new Set([
    ...contract.agentRoles,
    ...contract.agentStatuses,
    ...contract.alertKinds,
    ...contract.alertLevels,
    ...contract.alertStatuses,
    ...contract.approvalStatuses,
    ...contract.approvalTypes,
    ...contract.backupPhases,
    ...contract.backupStatuses,
    ...contract.backupTriggers,
    ...contract.budgetActions,
    ...contract.budgetIncidentStatuses,
    ...contract.budgetScopes,
    ...contract.budgetWindows,
    ...contract.candidateStatuses,
    ...contract.channelDecisions,
    ...contract.channelNews,
    ...contract.channelStatuses,
    ...contract.chatMessageStatuses,
    ...contract.companyRoles,
    ...contract.concurrencyPolicies,
    ...contract.councilStatuses,
    ...contract.councilTurnKinds,
    ...contract.deliveryStatuses,
    ...contract.densities,
    ...contract.egressDoors,
    ...contract.evolutionStatuses,
    ...contract.evolutionStepKinds,
    ...contract.flagNames,
    ...contract.goalLevels,
    ...contract.goalStatuses,
    ...contract.indexStatuses,
    ...contract.issueStatuses,
    ...contract.knowledgeTypes,
    ...contract.mcpServerStatuses,
    ...contract.messageChannels,
    ...contract.messageStatuses,
    ...contract.noteKinds,
    ...contract.peerStatuses,
    ...contract.pluginApprovalStates,
    ...contract.pluginEventTypes,
    ...contract.pluginStates,
    ...contract.priorities,
    ...contract.projectStatuses,
    ...contract.reactions,
    ...contract.relationTypes,
    ...contract.remoteTaskStatuses,
    ...contract.routineRunStatuses,
    ...contract.routineStatuses,
    ...contract.rubricPoints,
    ...contract.runStatuses,
    ...contract.securityEventKinds.map((kind) => kind.replace('.', ' ')),
    ...contract.subagentOutcomes,
    ...contract.taskStates,
    ...contract.themes,
    ...contract.trashTypes,
    ...contract.viewColumns,
    ...contract.wakeReasons,
    ...contract.watchStates,
    ...contract.workerStatuses,
    ...contract.workspaceActionKinds,
    ...acted,
    ...fields,
    ...security,
    ...others,
  ]),
];
