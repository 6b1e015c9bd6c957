/** Users, their own record and their instance roles (specification, Identity and users; Instance administration). */
import { Type, type Static } from 'typebox';
import { densities, instanceRoles, Language, themes } from './actor.ts';
import { Name, Nullable, OneOf, Patch, Timestamp, Uuid } from './schema-kit.ts';

export const Email = Type.String({ format: 'email', maxLength: 320 });
export const Password = Type.String({ minLength: 8, maxLength: 1024, writeOnly: true });

export const Me = Type.Object({
  id: Uuid,
  email: Type.String(),
  display_name: Type.String(),
  instance_role: OneOf(instanceRoles),
  is_active: Type.Boolean(),
  last_login_at: Nullable(Timestamp),
  created_at: Timestamp,
});
export type Me = Static<typeof Me>;

/** What `PATCH /api/me` answers. */
export const MyProfile = Type.Pick(Me, ['id', 'email', 'display_name', 'instance_role']);
export type MyProfile = Static<typeof MyProfile>;

/** A user as instance admins see it; the password hash is in no answer. */
export const User = Type.Object({
  ...Me.properties,
  updated_at: Timestamp,
  slack_user_id: Nullable(Type.String()),
  telegram_user_id: Nullable(Type.String()),
});
export type User = Static<typeof User>;

export const UserRole = Type.Object({
  user_id: Uuid,
  email: Type.String(),
  display_name: Type.String(),
  role: OneOf(instanceRoles),
  is_active: Type.Boolean(),
});
export type UserRole = Static<typeof UserRole>;

/** Null takes a preference back. */
export const UpdatePreferences = Patch({
  theme: Nullable(OneOf(themes)),
  density: Nullable(OneOf(densities)),
  time_zone: Nullable(Type.String({ minLength: 1, maxLength: 64 })),
  language: Nullable(Language),
});
export type UpdatePreferences = Static<typeof UpdatePreferences>;

const CurrentPassword = Type.String({ minLength: 1, maxLength: 1024, writeOnly: true });
export const UpdateMe = Patch({
  email: Email,
  display_name: Name,
  /** Needed for a new address where the sign-in is not fresh. */
  current_password: CurrentPassword,
});
export type UpdateMe = Static<typeof UpdateMe>;
export const ChangePassword = Type.Object({
  current_password: CurrentPassword,
  new_password: Password,
});
export const CreateUser = Type.Object({
  email: Email,
  password: Password,
  display_name: Name,
  instance_role: Type.Optional(OneOf(instanceRoles)),
});
export const UpdateUser = Patch({
  email: Email,
  display_name: Name,
  is_active: Type.Boolean(),
  instance_role: OneOf(instanceRoles),
});
export type UpdateUser = Static<typeof UpdateUser>;
export const ResetPassword = Type.Object({ new_password: Password });
export const ChangeInstanceRole = Type.Object({ role: OneOf(instanceRoles) });

/** Form bodies of the pages: `POST /login`, the first-run `POST /setup`, and `POST /invites/{token}` of a newcomer. */
export const LoginForm = Type.Object({
  email: Type.String({ minLength: 1, maxLength: 320 }),
  password: Type.String({ minLength: 1, maxLength: 1024 }),
});
export const SetupForm = Type.Object({
  token: Type.String({ minLength: 1, maxLength: 200 }),
  email: Email,
  display_name: Type.String({ minLength: 1, maxLength: 200 }),
  password: Password,
});
export const NewcomerForm = Type.Object({
  email: Email,
  display_name: Type.String({ minLength: 1, maxLength: 200 }),
  password: Password,
});

/** Who signs in, by a provider's word: bounded, since it becomes rows (OpenID Connect Core, section 2: `sub`). */
export const ProviderAccount = Type.Object({
  issuer: Type.String({ minLength: 1, maxLength: 2000, pattern: '^[^\\u0000]*$' }),
  subject: Type.String({ minLength: 1, maxLength: 255, pattern: '^[^\\u0000]*$' }),
});
/** Somebody who becomes a user by a provider's word: held to what holds for anybody. */
export const ProviderNewcomer = Type.Object({ email: Email, display_name: Name });

/** What is read of GitHub's API at a sign-in. */
export const GithubUser = Type.Object({
  id: Type.Integer(),
  login: Type.String(),
  name: Type.Optional(Nullable(Type.String())),
});
export const GithubEmails = Type.Array(
  Type.Object({ email: Type.String(), primary: Type.Boolean(), verified: Type.Boolean() }),
);
