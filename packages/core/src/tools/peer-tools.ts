import { createValidator } from '@acp/contract';
import type { Tx } from '@acp/db';
import { notFound } from '@acp/kernel';
import { Type } from 'typebox';
import { isWakeable, listAgents } from '../agents/index.ts';
import { delegate, peerAgentNamed, peerAgents } from '../federation/index.ts';
import { resolveIssueRef } from '../issues/index.ts';
import type { ToolCall, ToolProvider } from './provider.ts';

const Find = Type.Object({ need: Type.String({ minLength: 1, maxLength: 1000 }) });
const Delegate = Type.Object({
  agent: Type.String({ minLength: 1, maxLength: 300, description: 'label:Agent' }),
  issue: Type.String({ minLength: 1, maxLength: 100, description: 'Identifier of the issue that needs it' }),
  task: Type.String({ minLength: 1, maxLength: 100_000 }),
});
const readFind = createValidator(Find, 'input');
const readDelegate = createValidator(Delegate, 'input');

const namespace = 'peers';
const common = { namespace, role: 'member', permission: 'federation.call' } as const;
const SHOWN = 10;

/** Tools for finding help outside and delegating work, for companies whose peers have agents. */
export const peerTools: ToolProvider = {
  name: 'peers',
  async list(tx, company_id) {
    const agents = await peerAgents(tx, company_id);
    if (agents.length === 0) return [];
    const names = agents.slice(0, 20).map(({ peer, agent }) => `${peer.label}:${agent.name}`);
    return [
      {
        ...common,
        name: 'find',
        doc: 'Finds who fits a need best, agents of the company and of its peers alike.',
        input_schema: { ...Find },
        read_only: true,
        validate: readFind,
      },
      {
        ...common,
        name: 'delegate',
        doc: `Gives work on an issue to an agent of a peer; the issue waits for it. There are: ${names.join(', ')}.`,
        input_schema: { ...Delegate },
        read_only: false,
        validate: readDelegate,
      },
    ];
  },
  async commit(tx, { tool, ...call }) {
    if (tool.name === 'find') return find(tx, call, readFind(call.input).need);
    const { agent, issue, task } = readDelegate(call.input);
    const [found, row] = [
      await peerAgentNamed(tx, call.company_id, agent),
      await resolveIssueRef(tx, call.company_id, issue),
    ];
    if (found === undefined) throw notFound(`there is no peer’s agent ${agent.slice(0, 200)}`);
    if (row === undefined) throw notFound(`there is no issue ${issue}`);
    const { id, identifier } = await delegate(tx, call.actor, row, found, task);
    return { id, identifier };
  },
};

type Caller = Pick<ToolCall, 'actor' | 'company_id'>;

/** Scored by the share of words in the request that describe the agent; a peer's score is reduced by the local preference. */
async function find(tx: Tx, { actor, company_id }: Caller, need: string) {
  const words = [...new Set(need.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [])];
  const fit = (texts: readonly (string | null)[]): number => {
    const text = texts.join(' ').toLowerCase();
    return words.length === 0 ? 0 : words.filter((word) => text.includes(word)).length / words.length;
  };
  const { agents: own } = await listAgents(tx, actor, { company_id });
  const ours = own
    .filter(({ status }) => isWakeable(status))
    .map(({ name, role, title, description }) => ({
      agent: name,
      description: description ?? title ?? role,
      score: fit([name, role, title, description]),
    }));
  const theirs = (await peerAgents(tx, company_id)).map(({ peer, agent }) => ({
    agent: `${peer.label}:${agent.name}`,
    description: agent.description,
    score: fit([agent.name, agent.description, ...agent.skills]) - peer.local_preference_bias,
  }));
  // With equal scores, local agents come first.
  return { agents: [...ours, ...theirs].toSorted((a, b) => b.score - a.score).slice(0, SHOWN) };
}
