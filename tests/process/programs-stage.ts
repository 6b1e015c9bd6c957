/** An agent whose program is a stand-in for a CLI, as a service runs it on its own machine. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import {
  cloneDatabase,
  type FakeCliCall,
  fakeCliCommand,
  fakeCliJournal,
  killServices,
  type TestDatabase,
  waitFor,
} from '@acp/testkit';
import { type Api, baseEnv } from './api.ts';

export interface Team {
  company: { id: string };
  agent: { id: string };
  home: string;
}

export class ProgramsStage {
  readonly db: TestDatabase;
  readonly folder: string;

  private constructor(db: TestDatabase, folder: string) {
    this.db = db;
    this.folder = folder;
  }

  static async set(): Promise<ProgramsStage> {
    return new ProgramsStage(await cloneDatabase('programs'), await mkdtemp('/var/tmp/programs-test-'));
  }

  async strike(): Promise<void> {
    await killServices();
    await rm(this.folder, { recursive: true, force: true });
  }

  async env(calls: FakeCliCall[]): Promise<Record<string, string>> {
    const script = path.join(this.folder, 'script.json');
    await writeFile(script, JSON.stringify({ calls }));
    const command = fakeCliCommand('a', script).map((word) => `"${word}"`);
    return {
      ...baseEnv,
      DATABASE_URL: this.db.url,
      SERVICE_HOME: path.join(this.folder, 'home'),
      SERVICE_CLI_A_COMMAND: command.join(' '),
      SERVICE_LOCAL_CLI: 'host',
    };
  }

  async hire(api: Api, root = path.join(this.folder, 'home')): Promise<Team> {
    const slug = `team-${Date.now()}`;
    const company = await api.call<{ id: string }>('POST', '/api/companies', { name: 'Team', slug });
    const adapter = { adapter_type: 'cli_a_local', adapter_config: { timeout_seconds: 600 } };
    const body = { name: 'Ada', heartbeat_enabled: false, ...adapter };
    const agent = await api.call<{ id: string }>('POST', `/api/companies/${company.id}/agents`, body);
    return { company, agent, home: path.join(root, 'companies', company.id, 'agents', agent.id) };
  }
}

export const invoke = async (api: Api, { agent }: Team): Promise<{ id: string }> =>
  api.call<{ id: string }>('POST', `/api/agents/${agent.id}/heartbeat/invoke`);

export async function firstCall(team: Team): Promise<void> {
  await waitFor(async () => (await fakeCliJournal(team.home)).length > 0, { what: 'the program' });
}
