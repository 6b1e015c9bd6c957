import { agentNamed, findAgentOutlines, presentAgent } from '../agents/index.ts';
import { createRoutine, fireRoutine, listRoutines, presentRoutine, routineNamed } from '../routines/index.ts';
import type { Tools } from './tool.ts';

/** Routines and agents. */
export const peopleTools = {
  list_routines: (c, input) => listRoutines(c.tx, c.company_id, input),
  get_routine: async (c, { routine }) => presentRoutine(await routineNamed(c.tx, c.company_id, routine)),
  create_routine: (c, input) => createRoutine(c.tx, c.actor, c.company_id, input),
  fire_routine: async (c, { routine, payload }) => {
    const { run } = await fireRoutine(c.tx, c.actor, await routineNamed(c.tx, c.company_id, routine), {
      payload,
    });
    return run;
  },
  list_agents: (c, input) => findAgentOutlines(c.tx, c.company_id, input),
  get_agent: async (c, { agent }) => presentAgent(await agentNamed(c.tx, c.company_id, agent)),
} satisfies Partial<Tools>;
