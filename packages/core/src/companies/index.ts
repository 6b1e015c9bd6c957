/**
 * Owns companies (the tenants), their memberships and the keys of integrations (board-user keys).
 * Invariants: a trashed company counts as absent; its slug is free again; a user has one role in a company.
 */
export {
  createCompany,
  deleteCompany,
  findCompany,
  findCompanyBySlug,
  listCompanies,
  presentCompany,
  updateCompany,
} from './companies.ts';
export type { CompanyRow } from './companies.ts';
export { takeIssueNumber } from './issue-numbers.ts';
export { addMember, changeMember, listCompanyUsers, listMembers, removeMember } from './members.ts';
export {
  deleteBoardUserKey,
  listBoardUserKeys,
  markBoardUserKeysUsed,
  mintBoardUserKey,
} from './board-user-keys.ts';
export type { BoardUserKeyRow } from './board-user-keys.ts';
