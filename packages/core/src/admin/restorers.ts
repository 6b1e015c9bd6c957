/** How each type of entity is restored from the trash or purged: implemented by the slices, collected here. */
import type { Actor, TrashType } from '@acp/contract';
import type { Tx } from '@acp/db';
import { conflict } from '@acp/kernel';
import { sql } from 'drizzle-orm';
import { purgeAgent, restoreAgent, revokeAgentKeys } from '../agents/index.ts';
import { restoreCompany } from '../companies/index.ts';
import { findGoal, purgeGoal, restoreGoal } from '../goals/index.ts';
import { clearIssueReference, findIssue, purgeIssue, restoreIssue, wakeAssignees } from '../issues/index.ts';
import { purgeNote, restoreNote } from '../notes/index.ts';
import { purgeProject, restoreProject } from '../projects/index.ts';
import { purgeRoutine, restoreRoutine } from '../routines/index.ts';
import { purgeSkill, restoreSkill } from '../skills/index.ts';
import { purgeCompany } from './purge-company.ts';

interface Restorer {
  /** @throws conflict if a unique name has been taken, or the entity would remain hidden */
  restore(tx: Tx, actor: Actor, id: string): Promise<void>;
  /** @returns ids of everything deleted: the entity and its descendants */
  purge(tx: Tx, id: string): Promise<string[]>;
}

export const restorers: Record<TrashType, Restorer> = {
  company: {
    async restore(tx, actor, id) {
      // The job that revokes the keys may still be pending; keys stay revoked (decisions 7.6).
      await revokeAgentKeys(tx, { company_id: id });
      await restoreCompany(tx, actor, id);
      await wakeAssignees(tx, actor, sql`i.company_id = ${id}`);
    },
    purge: purgeCompany,
  },
  agent: {
    async restore(tx, actor, id) {
      await restoreAgent(tx, actor, id);
      await wakeAssignees(tx, actor, sql`i.assignee_agent_id = ${id}`);
    },
    async purge(tx, id) {
      const gone = await purgeAgent(tx, id);
      await clearIssueReference(tx, 'assignee_agent_id', gone);
      return gone;
    },
  },
  issue: {
    async restore(tx, actor, id) {
      await restoreIssue(tx, actor, id);
      if (!(await findIssue(tx, id))) throw conflict('its parent is in the trash');
    },
    purge: purgeIssue,
  },
  project: {
    restore: restoreProject,
    async purge(tx, id) {
      await clearIssueReference(tx, 'project_id', [id]);
      return purgeProject(tx, id);
    },
  },
  goal: {
    async restore(tx, actor, id) {
      await restoreGoal(tx, actor, id);
      if (!(await findGoal(tx, id))) throw conflict('its parent is in the trash');
    },
    async purge(tx, id) {
      const gone = await purgeGoal(tx, id);
      await clearIssueReference(tx, 'goal_id', gone);
      return gone;
    },
  },
  note: { restore: restoreNote, purge: purgeNote },
  routine: { restore: restoreRoutine, purge: purgeRoutine },
  skill: { restore: restoreSkill, purge: purgeSkill },
};
