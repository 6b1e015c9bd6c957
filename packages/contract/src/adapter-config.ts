/**
 * The allowed `adapter_config` of an agent, by adapter type (decisions 7.27, 7.34; specification, Remote workers). One table:
 * adapters read their configuration by its schema, and `/llms/agent-configuration.txt` documents it for agents. Keys that a
 * schema does not name are kept and ignored.
 */
import { Type, type Static, type TObject, type TSchema } from 'typebox';
import { isAdapterType } from './adapter-traits.ts';
import type { AdapterType } from './agents.ts';
import { createValidator, type Validator } from './validator.ts';

const model = Type.String({
  minLength: 1,
  maxLength: 200,
  pattern: '^[^\\u0000-\\u001f\\u007f]+$',
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
const permissions = Type.Unsafe<'read' | 'edit' | 'commands'>({
  type: 'string',
  enum: ['read', 'edit', 'commands'],
  description:
    'What the CLI does without being asked: read, edit files, or run commands too, which it may only where it is shut in. Default: commands where it is, else edit.',
});
// Must not look like an option: it becomes an argument of the container engine.
const image = Type.String({
  maxLength: 500,
  pattern: '^[A-Za-z0-9][A-Za-z0-9._/:@-]*$',
  description:
    'Container image: one that the operator allows; where the operator names none, admins may set any.',
});
const command = Type.Array(Type.String({ maxLength: 10_000, pattern: '^[^\\u0000]*$' }), {
  maxItems: 200,
  description: 'Program and arguments in place of the image’s.',
});
// Values are passed one per line.
const env = Type.Unsafe<Record<string, string>>({
  type: 'object',
  maxProperties: 100,
  propertyNames: { pattern: '^(?!SERVICE_)[A-Za-z_][A-Za-z0-9_]*$' },
  additionalProperties: { type: 'string', maxLength: 32_768, pattern: '^[^\\u0000\\r\\n]*$' },
  description: 'Environment of the container; names that begin with SERVICE_ are the service’s own.',
});

const context_tokens = Type.Integer({
  minimum: 4096,
  maximum: 2_000_000,
  description:
    'Tokens that the model’s window takes, 40,000 unless told: half of them are for what was said in a chat.',
});

export const LlmConfig = Type.Partial(
  Type.Object({
    base_url: Type.String({
      maxLength: 2000,
      pattern: '^https?://',
      description: 'Endpoint in place of the provider’s; it must be a host that the operator allows.',
    }),
    images: Type.Boolean({
      description: 'Whether the model takes images; judged by its name unless told.',
    }),
    context_tokens,
    full_context,
  }),
);
export const CliConfig = Type.Partial(
  Type.Object({
    model,
    timeout_seconds,
    context_tokens,
    full_context,
    permissions,
    allow_dangerous_permissions,
  }),
);
export const CliSandboxConfig = Type.Partial(Type.Object({ ...CliConfig.properties, image }));
export const DockerConfig = Type.Object({
  image,
  command: Type.Optional(command),
  env: Type.Optional(env),
  timeout_seconds: Type.Optional(timeout_seconds),
  full_context: Type.Optional(full_context),
});
export const LambdaConfig = Type.Object({
  function_name: Type.String({
    maxLength: 200,
    pattern: '^[A-Za-z0-9:_-]+$',
    description:
      'Name or ARN of the function: one that the operator allows; where the operator names none, admins may set any.',
  }),
  // It becomes part of a host name.
  region: Type.Optional(
    Type.String({
      maxLength: 50,
      pattern: '^[a-z]{2}(-[a-z]+)+-[0-9]{1,2}$',
      description: 'Region of the function; the operator’s unless told.',
    }),
  ),
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
    provider: Type.String({
      minLength: 1,
      maxLength: 200,
      pattern: '^[^\\u0000-\\u001f\\u007f]+$',
      description:
        'Of llm: the provider that a worker must share, as workers call it in their shared models; none: any.',
    }),
    model,
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
  readonly schema: TObject;
  readonly doc: string;
  readonly example: Readonly<Record<string, unknown>>;
}

const cli = (which: string) =>
  `Runs the ${which} command line of the operator in the agent’s home folder; the prompt goes in by standard input.`;
const sandbox = (which: string) => `Runs the ${which} command line in a container of its own, with limits.`;

export const adapterConfigs = {
  llm: {
    schema: LlmConfig,
    doc: 'Calls the model of the agent’s provider, or the instance’s. The default; an empty or unknown type means this one.',
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
    doc: 'Runs a container: it receives the task payload on stdin and writes the worker result body to stdout.',
    example: {
      image: 'registry.example/agent:1',
      command: ['work'],
      env: { TOKEN: '${secret:AGENT_TOKEN}' },
    },
  },
  lambda: {
    schema: LambdaConfig,
    doc: 'Invokes a cloud function with the task payload as its event; it returns the worker result body.',
    example: { function_name: 'agent', region: 'eu-central-1' },
  },
  remote: {
    schema: RemoteConfig,
    doc: 'Queues a task for a remote worker.',
    example: { local_adapter_type: 'llm', tags: ['gpu'], timeout_seconds: 600 },
  },
} as const satisfies Record<AdapterType, AdapterConfigRow>;

const validators = new Map<AdapterType, Validator<unknown>>();

const drafts = new Map<AdapterType, Validator<unknown>>();

/**
 * Throws `invalid` for a configuration that the adapter could not use. An unknown type is accepted with any configuration
 * (decisions 7.20): it runs as `llm`, which ignores it.
 */
export function assertAdapterConfig(type: string, config: unknown): void {
  if (isAdapterType(type)) validatorOf(type, validators, ({ schema }) => schema)(config);
}

/**
 * The same for a configuration that is being written: what it lacks (a container's image) may follow, and a run without it says
 * so. An agent can thus be created by its name and type alone.
 */
export function assertAdapterDraft(type: string, config: unknown): void {
  if (isAdapterType(type)) validatorOf(type, drafts, ({ schema }) => Type.Partial(schema))(config);
}

function validatorOf(
  type: AdapterType,
  known: Map<AdapterType, Validator<unknown>>,
  schemaOf: (row: { schema: TObject }) => TSchema,
): Validator<unknown> {
  const validate =
    known.get(type) ?? createValidator<TSchema>(schemaOf(adapterConfigs[type]), 'adapter_config');
  known.set(type, validate);
  return validate;
}
