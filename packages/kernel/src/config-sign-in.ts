/** Variables for the sign-in providers (decisions 9): a provider is active once its client is configured. */
import { Type } from 'typebox';

const secret = { secret: true };

export const signInVariables = {
  SERVICE_OIDC_ISSUER: Type.Optional(
    Type.String({
      format: 'issuer-url',
      description:
        'Issuer of the generic OpenID Connect provider; its discovery document is read from there.',
    }),
  ),
  SERVICE_OIDC_CLIENT_ID: Type.Optional(Type.String({ description: 'Client id at the OIDC provider.' })),
  SERVICE_OIDC_CLIENT_SECRET: Type.Optional(
    Type.String({ ...secret, description: 'Client secret at the OIDC provider.' }),
  ),
  SERVICE_OIDC_SCOPES: Type.String({
    default: 'openid email profile',
    description: 'Scopes to ask the OIDC provider for, separated by spaces.',
  }),
  SERVICE_OIDC_LABEL: Type.String({
    default: 'Single sign-on',
    description: 'What the login page calls the OIDC provider.',
  }),
  SERVICE_GOOGLE_CLIENT_ID: Type.Optional(Type.String({ description: 'Client id at Google.' })),
  SERVICE_GOOGLE_CLIENT_SECRET: Type.Optional(
    Type.String({ ...secret, description: 'Client secret at Google.' }),
  ),
  SERVICE_GOOGLE_ISSUER: Type.String({
    format: 'issuer-url',
    default: 'https://accounts.google.com',
    description: 'Issuer in place of Google’s own.',
  }),
  SERVICE_GITHUB_CLIENT_ID: Type.Optional(Type.String({ description: 'Client id at GitHub.' })),
  SERVICE_GITHUB_CLIENT_SECRET: Type.Optional(
    Type.String({ ...secret, description: 'Client secret at GitHub.' }),
  ),
  SERVICE_GITHUB_URL: Type.String({
    format: 'issuer-url',
    default: 'https://github.com',
    description: 'GitHub, or an enterprise server.',
  }),
  SERVICE_GITHUB_API_URL: Type.String({
    format: 'issuer-url',
    default: 'https://api.github.com',
    description: 'API of that GitHub; of an enterprise server https://<host>/api/v3.',
  }),
};
