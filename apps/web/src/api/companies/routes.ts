import { companyEndpoints as rows } from '@acp/contract';
import {
  addMember,
  changeMember,
  createCompany,
  deleteCompany,
  listCompanyUsers,
  listMembers,
  removeMember,
  updateCompany,
} from '@acp/core';
import { handle, type Route } from '../../http/handle.ts';

export const companyRoutes: Route[] = [
  handle(rows.create, (c) => createCompany(c.tx, c.actor, c.body)),
  handle(rows.update, (c) => updateCompany(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.delete, (c) => deleteCompany(c.tx, c.actor, c.company_id)),
  handle(rows.listMembers, (c) => listMembers(c.tx, c.company_id)),
  handle(rows.addMember, (c) => addMember(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.changeMember, (c) => changeMember(c.tx, c.actor, c.company_id, c.params.userId!, c.body)),
  handle(rows.removeMember, (c) => removeMember(c.tx, c.actor, c.company_id, c.params.userId!)),
  handle(rows.listUsers, (c) => listCompanyUsers(c.tx, c.company_id)),
  handle(rows.addUser, (c) => addMember(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.changeUser, (c) => changeMember(c.tx, c.actor, c.company_id, c.params.userId!, c.body)),
  handle(rows.removeUser, (c) => removeMember(c.tx, c.actor, c.company_id, c.params.userId!)),
];
