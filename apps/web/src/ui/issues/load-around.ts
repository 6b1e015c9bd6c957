/** What goes on around an issue: its sub-agents, its councils, and the folder that a program works in. */
import type { CouncilSession, Subagent, Workspace } from '@acp/contract';
import { findWorkspace, listCouncils, listSubagents, presentWorkspace } from '@acp/core';
import { councilsPart } from '../councils/council-pages.ts';
import { offerOf } from '../kit/choice.ts';
import type { Html } from '../kit/html.ts';
import type { UiContext } from '../kit/ui-routes.ts';
import { mayWrite } from '../kit/write-access.ts';
import { subagentTree } from '../subagents/subagent-tree.ts';
import { changesCard } from '../workspaces/changes-page.ts';

type IssueContext = UiContext<'issue'>;

export async function loadWorkspace({ tx, subject }: IssueContext): Promise<Workspace | null> {
  const workspace = await findWorkspace(tx, subject);
  return workspace === undefined ? null : presentWorkspace(workspace);
}

export const loadSubagents = async ({ tx, subject }: IssueContext): Promise<Subagent[]> =>
  listSubagents(tx, { issue_id: subject.id });

export const loadCouncils = async ({
  tx,
  subject,
  services,
}: IssueContext): Promise<CouncilSession[] | null> =>
  services.instance.hasFeature('councils') ? (await listCouncils(tx, subject, { limit: 20 })).items : null;

/** Parts of its page. */
export const aroundParts: Record<string, (context: IssueContext) => Promise<Html>> = {
  changes: async (c) => changesCard(await loadWorkspace(c)),
  subagents: async (c) => subagentTree(await loadSubagents(c)),
  councils: async (c) => {
    const councils = await loadCouncils(c);
    return councils === null ? '' : councilsPart(c.subject, councils, await offerOf(c, 'agent'), mayWrite(c));
  },
};
