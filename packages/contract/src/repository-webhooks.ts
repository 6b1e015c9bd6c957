/** Webhooks through which a repository's host (GitHub, GitLab) reports changes to pull requests. */
import { Type, type Static } from 'typebox';
import { BEARER, endpoint } from './endpoint.ts';
import { Nullable, OneOf, Timestamp, Uuid } from './schema-kit.ts';

export const RepositoryWebhook = Type.Object({
  project_id: Uuid,
  /** The last segment of the URL registered with the host. */
  public_id: Uuid,
  /** The host's name for the last event it sent. */
  last_event: Nullable(Type.String()),
  received_at: Nullable(Timestamp),
  created_at: Timestamp,
});
export type RepositoryWebhook = Static<typeof RepositoryWebhook>;

/** `secret` appears only in this response. */
export const NewRepositoryWebhook = Type.Object({ ...RepositoryWebhook.properties, secret: Type.String() });
export type NewRepositoryWebhook = Static<typeof NewRepositoryWebhook>;

const ofProject = {
  path: '/api/projects/{projectId}/repository-webhook',
  auth: BEARER,
  // Whoever knows the secret can make the service query the host.
  role: 'admin',
  people_only: true,
  scope: { by: 'project', param: 'projectId' },
} as const;

export const repositoryWebhookEndpoints = {
  get: endpoint({
    ...ofProject,
    id: 'repository-webhooks.get',
    method: 'GET',
    response: RepositoryWebhook,
    status: 200,
    tx: 'none',
    doc: 'The webhook of the project’s repository, without its secret; 404 if there is none.',
  }),
  create: endpoint({
    ...ofProject,
    id: 'repository-webhooks.create',
    method: 'POST',
    response: NewRepositoryWebhook,
    status: 201,
    tx: 'write',
    issues_secret: 'secret',
    doc: 'Creates or replaces it: the previous address and secret stop working immediately. The secret is shown only once; 503 if SERVICE_ENCRYPTION_KEY is not set.',
  }),
  delete: endpoint({
    ...ofProject,
    id: 'repository-webhooks.delete',
    method: 'DELETE',
    response: null,
    status: 204,
    tx: 'write',
    doc: 'Deletes it: pull requests are then only polled.',
  }),
  receive: endpoint({
    id: 'repository-webhooks.receive',
    method: 'POST',
    path: '/api/repository-webhooks/{hookId}',
    auth: [],
    role: 'none',
    scope: { by: 'none' },
    body_kind: 'raw',
    max_bytes: 5 * 1024 * 1024,
    response: Type.Object({ status: OneOf(['noted', 'ignored']) }),
    status: 200,
    tx: 'none',
    doc: 'For GitHub and GitLab: signed (`X-Hub-Signature-256`, `webhook-signature`) or with the secret (`X-Gitlab-Token`). Its content is not trusted: the pull requests of the branches it names are fetched.',
  }),
};
