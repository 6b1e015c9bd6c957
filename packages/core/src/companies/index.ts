/**
 * Owns companies (the tenants), their memberships and the ways to become a member (invites, join requests), and the keys of
 * integrations (board-user keys).
 * Invariants: a trashed company counts as absent and its slug is free again; a user has one role per company; an invite is
 * accepted once; a user has at most one pending join request per company.
 */
export {
  announceExpiry,
  expiringSoon,
  KEY_WARNING_BATCH,
  KEY_WARNING_DAYS,
  keyExpiry,
  warnOfExpiringBoardUserKeys,
} from './key-lifetime.ts';
export { answerableUser, hasRole, isInstanceAdmin, rowsLostBy, personBehind } from './answerable.ts';
export type { Leaving, LeftCredential } from './answerable.ts';
export type { TokenHash } from './invites.ts';
export {
  createCompany,
  deleteCompany,
  findCompany,
  findCompanyBySlug,
  isCompanyTrashed,
  companiesByName,
  listCompanies,
  lockCompany,
  pageOfCompanies,
  presentCompany,
  deleteCompanyRow,
  restoreCompany,
  updateCompany,
} from './companies.ts';
export type { CompanyRow } from './companies.ts';
export { findInLiveCompany, ofLiveCompany } from './find-in-company.ts';
export { agentDefaults, setAgentDefaults } from './agent-defaults.ts';
export { assertHomeDir, companyFolders } from './home-dir.ts';
export type { HomeRules } from './home-dir.ts';
export { refuseUsedNumber, takeIssueNumbers } from './issue-numbers.ts';
export {
  addMember,
  setMembershipRole,
  isMember,
  findCompanyUser,
  listCompanyUsers,
  listMembers,
  listOutsiders,
  deleteMembership,
} from './members.ts';
export {
  acceptCarriedInvite,
  acceptInvite,
  acceptInviteOnce,
  createInvite,
  deleteExpiredInvites,
  joinByInvite,
  listInvites,
  previewInvite,
  revokeInvite,
  revokeInvitesOf,
} from './invites.ts';
export { findJoinRequest, listJoinRequests, requestToJoin, resolveJoinRequest } from './join-requests.ts';
export {
  deleteBoardUserKey,
  findBoardUserKey,
  listBoardUserKeys,
  markBoardUserKeysUsed,
  mintBoardUserKey,
  settleBoardUserKeysOf,
} from './board-user-keys.ts';
export { checkLogoHeader, deleteLogo, findLogo, findLogoImage, setLogo } from './logo.ts';
export { readImageHeader } from './image-header.ts';
export { inviteByMail } from './invite-by-mail.ts';
