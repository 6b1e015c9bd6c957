import { expect, it } from '@jest/globals';
import type { Agent } from '@acp/contract';
import { lastingAgents, workingAgents } from './working-agents.ts';

it('agents are offered by name, wherever there is a choice', () => {
  const agents = ['Ken', 'ada', 'Grace'].map(
    (name) => ({ id: name, name, status: 'idle', parent_agent_id: null }) as Agent,
  );
  const sorted = ['ada', 'Grace', 'Ken'];
  for (const offered of [workingAgents(agents), lastingAgents(agents)])
    expect(offered.map(({ name }) => name)).toEqual(sorted);
});
