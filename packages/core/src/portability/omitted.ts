/** What a bundle leaves out, listed in its manifest so that nothing is lost silently. */
import type { CompanyBundle } from '@acp/contract';
import type { Tx } from '@acp/db';
import { sql } from 'drizzle-orm';

type Omitted = NonNullable<NonNullable<CompanyBundle['manifest']>['omitted']>;

const SECRET = 'secrets never leave';
const OWN = 'belongs to this instance';
const HISTORY = 'history stays where it happened';

/** With counts where they are cheap. Omits what the company does not have. */
export async function omittedOf(
  tx: Tx,
  company_id: string,
  { issues }: { issues: boolean },
): Promise<Omitted> {
  const { rows } = await tx.execute<Record<string, number>>(sql`
    select
      (select count(*)::int from secrets where company_id = ${company_id}) as secrets,
      (select count(*)::int from providers where company_id = ${company_id}
        and (api_key_sealed is not null or custom_headers_sealed is not null)) as provider_keys,
      (select count(*)::int from agent_api_keys where company_id = ${company_id} and run_id is null) as agent_keys,
      (select count(*)::int from board_user_keys where company_id = ${company_id}) as board_keys,
      (select count(*)::int from memberships where company_id = ${company_id}) as members,
      (select count(*)::int from agent_files where company_id = ${company_id}) as agent_files,
      (select count(*)::int from agents where company_id = ${company_id} and deleted_at is null
        and (parent_agent_id is not null or status in ('terminated', 'pending_approval'))) as other_agents,
      (select count(*)::int from plugins where company_id = ${company_id}) as plugins,
      (select count(*)::int from mcp_servers where company_id = ${company_id}) as mcp_servers,
      (select count(*)::int from channels where company_id = ${company_id}) as channels,
      (select count(*)::int from a2a_peers where company_id = ${company_id}) as peers,
      (select count(*)::int from model_prices where company_id = ${company_id}) as model_prices,
      (select count(*)::int from webhooks where company_id = ${company_id}) as webhooks,
      (select count(*)::int from chats where company_id = ${company_id}) as chats,
      (select count(*)::int from approvals where company_id = ${company_id}) as approvals,
      (select count(*)::int from attachments where company_id = ${company_id}) as attachments,
      (select count(*)::int from work_products where company_id = ${company_id}) as work_products,
      (select count(*)::int from issues where company_id = ${company_id} and deleted_at is null) as issues`);
  const n = rows[0]!;
  const list: Omitted = [
    { what: 'secrets', count: n.secrets!, reason: SECRET },
    { what: 'keys and headers of providers', count: n.provider_keys!, reason: SECRET },
    { what: 'keys of agents', count: n.agent_keys!, reason: SECRET },
    { what: 'board-user keys', count: n.board_keys!, reason: SECRET },
    { what: 'members', count: n.members!, reason: OWN },
    { what: 'files and own skills of agents', count: n.agent_files!, reason: 'a bundle holds no files' },
    {
      what: 'sub-agents, and agents not hired yet or no more',
      count: n.other_agents!,
      reason: 'not part of the staff',
    },
    { what: 'plugins', count: n.plugins!, reason: 'programs are approved on each instance' },
    { what: 'MCP servers', count: n.mcp_servers!, reason: OWN },
    { what: 'channels', count: n.channels!, reason: OWN },
    { what: 'peers', count: n.peers!, reason: OWN },
    { what: 'prices of models', count: n.model_prices!, reason: OWN },
    { what: 'outbound webhooks', count: n.webhooks!, reason: OWN },
    { what: 'chats', count: n.chats!, reason: 'private to people' },
    { what: 'approvals', count: n.approvals!, reason: HISTORY },
    { what: 'attachments', count: n.attachments!, reason: 'a bundle holds no files' },
    { what: 'work products', count: n.work_products!, reason: HISTORY },
    { what: 'issues', count: issues ? 0 : n.issues!, reason: 'not asked for: include issues' },
  ];
  const always: Omitted = [
    { what: 'runs, transcripts, costs and activity', count: null, reason: HISTORY },
    { what: 'switches of heartbeats, schedules and webhooks, homes of agents', count: null, reason: OWN },
    { what: 'identifiers of issues, former texts of documents and prompts', count: null, reason: HISTORY },
  ];
  return [...list.filter(({ count }) => count !== 0), ...always];
}
