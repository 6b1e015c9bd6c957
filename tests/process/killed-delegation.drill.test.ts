/** A delegation to a peer, whose scheduler is killed. */
import { afterAll, expect, it } from '@jest/globals';
import { cloneDatabase, killServices, type ServiceProcess, startService, waitFor } from '@acp/testkit';
import { startWilfulAgent } from '../http/far-agents.ts';
import { type Api, baseEnv, createTeam, signIn, type Team } from './api.ts';

interface Issue {
  id: string;
  parent_issue_id: string | null;
}

interface Health {
  status: string;
}

/** Uses the agent's own key, as an MCP client. */
async function delegateAs(api: Api, url: string, { company_id, agents }: Team, issue: string): Promise<void> {
  const { raw_key } = await api.call<{ raw_key: string }>(
    'POST',
    `/api/companies/${company_id}/agent-api-keys`,
    {
      agent_id: agents[0]!.id,
    },
  );
  const params = {
    name: 'peers__delegate',
    arguments: { agent: 'Lab:Faraday', issue, task: 'How long is it?' },
  };
  const response = await fetch(`${url}/mcp/${company_id}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${raw_key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  const { result } = (await response.json()) as { result: { isError?: true } };
  if (result.isError) throw new Error(JSON.stringify(result));
}

afterAll(killServices);

it('a scheduler killed in mid delegation loses nothing, has nothing sent twice, and a cancel still reaches the peer', async () => {
  const peer = await startWilfulAgent();
  const { database, url } = await cloneDatabase('peer_killed');
  const env = { ...baseEnv, DATABASE_URL: url, RATE_LIMIT_RPM: '0' };
  const web = await startService({ ...env, SERVICE_ROLE: 'web' });
  let scheduler: ServiceProcess;
  const restart = async () => (scheduler = await startService({ ...env, SERVICE_ROLE: 'scheduler' }));
  await restart();
  const api = await signIn(web);
  const team = await createTeam(api, ['Nell']);
  const { id: peer_id } = await api.call<{ id: string }>(
    'POST',
    `/api/companies/${team.company_id}/a2a/peers`,
    {
      label: 'Lab',
      url: peer.url,
      rate_limit_rpm: 1000,
    },
  );
  await waitFor(
    async () => (await api.call<Health>('GET', `/api/a2a/peers/${peer_id}`)).status === 'healthy',
  );
  /** Expires the claims of the killed process immediately. */
  const lapse = async () =>
    database.pool.query(
      'update a2a_delegations set next_attempt_at = now() where next_attempt_at is not null',
    );
  const path = `/api/companies/${team.company_id}/issues`;
  const { id: parent_id } = await api.call<Issue>('POST', path, { title: 'Measure it' });
  await delegateAs(api, web.url, team, parent_id);
  // The peer has received the message but not answered when the scheduler dies.
  await waitFor(() => peer.journal.length === 1);
  const [{ params: first }] = peer.journal as [(typeof peer.journal)[0]];
  scheduler!.kill('SIGKILL');
  await scheduler!.ended;
  const task = { id: 'far-1', status: { state: 'TASK_STATE_WORKING' } };
  peer.behave(({ method }) => {
    if (method === 'CancelTask') return { result: { ...task, status: { state: 'TASK_STATE_CANCELED' } } };
    return { result: method === 'SendMessage' ? { task } : task };
  });
  await lapse();
  await restart();
  await waitFor(() => peer.journal.some(({ method }) => method === 'GetTask'));
  // The same message is sent again, which the peer recognizes as a repeat, and no other.
  const sent = peer.journal.filter(({ method }) => method === 'SendMessage');
  expect(sent.map(({ params }) => params.message?.messageId)).toEqual([first.message?.messageId]);
  scheduler!.kill('SIGKILL');
  await scheduler!.ended;
  const child = (await api.call<Issue[]>('GET', path)).find(
    ({ parent_issue_id }) => parent_issue_id === parent_id,
  )!;
  await api.call('PATCH', `/api/issues/${child.id}`, { status: 'cancelled' });
  await lapse();
  await restart();
  const cancels = () =>
    peer.journal.filter(({ method }) => method === 'CancelTask').map(({ params }) => params.id);
  await waitFor(() => cancels().length > 0);
  await waitFor(
    async () =>
      (await api.call<{ followed: boolean }[]>('GET', `/api/a2a/peers/${peer_id}/delegations`))[0]
        ?.followed === false,
  );
  expect(cancels()).toEqual(['far-1']);
  expect(peer.journal.filter(({ method }) => method === 'SendMessage')).toHaveLength(1);
  peer.close();
});
