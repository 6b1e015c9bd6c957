import { describe, expect, it } from '@jest/globals';
import { configReference, loadConfig, parseTrustedProxies } from '@acp/kernel';
import {
  assignments,
  type Environment,
  imageEnvironment,
  operator,
  readCompose,
  readDockerfile,
  readDocuments,
  readText,
  readUnit,
  readYaml,
} from './files.ts';

const image = imageEnvironment(readDockerfile());
const compose = readCompose();
const configMap = (readYaml('deploy/kubernetes/config.yaml') as { data: Environment }).data;
const secret = (readYaml('deploy/kubernetes/secret.example.yaml') as { stringData: Environment }).stringData;
const unitsFile = assignments(readText('deploy/systemd/environment.example'), /\n/);

interface PodOwner {
  kind: string;
  spec: { template: { spec: { containers: { env: { name: string; value: string }[] }[] } } };
}

function podEnvironment(tier: string): Environment {
  const documents = readDocuments<PodOwner>(`deploy/kubernetes/${tier}.yaml`);
  const deployment = documents.find(({ kind }) => kind === 'Deployment')!;
  const [container] = deployment.spec.template.spec.containers;
  const own = container!.env.map(({ name, value }) => [name, value]);
  return { ...image, ...configMap, ...secret, ...(Object.fromEntries(own) as Environment) };
}

function unitEnvironment(tier: string): Environment {
  const unit = readUnit(`deploy/systemd/agent-control-plane-${tier}.service`);
  return { ...assignments((unit.get('Environment') ?? []).join(' '), / /), ...unitsFile };
}

const tiers = ['web', 'scheduler'] as const;
const environments: [string, Environment, (typeof tiers)[number]][] = tiers.flatMap((tier) => [
  [`compose: ${tier}`, { ...image, ...compose.services[tier]!.environment }, tier],
  [`kubernetes: ${tier}`, podEnvironment(tier), tier],
  [`systemd: ${tier}`, unitEnvironment(tier), tier],
]);

const known = new Set(configReference().map(({ name }) => name));
/** Read by Node.js, the C library and the programs that the service starts. */
const foreign = new Set(['PATH', 'NODE_ENV', 'MALLOC_ARENA_MAX', 'MALLOC_TRIM_THRESHOLD_']);

describe.each(environments)('the environment of %s', (_where, env, tier) => {
  it('names only variables that the configuration knows', () => {
    expect(Object.keys(env).filter((name) => !known.has(name) && !foreign.has(name))).toEqual([]);
  });

  it('is accepted, and means what it says', () => {
    const config = loadConfig(env);
    expect(config.unknown_variables).toEqual([]);
    expect(config).toMatchObject({ role: tier, log_format: 'json', storage: 'local' });
    expect(config.database_url).toMatch(/^postgres:/);
    expect(config.home).toMatch(/^\/var\/lib\//);
  });

  it('keeps what an exposed instance must not be without', () => {
    // decisions 8.9; a variable unknown to this release is requested from the release that knows it.
    const exposed = [
      'SERVICE_REQUIRE_WORKER_APPROVAL',
      'SERVICE_PLUGIN_BINARY_ALLOWLIST',
      'SERVICE_CONTAINER_CLI',
    ];
    expect(exposed.filter((name) => known.has(name) && !env[name])).toEqual([]);
  });

  it('trusts single proxies, no network', () => {
    const { networks } = parseTrustedProxies(env.SERVICE_TRUSTED_PROXIES ?? '');
    expect(networks.filter((network) => !network.endsWith('/32'))).toEqual([]);
  });

  it('drains before it is killed', () => {
    const { drain_timeout_sec } = loadConfig(env);
    const unit = readUnit(`deploy/systemd/agent-control-plane-${tier}.service`);
    expect(Number(unit.get('TimeoutStopSec')![0])).toBeGreaterThan(drain_timeout_sec);
    expect(Number.parseInt(String(compose.services[tier]!.stop_grace_period), 10)).toBeGreaterThan(
      drain_timeout_sec,
    );
  });
});

describe('compose without what the operator has to give', () => {
  it.each(Object.keys(operator))('is refused, naming %s', (name) => {
    const { [name]: _left, ...rest } = operator;
    expect(() => readCompose(rest)).toThrow(name);
  });
});

describe('the one trusted proxy of compose', () => {
  it('has the address that the service believes, which nobody else can be given', () => {
    const { edge } = compose.services.proxy!.networks as Record<string, { ipv4_address: string }>;
    expect(compose.services.web!.environment!.SERVICE_TRUSTED_PROXIES).toBe(`${edge!.ipv4_address}/32`);
    const { subnet, gateway, ip_range } = compose.networks.edge!.ipam.config[0]!;
    for (const address of [edge!.ipv4_address, gateway]) {
      expect(parseTrustedProxies(subnet).includes(address)).toBe(true);
      expect(parseTrustedProxies(ip_range).includes(address)).toBe(false);
    }
    // nginx.conf says what to write for a terminator on the same machine.
    expect(readText('deploy/nginx.conf')).toContain(`set_real_ip_from ${gateway};`);
  });

  it('can’t reach the database', () => {
    expect(compose.services.proxy!.networks).not.toHaveProperty('default');
    expect(compose.services.database!.networks).toBeUndefined();
  });
});
