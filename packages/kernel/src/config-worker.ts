/** Variables for the reference remote worker (specification, Remote workers); the service itself reads none of them. */
import { Type } from 'typebox';

export const workerVariables = {
  SERVICE_SERVER_URL: Type.Optional(
    Type.String({
      format: 'http-url',
      default_note: 'unset; a worker needs it',
      description: 'Remote worker: URL of the service, as the worker’s machine reaches it.',
    }),
  ),
  SERVICE_WORKER_KEY: Type.Optional(
    Type.String({
      secret: true,
      minLength: 16,
      default_note: 'unset; a worker needs it',
      description:
        'Remote worker: its key; one that the service does not know registers a new worker, whose own key is then kept under SERVICE_HOME.',
    }),
  ),
  SERVICE_WORKER_NAME: Type.Optional(
    Type.String({ default_note: 'the host’s name', description: 'Remote worker: name in the fleet.' }),
  ),
  SERVICE_WORKER_TAGS: Type.Unsafe<string[]>({
    format: 'name-list',
    default: '',
    description: 'Remote worker: tags of its first registration; later the service’s count.',
  }),
  SERVICE_WORKER_CONCURRENCY: Type.Integer({
    minimum: 1,
    maximum: 1000,
    default: 2,
    description: 'Remote worker: tasks that it works on at once.',
  }),
  SERVICE_WORKER_POLL_SEC: Type.Number({
    minimum: 0.1,
    maximum: 3600,
    default: 5,
    description: 'Remote worker: seconds between two looks for a task while there is none.',
  }),
  SERVICE_WORKER_LLM_ALLOWED_HOSTS: Type.Unsafe<string[]>({
    format: 'host-list',
    default: '',
    description:
      'Remote worker: hosts, beside its own model endpoint, that an agent’s base_url may name and that get the worker’s API key.',
  }),
  SERVICE_WORKER_SHARED_MODELS: Type.Optional(
    Type.String({
      default_note: 'unset: all models',
      description:
        'Remote worker: models for which it takes llm tasks, as provider:model,model-glob;… with * for any characters.',
    }),
  ),
};
