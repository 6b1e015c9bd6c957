/** Writes the new entities of a bundle, list by list in the order of their references: one or two statements each. */
import type { Actor } from '@acp/contract';
import type { Tx } from '@acp/db';
import { insertAgents } from '../agents/index.ts';
import { insertPolicies } from '../budgets/index.ts';
import { insertGoals } from '../goals/index.ts';
import { insertLabels } from '../issues/index.ts';
import { insertProjects } from '../projects/index.ts';
import { insertProviders } from '../providers/index.ts';
import { insertRoutines } from '../routines/index.ts';
import { insertAgentSkills, insertSkills } from '../skills/index.ts';
import * as rows from './bundle-rows.ts';
import { writeWork, type Written } from './write-work.ts';

export async function writeLists(tx: Tx, actor: Actor, written: Written): Promise<void> {
  const { ids, company, vault } = written;
  const { id: company_id } = company;
  await insertLabels(
    tx,
    company_id,
    ids.fresh('labels').map(({ id, name, color = null }) => ({ id, name: name.trim(), color })),
  );
  await insertProviders(tx, company_id, written.providers, vault);
  await insertSkills(
    tx,
    company_id,
    ids.fresh('skills').map(({ enabled = true, company_wide = false, ...skill }) => ({
      ...skill,
      enabled,
      company_wide,
    })),
  );
  await insertAgents(tx, actor, company_id, rows.agentRows(ids, company));
  await insertAgentSkills(
    tx,
    ids
      .fresh('agents')
      .flatMap(({ id: agent_id, skills = [] }) =>
        skills.map((slug) => ({ agent_id, skill_id: ids.of('skills', slug) })),
      ),
  );
  await insertGoals(tx, company_id, rows.goalRows(ids));
  await insertProjects(tx, actor, company_id, rows.projectRows(ids));
  const { routines, triggers } = rows.routineRows(ids);
  await insertRoutines(tx, company_id, routines, triggers, vault);
  await writeWork(tx, actor, written);
  await insertPolicies(tx, company_id, written.policies);
}
