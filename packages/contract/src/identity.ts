/** Users, their own profile and their instance roles (specification, Identity and users; Instance administration). */
import { Type, type Static } from 'typebox';
import { densities, instanceRoles, Language, themes } from './actor.ts';
import { KeepKeys, Name, Nullable, OneOf, Patch, Timestamp, Uuid } from './schema-kit.ts';

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

/** Response of `PATCH /api/me`. */
export const MyProfile = Type.Pick(Me, ['id', 'email', 'display_name', 'instance_role']);
export type MyProfile = Static<typeof MyProfile>;

/** A user as seen by instance admins; no response contains the password hash. */
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

/** Null resets a preference. */
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
  /** Required for a new address unless the sign-in is recent. */
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
  keep_keys: Type.Boolean(),
});
export type UpdateUser = Static<typeof UpdateUser>;
export const ResetPassword = Type.Object({ new_password: Password });
export const ChangeInstanceRole = Type.Object({ role: OneOf(instanceRoles), keep_keys: KeepKeys });
export const DeleteUser = Type.Object({ keep_keys: KeepKeys });

/** Form bodies of the pages: `POST /login`, the first-run `POST /setup`, and a new user's `POST /invites/{token}`. */
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
export const SignUpForm = Type.Object({
  email: Email,
  display_name: Type.String({ minLength: 1, maxLength: 200 }),
  password: Password,
});

/** The identity a provider vouches for; bounded, since it is stored (OpenID Connect Core, section 2: `sub`). */
export const ProviderAccount = Type.Object({
  issuer: Type.String({ minLength: 1, maxLength: 2000, pattern: '^[^\\u0000]*$' }),
  subject: Type.String({ minLength: 1, maxLength: 255, pattern: '^[^\\u0000]*$' }),
});
/** A new user vouched for by a provider, under the same rules as any other. */
export const ProviderProfile = Type.Object({ email: Email, display_name: Name });

/** The parts of GitHub's API used at sign-in. */
export const GithubUser = Type.Object({
  id: Type.Integer(),
  login: Type.String(),
  name: Type.Optional(Nullable(Type.String())),
});
export const GithubEmails = Type.Array(
  Type.Object({ email: Type.String(), primary: Type.Boolean(), verified: Type.Boolean() }),
);
