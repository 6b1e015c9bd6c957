import { createValidator, CreateUser, instanceRoles, type InstanceRole } from '@acp/contract';
import {
  deactivateUser,
  enrolUser,
  findUserByEmail,
  hashChosenPassword,
  listUsers,
  presentMe,
  resetPassword,
  resetSecondFactor,
  systemActor,
} from '@acp/core';
import { transaction } from '@acp/db';
import { newToken, Vault } from '@acp/kernel';
import { type Answer, type Command, type CommandContext, option, table, UsageError } from '../command.ts';

const operator = systemActor('operator');
const newUser = createValidator(CreateUser, 'user');
const columns = ['id', 'email', 'display_name', 'instance_role', 'is_active', 'last_login_at'];

/** The password from the option, or a random one that is printed once. */
function passwordOf(context: CommandContext): { password: string; generated: boolean } {
  const given = context.options.password;
  if (given === undefined) return { password: newToken(), generated: true };
  if (given.length < 8) throw new UsageError('--password needs at least 8 characters');
  return { password: given, generated: false };
}

async function userByEmail(context: CommandContext) {
  const user = await findUserByEmail(context.database.db, option(context, 'email'));
  if (!user) throw new UsageError(`no user has the address ${option(context, 'email')}`);
  return user;
}

async function create(context: CommandContext): Promise<Answer> {
  const role = (context.options.role ?? 'member') as InstanceRole;
  if (!instanceRoles.includes(role)) throw new UsageError('--role is admin or member');
  const email = option(context, 'email');
  if (!/^[^@\s]+@[^@\s]+$/.test(email)) throw new UsageError('--email is not an e-mail address');
  const { password, generated } = passwordOf(context);
  const input = newUser({
    email,
    password,
    display_name: context.options.name ?? email,
    instance_role: role,
  });
  const { display_name } = input;
  const password_hash = await hashChosenPassword(context.database.db, password, [email, display_name]);
  const user = await transaction(context.database, (tx) =>
    enrolUser(tx, operator, { email, display_name, password_hash, instance_role: role }),
  );
  const value = { ...user, ...(generated ? { password } : {}) };
  return { value, text: `created ${email} (${role})${generated ? `, password ${password}` : ''}` };
}

async function list(context: CommandContext): Promise<Answer> {
  const users = (await listUsers(context.database.db, {}, presentMe)).items;
  return { value: users, text: table(users, columns) };
}

async function reset(context: CommandContext): Promise<Answer> {
  const user = await userByEmail(context);
  const { password, generated } = passwordOf(context);
  const password_hash = await hashChosenPassword(context.database.db, password, [
    user.email,
    user.display_name,
  ]);
  const { smtp_url, public_url, encryption_key, encryption_key_previous } = context.config;
  const vault = new Vault(encryption_key, encryption_key_previous);
  const mailing = { vault, mail: Boolean(smtp_url), public_url };
  await transaction(context.database, (tx) => resetPassword(tx, operator, user.id, password_hash, mailing));
  const value = { id: user.id, email: user.email, ...(generated ? { password } : {}) };
  return {
    value,
    text: `password of ${user.email} changed${generated ? ` to ${password}` : ''}; sessions ended`,
  };
}

async function resetFactor(context: CommandContext): Promise<Answer> {
  const user = await userByEmail(context);
  await transaction(context.database, (tx) => resetSecondFactor(tx, operator, user.id));
  return {
    value: { id: user.id, email: user.email },
    text: `second factor of ${user.email} removed; sessions ended`,
  };
}

async function deactivate(context: CommandContext): Promise<Answer> {
  const user = await userByEmail(context);
  const keep_keys = context.options['keep-keys'] === 'true';
  const keys = await transaction(context.database, (tx) =>
    deactivateUser(tx, operator, user.id, { keep_keys }),
  );
  return {
    value: {
      id: user.id,
      email: user.email,
      is_active: false,
      [keep_keys ? 'kept_keys' : 'ended_keys']: keys,
    },
    text: `deactivated ${user.email}; sessions ended, ${keys} keys and webhooks ${keep_keys ? 'kept' : 'ended'}`,
  };
}

export const users: Record<string, Command> = {
  create: {
    usage: 'users create --email <address> [--name <text>] [--password <text>] [--role admin|member]',
    doc: 'Creates a user; without --password a random one is printed.',
    required: ['email'],
    optional: ['name', 'password', 'role'],
    run: create,
  },
  list: { usage: 'users list', doc: 'Lists the users.', run: list },
  'reset-password': {
    usage: 'users reset-password --email <address> [--password <text>]',
    doc: 'Sets a password and ends the user’s sessions.',
    required: ['email'],
    optional: ['password'],
    run: reset,
  },
  'reset-second-factor': {
    usage: 'users reset-second-factor --email <address>',
    doc: 'Removes the user’s authenticator app, passkeys and recovery codes, and ends the sessions.',
    required: ['email'],
    run: resetFactor,
  },
  deactivate: {
    usage: 'users deactivate --email <address> [--keep-keys]',
    doc: 'Closes the account, ends its sessions, and revokes the keys and webhooks that the user created.',
    required: ['email'],
    flags: ['keep-keys'],
    run: deactivate,
  },
};
