import type { InstanceRole, Me, MyProfile, User, UserActor, UserRole } from '@acp/contract';
import type { schema } from '@acp/db';

export type UserRow = typeof schema.users.$inferSelect;

// Allow-lists: the password hash is never included.

/** The user's own record. */
export function presentMe(user: UserRow): Me {
  return {
    ...presentProfile(user),
    is_active: user.is_active,
    last_login_at: user.last_login_at,
    created_at: user.created_at,
  };
}

export function presentProfile(user: UserRow): MyProfile {
  return {
    id: user.id,
    email: user.email,
    display_name: user.display_name,
    instance_role: roleOf(user),
  };
}

/** The record as seen by instance admins. */
export function presentUser(user: UserRow): User {
  return {
    ...presentMe(user),
    updated_at: user.updated_at,
    slack_user_id: user.slack_user_id,
    telegram_user_id: user.telegram_user_id,
  };
}

export function presentUserRole(user: UserRow): UserRole {
  return {
    user_id: user.id,
    email: user.email,
    display_name: user.display_name,
    role: roleOf(user),
    is_active: user.is_active,
  };
}

/** The user as an actor before a session is resolved: while an account is being created or signed in to. */
export function actorOf(user: UserRow): UserActor {
  return {
    kind: 'user',
    user_id: user.id,
    name: user.display_name,
    instance_role: roleOf(user),
    session_id: null,
    roles: {},
  };
}

const roleOf = (user: UserRow) => user.instance_role as InstanceRole;
