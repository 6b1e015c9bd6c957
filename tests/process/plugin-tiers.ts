/** A web tier and two schedulers that run plugins. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import {
  cloneDatabase,
  killServices,
  type ServiceProcess,
  startService,
  type TestDatabase,
} from '@acp/testkit';
import { type Operator, pluginOperator } from '../plugins/operator.ts';
import { bounds, here } from '../plugins/shut-in.ts';
import { type Api, baseEnv, createTeam, signIn } from './api.ts';

export interface PluginTiers {
  db: TestDatabase;
  api: Api;
  /** Of the web tier. */
  url: string;
  /** Of both tiers; removed at the end. */
  home: string;
  company_id: string;
  operator: Operator;
  /** The first two. */
  schedulers: [ServiceProcess, ServiceProcess];
  startScheduler(): Promise<ServiceProcess>;
  stop(): Promise<void>;
}

export async function startPluginTiers(more: Record<string, string> = {}): Promise<PluginTiers> {
  const db = await cloneDatabase('plugins');
  const home = await mkdtemp(path.join(tmpdir(), 'plugins-'));
  const env = {
    ...baseEnv,
    DATABASE_URL: db.url,
    SERVICE_HOME: path.join(home, 'service'),
    SERVICE_ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    SERVICE_PLUGIN_SANDBOX: here.setting,
    SERVICE_PLUGIN_WORKSPACE_ROOT: path.join(home, 'workspaces'),
    ...bounds,
    ...more,
  };
  const startScheduler = async () => startService({ ...env, SERVICE_ROLE: 'scheduler' });
  const [web, ...schedulers] = await Promise.all([
    startService({ ...env, SERVICE_ROLE: 'web' }),
    startScheduler(),
    startScheduler(),
  ]);
  const api = await signIn(web);
  const { company_id } = await createTeam(api, []);
  return {
    db,
    api,
    url: web.url,
    home,
    company_id,
    operator: pluginOperator(api, company_id),
    schedulers,
    startScheduler,
    async stop() {
      await killServices();
      await rm(home, { recursive: true, force: true });
    },
  };
}
