/** Users and their own record (specification, Identity and users). */
import { Type, type Static } from 'typebox';
import { instanceRoles } from './actor.ts';
import { endpoint } from './endpoint.ts';
import { Nullable, OneOf, Timestamp, Uuid } from './schema-kit.ts';

export const Email = Type.String({ format: 'email', maxLength: 320 });
export const Password = Type.String({ minLength: 8, maxLength: 1024 });

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

/** Form bodies of the pages: `POST /login` and the first-run `POST /setup`. */
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

export const identityEndpoints = {
  me: endpoint({
    id: 'identity.me',
    method: 'GET',
    path: '/api/me',
    auth: ['user'],
    role: 'none',
    scope: { by: 'none' },
    response: Me,
    status: 200,
    tx: 'none',
    doc: 'The signed-in user. Agent and board-user keys get 401 `not authenticated as user`.',
  }),
};
