/** Checks of the machine and the environment. */
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import {
  BUBBLEWRAP_MEND,
  type Controller,
  describeBounds,
  findBubblewrap,
  findControlGroups,
  findPluginWalls,
  findProgram,
  freeBytes,
  isExposed,
  makeFolders,
  programBounds,
} from '@acp/kernel';
import { type Check, well, wrong } from './finding.ts';

const LEAST_FREE_MB = 1000;

export const machineChecks: Record<string, Check> = {
  environment: {
    mend: 'correct the variable named in the detail',
    run: ({ config: { unknown_variables: unknown } }) =>
      unknown.length === 0
        ? well('every SERVICE_ variable is known')
        : wrong(`unknown: ${unknown.join(', ')}`, 'correct the spelling of these variables or remove them'),
  },
  home: {
    mend: 'make SERVICE_HOME a folder that the service can write to',
    run: async ({ config: { home } }) => {
      await makeFolders(home);
      await access(home, constants.W_OK);
      const free = Math.round((await freeBytes(home)) / 1_000_000);
      const detail = `${home}, ${free} MB free`;
      return free > LEAST_FREE_MB ? well(detail) : wrong(detail, 'free disk space or move SERVICE_HOME');
    },
  },
  'model endpoint': {
    mend: 'set SERVICE_DEFAULT_LLM_PROVIDER, _MODEL and _API_KEY',
    run: ({ config: { default_llm_provider: family, default_llm_model: model } }) =>
      family === null
        ? wrong(
            'runs of agents without a provider fail',
            'set SERVICE_DEFAULT_LLM_PROVIDER, _MODEL and _API_KEY, or give each company a provider',
          )
        : well(model === null ? `${family}, each agent names its model` : `${family}, ${model}`),
  },
  'local CLIs': {
    mend: BUBBLEWRAP_MEND,
    run: async ({ config }) => {
      const { local_cli: mode, local_cli_host_companies: trusted } = config;
      if (mode === 'off') return well('switched off');
      if (mode === 'host' && trusted.length === 0)
        return well('with the scheduler’s rights (SERVICE_LOCAL_CLI=host)');
      const found = await findBubblewrap();
      // For this user and its group, as for plugins.
      const grouped = Object.keys(await findControlGroups(config));
      const limited =
        grouped.length > 0
          ? `the kernel limits their ${grouped.join(', ')}`
          : 'the scheduler watches what they use';
      return 'file' in found
        ? well(`sandboxed by ${found.file}; ${limited}`)
        : wrong(
            `${found.reason}: runs of agents with a local CLI fail`,
            `${BUBBLEWRAP_MEND}; or set SERVICE_LOCAL_CLI=off if no agent uses one`,
          );
    },
  },
  git: {
    mend: 'install git where the schedulers run',
    run: ({ config: { local_cli } }) => {
      const missing = ['git', 'ssh', 'flock'].filter((program) => findProgram(program) === undefined);
      if (missing.length === 0) return well('git, ssh and flock are installed');
      const detail = `not installed here: ${missing.join(', ')}`;
      const isNeeded = missing.includes('git') && local_cli !== 'off';
      return isNeeded
        ? wrong(
            `${detail}: runs of programs on issues of projects with a repository fail`,
            'install git where the schedulers run',
          )
        : well(detail);
    },
  },
  'text extraction': {
    mend: BUBBLEWRAP_MEND,
    // The service works without it, and a container may well forbid it: reported, but not as a fault.
    run: async () => {
      const found = await findBubblewrap();
      return well(
        'file' in found
          ? `file parsers are sandboxed by ${found.file}`
          : `file parsers cannot read other files, but can reach the network: ${found.reason}; to prevent that, ${BUBBLEWRAP_MEND}`,
      );
    },
  },
  'plugin sandbox': {
    mend: `start the container engine of SERVICE_CONTAINER_CLI, or ${BUBBLEWRAP_MEND}; or set SERVICE_PLUGIN_SANDBOX`,
    run: async ({ config }) => {
      const walls = await findPluginWalls(config);
      const grouped = Object.keys(await findControlGroups(config)) as Controller[];
      // For this user and its group: a scheduler running as another one may have other privileges.
      const bounds = `as one started from here: ${describeBounds(programBounds(config, walls.kind, grouped))}`;
      if (walls.kind !== 'bare') return well(`plugins are sandboxed by ${walls.kind}; ${bounds}`);
      const detail = `plugins are bare processes with the scheduler’s rights: ${walls.why}; ${bounds}`;
      const isChosen = config.plugin_sandbox === 'disabled';
      return isChosen || !isExposed(config)
        ? well(detail)
        : wrong(
            detail,
            `${BUBBLEWRAP_MEND}; with SERVICE_PLUGIN_SANDBOX=required no plugin starts without a sandbox`,
          );
    },
  },
  'plugin binaries': {
    mend: 'set SERVICE_PLUGIN_BINARY_ALLOWLIST',
    run: ({ config }) => {
      const { plugin_binary_allowlist: listed } = config;
      if (listed.length > 0) return well(listed.join(', '));
      const detail = 'any file on the schedulers’ machine that a company’s admin allows';
      return isExposed(config)
        ? wrong(detail, 'set SERVICE_PLUGIN_BINARY_ALLOWLIST to the paths of the allowed plugin binaries')
        : well(detail);
    },
  },
  'MCP programs': {
    mend: 'install the programs of SERVICE_MCP_COMMANDS where the schedulers run, or correct their commands',
    // Commands with an image are up to the engine.
    run: ({ config: { mcp_commands } }) => {
      const missing = [...mcp_commands]
        .filter(([, { command, image }]) => image === null && findProgram(command[0] ?? '') === undefined)
        .map(([name]) => name);
      return missing.length > 0
        ? wrong(
            `not installed here: ${missing.join(', ')}`,
            'install them where the schedulers run, or correct their commands in SERVICE_MCP_COMMANDS',
          )
        : well(mcp_commands.size === 0 ? 'none' : [...mcp_commands.keys()].join(', '));
    },
  },
  'public URL': {
    mend: 'set SERVICE_PUBLIC_URL to the address that browsers and agents use',
    run: ({ config }) => {
      const { public_url: url } = config;
      return url.startsWith('http:') && isExposed(config)
        ? wrong(
            `${url} is not encrypted`,
            'serve https through a proxy and set SERVICE_PUBLIC_URL to its address',
          )
        : well(url);
    },
  },
  proxies: {
    mend: 'set SERVICE_TRUSTED_PROXIES to the addresses of the reverse proxies',
    run: ({ config: { public_url: url, trusted_proxies } }) => {
      const proxies = trusted_proxies.networks.join(', ');
      // TLS is terminated in front of us: without knowing where, every client looks like the proxy.
      return url.startsWith('https:') && proxies === ''
        ? wrong(
            'the rate limit and the login lockout count all clients as one: the proxy',
            'set SERVICE_TRUSTED_PROXIES to the addresses of the reverse proxies',
          )
        : well(proxies === '' ? 'none' : proxies);
    },
  },
  'rate limit': {
    mend: 'set RATE_LIMIT_RPM',
    run: ({ config }) => {
      const { rate_limit_rpm: limit } = config;
      return limit === 0 && isExposed(config)
        ? wrong(
            'off, on an address that others can reach',
            'set RATE_LIMIT_RPM to the number of requests that a client may make per minute',
          )
        : well(limit === 0 ? 'off' : `${limit} requests per minute and address, in each process`);
    },
  },
};
