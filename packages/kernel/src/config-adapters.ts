/** Variables for the adapters that run programs, containers and cloud functions (decisions 1, 7.33 and 9). */
import { Type } from 'typebox';

export const adapterVariables = {
  SERVICE_CLI_A_COMMAND: Type.Unsafe<string[]>({
    format: 'command',
    default: 'claude',
    description: 'Program of the first CLI adapter, with arguments of the operator’s own.',
  }),
  SERVICE_CLI_B_COMMAND: Type.Unsafe<string[]>({
    format: 'command',
    default: 'codex',
    description: 'Program of the second CLI adapter, with arguments of the operator’s own.',
  }),
  SERVICE_CLI_ENV_PASSTHROUGH: Type.Unsafe<string[]>({
    format: 'variable-list',
    default: '',
    description:
      'Variables of the scheduler’s environment that CLI adapters hand on to their programs, such as API keys.',
  }),
  SERVICE_LOCAL_CLI: Type.Enum(['off', 'sandboxed', 'host'], {
    default: 'sandboxed',
    description:
      'Whether CLI adapters run on the scheduler’s machine: sandboxed by bubblewrap, or, with `host`, with its rights.',
  }),
  SERVICE_LOCAL_CLI_HOST_COMPANIES: Type.Unsafe<string[]>({
    format: 'name-list',
    default: '',
    description:
      'Ids or slugs of the companies for which SERVICE_LOCAL_CLI=host holds, the others are shut in; empty: all.',
  }),
  SERVICE_LOCAL_CLI_EGRESS: Type.Unsafe<string[]>({
    format: 'host-list',
    default: 'api.anthropic.com,api.openai.com',
    description:
      'Hosts that shut-in CLIs reach beside this service, on port 443 or the one given; with a leading dot all below.',
  }),
  SERVICE_COMPANY_EGRESS: Type.Enum(['public', 'listed'], {
    default: 'public',
    description:
      'What a company’s own list of hosts opens to its shut-in programs: public hosts, or only what is listed here too.',
  }),
  SERVICE_REMOTE_EGRESS_PROXY: Type.Optional(
    Type.String({
      format: 'http-url',
      description:
        'Proxy through which programs of remote workers leave where their company has a list of hosts; sent with the list, by the web tier.',
    }),
  ),
  SERVICE_REMOTE_EGRESS_DNS_ADDR: Type.Optional(
    Type.String({
      format: 'ip-address',
      description: 'Name server that they are to ask; sent with the list too.',
    }),
  ),
  SERVICE_LOCAL_CLI_READABLE: Type.Unsafe<string[]>({
    format: 'name-list',
    default: '',
    description:
      'Absolute paths that shut-in CLIs may read beside the system’s programs and the CLI’s own package.',
  }),
  SERVICE_CLI_TIMEOUT_SEC: Type.Integer({
    minimum: 1,
    maximum: 86_400,
    default: 3600,
    description:
      'Seconds that a run of a CLI, docker or lambda adapter may take unless its agent says otherwise.',
  }),
  SERVICE_CLI_SANDBOX_IMAGE: Type.Optional(
    Type.String({
      description: 'Image of the sandboxed CLI adapters; it holds the CLI under its usual name.',
    }),
  ),
  SERVICE_CONTAINER_CLI: Type.Unsafe<string[]>({
    format: 'command',
    default: 'docker',
    description: 'Command line of the container engine: docker or podman.',
  }),
  SERVICE_SANDBOX_MEMORY_LIMIT: Type.String({
    format: 'memory-limit',
    default: '2g',
    description: 'Memory of a container, swap included, or of a local CLI that is shut in.',
  }),
  SERVICE_SANDBOX_CPU_LIMIT: Type.Number({
    minimum: 0.01,
    maximum: 1024,
    default: 2,
    description: 'Processors of a container, or of a local CLI that is shut in.',
  }),
  SERVICE_SANDBOX_PIDS_LIMIT: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 512,
    description: 'Processes of a container, or of a local CLI that is shut in.',
  }),
  SERVICE_SANDBOX_NETWORK: Type.String({
    format: 'network-name',
    default: 'none',
    description:
      'Network of the containers, none for no network; sandboxed CLIs need one that reaches their model and this service.',
  }),
  SERVICE_DOCKER_IMAGES: Type.Unsafe<string[]>({
    format: 'name-list',
    default: '',
    description: 'Images that agents may be configured with; empty: any, but only admins may set one.',
  }),
  SERVICE_LAMBDA_FUNCTIONS: Type.Unsafe<string[]>({
    format: 'name-list',
    default: '',
    description: 'Functions that agents may be configured with; empty: any, but only admins may set one.',
  }),
  SERVICE_LAMBDA_REGION: Type.String({
    format: 'region',
    default: 'us-east-1',
    description: 'Region of functions whose agents name none.',
  }),
  SERVICE_LAMBDA_ENDPOINT: Type.Optional(
    Type.String({
      format: 'http-url',
      default_note: 'the region’s own endpoint',
      description: 'URL at which functions are invoked.',
    }),
  ),
};
