/**
 * What `adapter_config` of an agent may hold, by adapter type (decisions 7.27, 7.34; specification, Remote workers). One
 * table: adapters read their configuration by its schema, `/llms/agent-configuration.txt` tells agents about it. Keys that a
 * schema does not name are kept and mean nothing.
 */
import { Type, type Static, type TSchema } from 'typebox';
import type { AdapterType } from './agents.ts';

const model = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'Model to ask for; the agent’s own `model` goes before it.',
});
const timeout_seconds = Type.Integer({
  minimum: 1,
  maximum: 86_400,
  description: 'How long one run may take, in seconds.',
});
const full_context = Type.Boolean({
  description: 'Adds capabilities, comments, activities, children and wake to what the agent is told.',
});
const allow_dangerous_permissions = Type.Boolean({
  description: 'Lets the CLI act without asking for permission. Admins only.',
});
const image = Type.String({ minLength: 1, maxLength: 500, description: 'Container image.' });

export const LlmConfig = Type.Partial(
  Type.Object({
    base_url: Type.String({
      maxLength: 2000,
      pattern: '^https?://',
      description: 'Endpoint in place of the provider’s; it must be a host that the operator allows.',
    }),
    full_context,
  }),
);
export const CliConfig = Type.Partial(
  Type.Object({ model, timeout_seconds, full_context, allow_dangerous_permissions }),
);
export const CliSandboxConfig = Type.Partial(Type.Object({ ...CliConfig.properties, image }));
export const DockerConfig = Type.Object({
  image,
  command: Type.Optional(
    Type.Array(Type.String(), { description: 'Program and arguments in place of the image’s.' }),
  ),
  env: Type.Optional(
    Type.Record(Type.String(), Type.String(), { description: 'Environment of the container.' }),
  ),
  timeout_seconds: Type.Optional(timeout_seconds),
  full_context: Type.Optional(full_context),
});
export const LambdaConfig = Type.Object({
  function_name: Type.String({ minLength: 1, maxLength: 200, description: 'Function to invoke.' }),
  region: Type.Optional(Type.String({ maxLength: 50, description: 'Region of the function.' })),
  timeout_seconds: Type.Optional(timeout_seconds),
  full_context: Type.Optional(full_context),
});
export const RemoteConfig = Type.Partial(
  Type.Object({
    local_adapter_type: Type.String({
      maxLength: 100,
      description: 'Adapter that the worker uses: llm (default), cli_a_local or docker.',
    }),
    tags: Type.Array(Type.String({ minLength: 1, maxLength: 100 }), {
      description:
        'Tags that a worker must have; none: those of the project, else of the company, else any worker.',
    }),
    timeout_seconds,
    full_context,
    allow_dangerous_permissions,
  }),
);

export type LlmConfig = Static<typeof LlmConfig>;
export type CliConfig = Static<typeof CliConfig>;
export type CliSandboxConfig = Static<typeof CliSandboxConfig>;
export type DockerConfig = Static<typeof DockerConfig>;
export type LambdaConfig = Static<typeof LambdaConfig>;
export type RemoteConfig = Static<typeof RemoteConfig>;

export interface AdapterConfigRow {
  readonly schema: TSchema;
  readonly doc: string;
  readonly example: Readonly<Record<string, unknown>>;
}

const cli = (which: string) =>
  `Runs the ${which} command line of the operator in the agent’s home folder; the prompt goes in by standard input.`;
const sandbox = (which: string) => `Runs the ${which} command line in a container of its own, with limits.`;

export const adapterConfigs = {
  llm: {
    schema: LlmConfig,
    doc: 'Asks the model of the agent’s provider, else the instance’s. The default; an empty or unknown type means this one.',
    example: { full_context: true },
  },
  cli_a_local: {
    schema: CliConfig,
    doc: cli('first'),
    example: { model: 'fast', timeout_seconds: 1200 },
  },
  cli_b_local: { schema: CliConfig, doc: cli('second'), example: { timeout_seconds: 1200 } },
  cli_a_sandbox: {
    schema: CliSandboxConfig,
    doc: sandbox('first'),
    example: { image: 'registry.example/agent-a:1', timeout_seconds: 1200 },
  },
  cli_b_sandbox: {
    schema: CliSandboxConfig,
    doc: sandbox('second'),
    example: { image: 'registry.example/agent-b:1' },
  },
  docker: {
    schema: DockerConfig,
    doc: 'Runs a container: the task payload comes by standard input, the worker result body goes out by standard output.',
    example: {
      image: 'registry.example/agent:1',
      command: ['work'],
      env: { TOKEN: '${secret:AGENT_TOKEN}' },
    },
  },
  lambda: {
    schema: LambdaConfig,
    doc: 'Invokes a cloud function: the task payload is the event, the worker result body is what it returns.',
    example: { function_name: 'agent', region: 'eu-central-1' },
  },
  remote: {
    schema: RemoteConfig,
    doc: 'Queues a task for a remote worker.',
    example: { local_adapter_type: 'llm', tags: ['gpu'], timeout_seconds: 600 },
  },
} as const satisfies Record<AdapterType, AdapterConfigRow>;

export function isAdapterType(type: string): type is AdapterType {
  return Object.hasOwn(adapterConfigs, type);
}
