import { boardUserKeyEndpoints as keys, companyEndpoints as rows } from '@acp/contract';
import {
  addMember,
  changeMember,
  createCompany,
  deleteBoardUserKey,
  deleteCompany,
  findCompany,
  listBoardUserKeys,
  listCompanyUsers,
  listMembers,
  mintBoardUserKey,
  pageOfCompanies,
  presentCompany,
  removeMember,
  updateCompany,
} from '@acp/core';
import { notFound } from '@acp/kernel';
import { handle, type Route } from '../../http/handle.ts';
import { paged } from '../../http/paged.ts';
import { requireUser } from '../../http/roles.ts';
import { assertFactorPossible } from '../../passkeys/relying-party.ts';

export const companyRoutes: Route[] = [
  handle(rows.list, async (c) => paged(c, await pageOfCompanies(c.tx, requireUser(c.actor), c.query))),
  handle(rows.get, async (c) => {
    const company = await findCompany(c.tx, c.company_id);
    if (!company) throw notFound();
    return presentCompany(company);
  }),
  handle(rows.create, (c) => createCompany(c.tx, c.actor, c.body)),
  handle(rows.update, (c) => {
    assertFactorPossible(c.body.require_second_factor, c.services);
    return updateCompany(c.tx, c.actor, c.company_id, c.body, c.services.homes);
  }),
  handle(rows.delete, (c) => deleteCompany(c.tx, c.actor, c.company_id)),
  handle(rows.listMembers, async (c) => paged(c, await listMembers(c.tx, c.company_id, c.query))),
  handle(rows.addMember, (c) => addMember(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.changeMember, (c) => changeMember(c.tx, c.actor, c.company_id, c.params.userId!, c.body)),
  handle(rows.removeMember, (c) => removeMember(c.tx, c.actor, c.company_id, c.params.userId!, c.query)),
  handle(rows.listUsers, async (c) => paged(c, await listCompanyUsers(c.tx, c.company_id, c.query, true))),
  handle(rows.addUser, (c) => addMember(c.tx, c.actor, c.company_id, c.body)),
  handle(rows.changeUser, (c) => changeMember(c.tx, c.actor, c.company_id, c.params.userId!, c.body)),
  handle(rows.removeUser, (c) => removeMember(c.tx, c.actor, c.company_id, c.params.userId!, c.query)),
  handle(keys.list, async (c) => paged(c, await listBoardUserKeys(c.tx, c.company_id, c.query))),
  handle(keys.mint, (c) => mintBoardUserKey(c.tx, c.actor, c.company_id, c.body)),
  handle(keys.delete, (c) => deleteBoardUserKey(c.tx, c.actor, c.company_id, c.subject.id)),
];
