import { companyRoles, type CompanyRole, createValidator, MintBoardUserKey } from '@acp/contract';
import {
  deleteBoardUserKey,
  findBoardUserKey,
  listBoardUserKeys,
  mintBoardUserKey,
  systemActor,
} from '@acp/core';
import { transaction } from '@acp/db';
import { isUuid, notFound } from '@acp/kernel';
import { type Answer, type Command, type CommandContext, option, table, UsageError } from '../command.ts';
import { companyOf } from './company-of.ts';

const operator = systemActor('operator');
const newKey = createValidator(MintBoardUserKey, 'key');

async function mint(context: CommandContext): Promise<Answer> {
  const company = await companyOf(context);
  const role = option(context, 'role') as CompanyRole;
  if (!companyRoles.includes(role)) throw new UsageError('--role is admin, member or viewer');
  const days = context.options['expires-in-days'];
  if (days !== undefined && !/^[1-9]\d{0,3}$/.test(days))
    throw new UsageError('--expires-in-days is a number of days');
  const expires_in_days = days === undefined ? null : Number(days);
  const input = newKey({ role, label: context.options.label ?? null, expires_in_days });
  const key = await transaction(context.database, (tx) => mintBoardUserKey(tx, operator, company.id, input));
  return { value: key, text: `${key.raw_key}\n(${role} of ${company.slug}; shown this once)` };
}

async function list(context: CommandContext): Promise<Answer> {
  const company = await companyOf(context);
  const { items: keys } = await listBoardUserKeys(context.database.db, company.id, {}, null);
  return {
    value: keys,
    text: table(keys, ['id', 'key_prefix', 'role', 'label', 'created_at', 'last_used_at', 'expires_at']),
  };
}

async function revoke(context: CommandContext): Promise<Answer> {
  const id = option(context, 'id');
  if (!isUuid(id)) throw new UsageError('--id is the id of a key: see keys list');
  const company = context.options.company === undefined ? null : await companyOf(context);
  await transaction(context.database, async (tx) => {
    const key = await findBoardUserKey(tx, id);
    if (!key || (company !== null && key.company_id !== company.id)) throw notFound();
    await deleteBoardUserKey(tx, operator, key.company_id, key.id);
  });
  return { value: { revoked: id }, text: `revoked ${id}` };
}

export const keys: Record<string, Command> = {
  mint: {
    usage:
      'keys mint --company <id or slug> --role admin|member|viewer [--label <text>] [--expires-in-days <days>]',
    doc: 'Creates a board-user key and prints it once.',
    required: ['company', 'role'],
    optional: ['label', 'expires-in-days'],
    run: mint,
  },
  list: {
    usage: 'keys list --company <id or slug>',
    doc: 'Lists the board-user keys of a company.',
    required: ['company'],
    run: list,
  },
  revoke: {
    usage: 'keys revoke --id <key id> [--company <id or slug>]',
    doc: 'Revokes a board-user key, effective immediately.',
    required: ['id'],
    optional: ['company'],
    run: revoke,
  },
};
